/* SPDX-License-Identifier: Apache-2.0 */
/* Parses symbolization requests: JSON, a list in a query, the compact form. */
#include "symbolize.h"

#include "gsym_names.h"
#include "json_in.h"
#include "server.h"
#include "text.h"
#include "wire.h"

void ux_symbolize_request_deinit(struct ux_symbolize_request *a)
{
	ux_requested_modules_deinit(&a->modules);
	ux_requested_pcs_deinit(&a->pcs);
	ux_requested_names_deinit(&a->names);
}

enum ux_code ux_symbolize_request_parse_demangle(struct ux_symbolize_request *a,
						 struct ux_bytes word, struct ux_error *err)
{
	if (ux_demangle_mode_parse(word, &a->demangle))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL,
			    "demangle is '%.*s'; expected full, short, templates-elided or none",
			    (int)ux_min(word.size, (size_t)32), (const char *)word.data);
}

static enum ux_code request_too_many(struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT, "more than %d addresses", UX_SYMBOLIZE_ADDRESSES_MAX);
}

static enum ux_code request_add(struct ux_symbolize_request *a, uint64_t pc, struct ux_bytes name,
				uint64_t size, struct ux_error *err)
{
	const struct ux_requested_name named = {.at = a->pcs.size, .name = name, .size = size};
	if ((name.size > 0 && !ux_requested_names_append(&a->names, named)) ||
	    !ux_requested_pcs_append(&a->pcs, pc))
		return ux_error_nomem(err);
	return UX_OK;
}

/*
 * Adds an address given as text. plus: the character that separates NAME and OFFSET in addition to
 * '+'.
 */
