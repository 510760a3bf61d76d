/* SPDX-License-Identifier: Apache-2.0 */
/* What a request for names asks: JSON of any kind, lists, the compact form. */
#include "symbolize_request.h"

#include "gsym_names.h"
#include "text.h"
#include "server.h"
#include "wire.h"

void ux_symbolize_request_deinit(struct ux_symbolize_request *a)
{
	ux_requested_modules_deinit(&a->modules);
	ux_requested_pcs_deinit(&a->pcs);
	ux_requested_names_deinit(&a->names);
	json_decref(a->doc);
	a->doc = NULL;
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

static enum ux_code too_many(size_t n, struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT, "%zu addresses; at most %d are taken", n,
			    UX_SYMBOLIZE_ADDRESSES_MOST);
}

static enum ux_code add(struct ux_symbolize_request *a, uint64_t pc, struct ux_bytes name,
			struct ux_error *err)
{
	const struct ux_requested_name named = {.at = a->pcs.size, .name = name};
	if ((name.size > 0 && !ux_requested_names_append(&a->names, named)) ||
	    !ux_requested_pcs_append(&a->pcs, pc))
		return ux_error_nomem(err);
	return UX_OK;
}

/* plus: what stands between NAME and OFFSET, besides '+'. */
static enum ux_code add_text(struct ux_symbolize_request *a, struct ux_bytes text, char plus,
			     struct ux_error *err)
{
	struct ux_bytes name = UX_BYTES_NONE;
	uint64_t pc = 0;
	if (ux_hex_parse_u64(text, /* hex= */ false, &pc) ||
	    ux_gsym_symbol_parse(text, '+', &name, &pc) ||
	    ux_gsym_symbol_parse(text, plus, &name, &pc))
		return add(a, pc, name, err);
	return ux_error_set(err, UX_EINVAL,
			    "'%.*s' is no address; expected 0x..., decimal or NAME+OFFSET",
			    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static enum ux_code add_value(struct ux_symbolize_request *a, const json_t *v, struct ux_error *err)
{
	if (json_is_string(v))
		return add_text(a, ux_bytes(json_string_value(v), json_string_length(v)), '+', err);
	if (json_is_integer(v) && json_integer_value(v) < 0)
		return ux_error_set(err, UX_EINVAL,
				    "an address is %" JSON_INTEGER_FORMAT
				    "; expected a string or an integer from 0 on",
				    json_integer_value(v));
	if (!json_is_integer(v))
		return ux_error_set(err, UX_EINVAL,
				    "an address is %s; expected a string or an integer from 0 on",
				    ux_json_in_type(v));
	return add(a, (uint64_t)json_integer_value(v), UX_BYTES_NONE, err);
}

static enum ux_code add_module(struct ux_symbolize_request *a, size_t i, const json_t *m,
			       struct ux_error *err)
{
	const json_t *id = json_object_get(m, "id"), *list = NULL;
	if (!json_is_string(id))
		return ux_error_set(err, UX_EINVAL, "modules[%zu] has no \"id\" that is a string",
				    i);
	UX_TRY(ux_json_in_array(m, "addresses", UX_SYMBOLIZE_ADDRESSES_MOST, &list, err));
	if (!list)
		return ux_error_set(err, UX_EINVAL, "modules[%zu] has no \"addresses\"", i);
	const struct ux_requested_module module = {
		.id = ux_bytes(json_string_value(id), json_string_length(id)),
		.first = a->pcs.size,
		.n = json_array_size(list)};
	for (size_t k = 0; k < module.n; k++)
		UX_TRY(add_value(a, json_array_get(list, k), err));
	return ux_requested_modules_append(&a->modules, module) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code read_options(struct ux_symbolize_request *a, struct ux_error *err)
{
	const char *word = NULL;
	uint64_t timeout = 0;
	UX_TRY(ux_json_in_bool(a->doc, "return_addresses", &a->return_addresses, err));
	UX_TRY(ux_json_in_str(a->doc, "demangle", 32, &word, err));
	UX_TRY(ux_json_in_u64(a->doc, "timeout_ms", &timeout, err));
	if (timeout > UINT32_MAX)
		return ux_error_set(err, UX_EINVAL, "\"timeout_ms\" is over 32 bits");
	a->timeout_ms = (uint32_t)timeout;
	return word ? ux_symbolize_request_parse_demangle(a, ux_bytes_cstr(word), err) : UX_OK;
}

enum ux_code ux_symbolize_request_parse_json(struct ux_symbolize_request *a, struct ux_bytes body,
					     struct ux_error *err)
{
	const json_t *modules = NULL;
	UX_TRY(ux_json_in_parse(body, &a->doc, err));
	UX_TRY(read_options(a, err));
	UX_TRY(ux_json_in_array(a->doc, "modules", UX_SYMBOLIZE_MODULES_MOST, &modules, err));
	if (!modules)
		return ux_error_set(err, UX_EINVAL, "\"modules\" is missing");
	for (size_t i = 0; i < json_array_size(modules); i++)
		UX_TRY(add_module(a, i, json_array_get(modules, i), err));
	return a->pcs.size > UX_SYMBOLIZE_ADDRESSES_MOST ? too_many(a->pcs.size, err) : UX_OK;
}

/* --- a list in a query -------------------------------------------------------------------------
 */

enum ux_code ux_symbolize_request_parse_list(struct ux_symbolize_request *a, struct ux_bytes list,
					     struct ux_error *err)
{
	for (bool more = true; more;) {
		const uint8_t *comma = list.size ? memchr(list.data, ',', list.size) : NULL;
		size_t n = comma ? (size_t)(comma - list.data) : list.size;
		/* A '+' has become a blank where it was not sent as %2B. */
		UX_TRY(add_text(a, ux_bytes(list.data, n), ' ', err));
		more = comma != NULL;
		if (comma)
			list = ux_bytes(comma + 1, list.size - n - 1);
	}
	a->modules.data[0].n = a->pcs.size;
	return UX_OK;
}

/* --- the compact form --------------------------------------------------------------------------
 */

static enum ux_code add_compact(struct ux_symbolize_request *a,
				const struct ux_wire_question_module *m, struct ux_arena *arena,
				struct ux_error *err)
{
	char text[UX_ID_TEXT];
	struct ux_requested_module module = {.first = a->pcs.size, .n = m->n};
	if (a->modules.size == UX_SYMBOLIZE_MODULES_MOST)
		return ux_error_set(err, UX_ELIMIT, "over %d modules", UX_SYMBOLIZE_MODULES_MOST);
	if (m->n > UX_SYMBOLIZE_ADDRESSES_MOST || a->pcs.size + m->n > UX_SYMBOLIZE_ADDRESSES_MOST)
		return too_many(a->pcs.size + m->n, err);
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
		UX_TRY(add_compact(a, &m, arena, err));
	}
}