static enum ux_code request_add_text(struct ux_symbolize_request *a, struct ux_bytes text,
				     char plus, struct ux_error *err)
{
	struct ux_bytes name = UX_BYTES_NONE;
	uint64_t pc = 0, size = 0;
	if (ux_hex_parse_u64(text, /* hex= */ false, &pc) ||
	    ux_gsym_symbol_parse_sized(text, '+', &name, &pc, &size) ||
	    ux_gsym_symbol_parse_sized(text, plus, &name, &pc, &size))
		return request_add(a, pc, name, size, err);
	return ux_error_set(err, UX_EINVAL,
			    "'%.*s' is not an address; expected 0x..., decimal or NAME+OFFSET",
			    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/*
 * The JSON is read in one pass without a tree, which would take most of the time of a large
 * request. The first error in the text is the one that is reported.
 */
enum json_member {
	JSON_MODULES,
	JSON_RETURN_ADDRESSES,
	JSON_DEMANGLE,
	JSON_TIMEOUT,
	JSON_UNKNOWN,
};

static const char *const json_members[] = {"modules", "return_addresses", "demangle", "timeout_ms"};

struct request_json {
	struct ux_cur c;
	struct ux_symbolize_request *a;
	struct ux_arena *arena; /* holds texts that had escapes */
};

static enum ux_code json_read_address(struct request_json *j, struct ux_error *err)
{
	struct ux_bytes text = UX_BYTES_NONE;
	uint64_t pc = 0;
	enum ux_json_kind kind = ux_json_peek(&j->c);
	if (kind == UX_JSON_STRING) {
		UX_TRY(ux_json_in_string(&j->c, j->arena, &text, err));
		if (ux_unlikely(!ux_hex_parse_u64(text, /* hex= */ false, &pc)))
			return request_add_text(j->a, text, '+', err);
	} else if (kind == UX_JSON_NUMBER) {
		text = ux_json_read_number(&j->c);
		UX_TRY(ux_json_in_status(&j->c, err));
		if (!ux_decimal_parse(text, &pc))
			return ux_error_set(
				err, UX_EINVAL,
				"an address is %.*s; expected a string or a non-negative integer of 64 bits",
				(int)ux_min(text.size, (size_t)40), (const char *)text.data);
	} else {
		UX_TRY(ux_json_in_status(&j->c, err));
		return ux_error_set(err, UX_EINVAL,
				    "an address is %s; expected a string or a non-negative integer",
				    ux_json_kind_name(kind));
	}
	return ux_requested_pcs_append(&j->a->pcs, pc) ? UX_OK : ux_error_nomem(err);
}

/* Begins the array `key`. *ret_there: it is not null. */
static enum ux_code json_begin_array(struct request_json *j, const char *key, bool *ret_there,
				     struct ux_error *err)
{
	*ret_there = ux_json_in_given(&j->c);
	return *ret_there ? ux_json_in_expect(&j->c, key, UX_JSON_ARRAY, err)
			  : ux_json_in_status(&j->c, err);
}

static enum ux_code json_read_addresses(struct request_json *j, bool *ret_there,
					struct ux_error *err)
{
	size_t n = 0;
	UX_TRY(json_begin_array(j, "addresses", ret_there, err));
	while (*ret_there && ux_json_read_element(&j->c, &n)) {
		if (j->a->pcs.size == UX_SYMBOLIZE_ADDRESSES_MAX)
			return request_too_many(err);
		UX_TRY(json_read_address(j, err));
	}
	return ux_json_in_status(&j->c, err);
}

static enum ux_code json_read_module_members(struct request_json *j, size_t i,
					     struct ux_requested_module *m, struct ux_error *err)
{
	struct ux_json_text key;
	bool id = false, addresses = false, listed = false;
	size_t n = 0;
	while (ux_json_read_member(&j->c, &n, &key)) {
		if (ux_json_text_eq(key, "id")) {
			UX_TRY(ux_json_in_once(&id, "id", err));
			if (ux_json_peek(&j->c) != UX_JSON_STRING)
				break;
			UX_TRY(ux_json_in_string(&j->c, j->arena, &m->id, err));
		} else if (ux_json_text_eq(key, "addresses")) {
			UX_TRY(ux_json_in_once(&addresses, "addresses", err));
			UX_TRY(json_read_addresses(j, &listed, err));
		} else {
			(void)ux_json_skip(&j->c);
		}
	}
	UX_TRY(ux_json_in_status(&j->c, err));
	if (!m->id.data)
		return ux_error_set(err, UX_EINVAL, "modules[%zu] has no string \"id\"", i);
	return listed ? UX_OK
		      : ux_error_set(err, UX_EINVAL, "modules[%zu] has no \"addresses\"", i);
}

static enum ux_code json_read_module(struct request_json *j, size_t i, struct ux_error *err)
{
	struct ux_requested_module m = {.first = j->a->pcs.size};
	enum ux_json_kind kind = ux_json_peek(&j->c);
	UX_TRY(ux_json_in_status(&j->c, err));
	if (kind != UX_JSON_OBJECT)
		return ux_error_set(err, UX_EINVAL, "modules[%zu] is %s; expected an object", i,
				    ux_json_kind_name(kind));
	UX_TRY(json_read_module_members(j, i, &m, err));
	m.n = j->a->pcs.size - m.first;
	return ux_requested_modules_append(&j->a->modules, m) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code json_read_modules(struct request_json *j, bool *ret_there, struct ux_error *err)
{
	size_t n = 0;
	UX_TRY(json_begin_array(j, "modules", ret_there, err));
	while (*ret_there && ux_json_read_element(&j->c, &n)) {
		if (n > UX_SYMBOLIZE_MODULES_MAX)
			return ux_error_set(err, UX_ELIMIT, "more than %d modules",
					    UX_SYMBOLIZE_MODULES_MAX);
		UX_TRY(json_read_module(j, n - 1, err));
	}
	return ux_json_in_status(&j->c, err);
}

static enum ux_code json_read_timeout(struct request_json *j, struct ux_error *err)
{
	uint64_t v = 0;
	struct ux_bytes digits = ux_json_read_number(&j->c);
	UX_TRY(ux_json_in_status(&j->c, err));
	if (!ux_decimal_parse(digits, &v) || v > UINT32_MAX)
		return ux_error_set(
			err, UX_EINVAL,
			"\"timeout_ms\" is %.*s; expected a non-negative integer of 32 bits",
			(int)ux_min(digits.size, (size_t)40), (const char *)digits.data);
	j->a->timeout_ms = (uint32_t)v;
	return UX_OK;
}

/* Reads the value of an option, which may be null. */
static enum ux_code json_read_option(struct request_json *j, enum json_member member,
				     struct ux_error *err)
{
	struct ux_bytes word = UX_BYTES_NONE;
	if (!ux_json_in_given(&j->c))
		return ux_json_in_status(&j->c, err);
	switch (member) {
	case JSON_RETURN_ADDRESSES:
		UX_TRY(ux_json_in_expect(&j->c, "return_addresses", UX_JSON_BOOL, err));
		j->a->return_addresses = ux_json_read_bool(&j->c);
		return ux_json_in_status(&j->c, err);
	case JSON_DEMANGLE:
		UX_TRY(ux_json_in_expect(&j->c, "demangle", UX_JSON_STRING, err));
		UX_TRY(ux_json_in_string(&j->c, j->arena, &word, err));
		return ux_symbolize_request_parse_demangle(j->a, word, err);
	case JSON_TIMEOUT:
		UX_TRY(ux_json_in_expect(&j->c, "timeout_ms", UX_JSON_NUMBER, err));
		return json_read_timeout(j, err);
	case JSON_MODULES:
	case JSON_UNKNOWN:
		break;
	}
	(void)ux_json_skip(&j->c);
	return ux_json_in_status(&j->c, err);
}

static enum json_member json_member_of(struct ux_json_text key)
{
	for (int i = 0; i < JSON_UNKNOWN; i++)
		if (ux_json_text_eq(key, json_members[i]))
			return (enum json_member)i;
	return JSON_UNKNOWN;
}

static enum ux_code json_read_document(struct request_json *j, struct ux_error *err)
{
	bool seen[JSON_UNKNOWN] = {false}, modules = false;
	struct ux_json_text key;
	size_t n = 0;
	UX_TRY(ux_json_in_expect(&j->c, NULL, UX_JSON_OBJECT, err));
	while (ux_json_read_member(&j->c, &n, &key)) {
		enum json_member member = json_member_of(key);
		if (member != JSON_UNKNOWN)
			UX_TRY(ux_json_in_once(&seen[member], json_members[member], err));
		if (member == JSON_MODULES)
			UX_TRY(json_read_modules(j, &modules, err));
		else
			UX_TRY(json_read_option(j, member, err));
	}
	ux_json_read_end(&j->c);
	UX_TRY(ux_json_in_status(&j->c, err));
	return modules ? UX_OK
		       : ux_error_set(err, UX_EINVAL, "\"modules\" is missing; expected an array");
}

enum ux_code ux_symbolize_request_parse_json(struct ux_symbolize_request *a, struct ux_bytes body,
					     struct ux_arena *arena, struct ux_error *err)
{
	struct request_json j = {
		.c = ux_cur_make(body, "request", /* swap= */ false),
		.a = a,
		.arena = arena,
	};
	return json_read_document(&j, err);
}

/* --- list in a query -------------------------------------------------------------------------- */

enum ux_code ux_symbolize_request_parse_list(struct ux_symbolize_request *a, struct ux_bytes list,
					     struct ux_error *err)
{
	for (bool more = true; more;) {
		const uint8_t *comma = list.size ? memchr(list.data, ',', list.size) : NULL;
		size_t n = comma ? (size_t)(comma - list.data) : list.size;
		/* In a query, '+' becomes a space unless it was sent as %2B. */
		UX_TRY(request_add_text(a, ux_bytes(list.data, n), ' ', err));
		more = comma != NULL;
		if (comma)
			list = ux_bytes(comma + 1, list.size - n - 1);
	}
	a->modules.data[0].n = a->pcs.size;
	return UX_OK;
}

/* --- the compact form ------------------------------------------------------------------------- */

static enum ux_code request_add_compact(struct ux_symbolize_request *a,
					const struct ux_wire_question_module *m,
					struct ux_arena *arena, struct ux_error *err)
{
	char text[UX_ID_TEXT];
	struct ux_requested_module module = {.first = a->pcs.size, .n = m->n};
	if (a->modules.size == UX_SYMBOLIZE_MODULES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d modules",
				    UX_SYMBOLIZE_MODULES_MAX);
	if (m->n > UX_SYMBOLIZE_ADDRESSES_MAX || a->pcs.size + m->n > UX_SYMBOLIZE_ADDRESSES_MAX)
		return request_too_many(err);
	ux_id_format(&m->id, text);
	module.canonical = ux_arena_strndup(arena, text, strlen(text));
	if (!module.canonical)
		return ux_arena_fail(arena, err);
	module.id = ux_bytes_cstr(module.canonical);
	if (!ux_requested_pcs_reserve(&a->pcs, a->pcs.size + m->n) ||
	    !ux_requested_modules_append(&a->modules, module))
		return ux_error_nomem(err);
	if (m->n == 0)
		return UX_OK;
	UX_TRY(ux_wire_question_pcs(m, a->pcs.data + a->pcs.size, err));
	a->pcs.size += m->n;
	return UX_OK;
}

enum ux_code ux_symbolize_request_parse_compact(struct ux_symbolize_request *a,
						struct ux_bytes body, struct ux_arena *arena,
						struct ux_error *err)
{
	struct ux_wire_question q;
	UX_TRY(ux_wire_question_open(&q, body, err));
	a->return_addresses = q.options.return_addresses;
	a->demangle = q.options.demangle;
	a->timeout_ms = q.options.timeout_ms;
	for (;;) {
		struct ux_wire_question_module m;
		bool more = false;
		UX_TRY(ux_wire_question_next(&q, &m, &more, err));
		if (!more)
			return UX_OK;
		UX_TRY(request_add_compact(a, &m, arena, err));
	}
}
