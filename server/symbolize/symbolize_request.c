/* SPDX-License-Identifier: Apache-2.0 */
/* Parses symbolization requests: JSON, a list in a query, the compact form. */
#include "symbolize.h"

#include "gsym_names.h"
#include "text.h"
#include "server.h"
#include "wire.h"

void ux_symbolize_request_deinit(struct ux_symbolize_request *a)
{
	ux_requested_modules_deinit(&a->modules);
	ux_requested_pcs_deinit(&a->pcs);
	ux_requested_names_deinit(&a->names);
	json_decref(a->strings);
	a->strings = NULL;
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

static enum ux_code request_too_many(size_t n, struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT, "%zu addresses; the limit is %d", n,
			    UX_SYMBOLIZE_ADDRESSES_MAX);
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
 * The JSON is read in one pass, since building a tree would take most of the time of a large
 * request. Values that clients rarely send (escapes, large or negative numbers, unknown members)
 * are decoded one by one by jansson. If a document has such a value or an error, jansson checks the
 * whole document at the end, because this pass does not find duplicate keys of unknown members.
 */

/* The precedence of errors, whatever their order in the text. */
enum {
	RANK_MODULES_TYPE = 1,
	RANK_MODULES_COUNT,
	RANK_MODULES_MISSING,
	RANK_MODULE, /* plus 4 for each earlier module */
	RANK_ID = 0, /* within a module */
	RANK_ADDRESSES,
	RANK_ADDRESS,
	RANKS_OF_MODULE = 4,
	RANK_NONE = INT_MAX,
};

struct reader {
	const uint8_t *pos, *end;
	struct ux_bytes body;
	struct ux_symbolize_request *a;
	json_t *options;     /* members of the document that jansson decoded */
	bool unusual;        /* jansson has to check the document */
	struct ux_error why; /* the error with the lowest rank */
	int rank;
	struct ux_error fatal; /* ends the parsing and overrides all other errors */
};

static void reader_deinit(struct reader *r)
{
	json_decref(r->options);
}

/*
 * Returns the next byte that is not white space, without consuming it; 0 at the end. (A NUL byte is
 * invalid anywhere.)
 */
ux_inline uint8_t reader_peek(struct reader *r)
{
	while (r->pos < r->end &&
	       (*r->pos == ' ' || *r->pos == '\n' || *r->pos == '\t' || *r->pos == '\r'))
		r->pos++;
	return r->pos < r->end ? *r->pos : 0;
}

ux_inline bool reader_skip(struct reader *r, uint8_t c)
{
	if (reader_peek(r) != c)
		return false;
	r->pos++;
	return true;
}

/* Reads the comma after a member or an element, or the end of the container. */
ux_inline bool reader_next(struct reader *r, uint8_t end, bool *ret_more)
{
	uint8_t c = reader_peek(r);
	*ret_more = c == ',';
	if (c != ',' && c != end)
		return false;
	r->pos++;
	return true;
}

static bool reader_nomem(struct reader *r)
{
	(void)!ux_error_nomem(&r->fatal);
	return false;
}

/* Tests whether an error of that rank replaces the one in `why`. If so, resets `why` for it. */
static bool reader_reports(struct reader *r, int rank)
{
	if (rank >= r->rank)
		return false;
	r->rank = rank;
	r->why = (struct ux_error)UX_ERROR_INIT;
	return true;
}

/* Switches to jansson, whose memory is bounded by the weight of the body. */
static bool reader_set_unusual(struct reader *r)
{
	if (r->unusual)
		return true;
	r->unusual = true;
	return ux_json_in_weigh(r->body, &r->fatal) == UX_OK;
}

/*
 * Decodes any value; the caller owns the reference. NULL: the value is not JSON, or parsing has
 * ended.
 */
static json_t *reader_decode(struct reader *r)
{
	json_error_t why;
	if (!reader_set_unusual(r))
		return NULL;
	json_t *v =
		json_loadb((const char *)r->pos, (size_t)(r->end - r->pos),
			   JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_DISABLE_EOF_CHECK, &why);
	if (v)
		r->pos += why.position;
	else if (json_error_code(&why) == json_error_out_of_memory)
		(void)reader_nomem(r);
	return v;
}

/* Keeps a decoded string as long as the request, and returns its slice. Takes the reference. */
static bool reader_keep(struct reader *r, json_t *string, struct ux_bytes *ret)
{
	if (!r->a->strings)
		r->a->strings = json_array();
	*ret = ux_bytes(json_string_value(string), json_string_length(string));
	return json_array_append_new(r->a->strings, string) == 0 || reader_nomem(r);
}

/* Reads the string that begins here. */
ux_inline bool reader_string(struct reader *r, struct ux_bytes *ret)
{
	const uint8_t *start = r->pos, *p = start + 1;
	while (p < r->end && *p != '"' && *p >= 0x20 && *p <= 0x7e && *p != '\\')
		p++;
	if (ux_likely(p < r->end && *p == '"')) {
		*ret = ux_bytes(start + 1, (size_t)(p - start - 1));
		r->pos = p + 1;
		return true;
	}
	json_t *v = reader_decode(r);
	return v && reader_keep(r, v, ret);
}

ux_inline bool reader_key(struct reader *r, struct ux_bytes *ret)
{
	return reader_peek(r) == '"' && reader_string(r, ret) && reader_skip(r, ':');
}

/* Reads an integer from 0 to 10^18 - 1. For anything else returns false and consumes nothing. */
ux_inline bool reader_integer(struct reader *r, uint64_t *ret)
{
	enum {
		DIGITS = 18
	};
	const uint8_t *p = r->pos;
	uint64_t v = 0;
	while (p < r->end && (uint8_t)(*p - '0') < 10 && p - r->pos < DIGITS)
		v = v * 10 + (uint64_t)(*p++ - '0');
	if (p == r->pos || (*r->pos == '0' && p > r->pos + 1))
		return false;
	if (p < r->end && ((uint8_t)(*p - '0') < 10 || *p == '.' || (*p | 0x20) == 'e'))
		return false;
	r->pos = p;
	*ret = v;
	return true;
}

/* Skips the value of an unknown member. */
static bool reader_ignore(struct reader *r)
{
	json_t *v = reader_decode(r);
	json_decref(v);
	return v != NULL;
}

static enum ux_code request_add_value(struct ux_symbolize_request *a, const json_t *v,
				      struct ux_error *err)
{
	if (json_is_integer(v) && json_integer_value(v) < 0)
		return ux_error_set(err, UX_EINVAL,
				    "an address is %" JSON_INTEGER_FORMAT
				    "; expected a string or a non-negative integer",
				    json_integer_value(v));
	if (!json_is_integer(v))
		return ux_error_set(err, UX_EINVAL,
				    "an address is %s; expected a string or a non-negative integer",
				    ux_json_in_type(v));
	return request_add(a, (uint64_t)json_integer_value(v), UX_BYTES_NONE, /* size= */ 0, err);
}

/* Handles the result of adding an address of a module. */
static bool reader_added(struct reader *r, enum ux_code code, const struct ux_error *why, int rank)
{
	if (code == UX_ENOMEM)
		return reader_nomem(r);
	if (code != UX_OK && reader_reports(r, rank))
		r->why = *why;
	return true;
}

/* Adds an address that is relative to a function, or reports that it is malformed. */
static ux_cold bool reader_address_text(struct reader *r, struct ux_bytes text, int rank)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = request_add_text(r->a, text, '+', &why);
	return reader_added(r, code, &why, rank);
}

static ux_cold bool reader_address_value(struct reader *r, int rank)
{
	struct ux_error why = UX_ERROR_INIT;
	json_t *v = reader_decode(r);
	bool good = v && reader_added(r, request_add_value(r->a, v, &why), &why, rank);
	json_decref(v);
	return good;
}

/*
 * Reads "0x..." with up to 16 digits, as nearly all addresses are written. For anything else
 * returns false and consumes nothing.
 */
ux_inline bool reader_hex(struct reader *r, uint64_t *ret)
{
	enum {
		DIGITS = 16,
		MIN = 5 /* bytes of "0x1" with its quotes */
	};
	const uint8_t *p = r->pos, *end = r->end;
	uint64_t v = 0;
	if (end - p < MIN || p[1] != '0' || p[2] != 'x')
		return false;
	p += 3;
	const uint8_t *first = p;
	end = end - p > DIGITS ? p + DIGITS + 1 : end;
	for (; p < end; p++) {
		uint8_t digit = (uint8_t)(*p - '0'), letter = (uint8_t)((*p | 0x20) - 'a');
		if (digit > 9 && letter > 5)
			break;
		v = v << 4 | (digit <= 9 ? digit : letter + 10U);
	}
	if (p == end || *p != '"' || p == first)
		return false;
	r->pos = p + 1;
	*ret = v;
	return true;
}

ux_inline bool reader_address(struct reader *r, int rank)
{
	struct ux_bytes text;
	uint64_t pc = 0;
	if (reader_peek(r) == '"') {
		if (ux_likely(reader_hex(r, &pc)))
			return ux_requested_pcs_append(&r->a->pcs, pc) || reader_nomem(r);
		if (!reader_string(r, &text))
			return false;
		if (ux_unlikely(!ux_hex_parse_u64(text, /* hex= */ false, &pc)))
			return reader_address_text(r, text, rank);
	} else if (ux_unlikely(!reader_integer(r, &pc))) {
		return reader_address_value(r, rank);
	}
	return ux_requested_pcs_append(&r->a->pcs, pc) || reader_nomem(r);
}

/* Sets err for a value where an array is expected. */
static bool reader_not_array(struct reader *r, const char *key, struct ux_error *err,
			     bool *ret_absent)
{
	const json_t *unused = NULL;
	json_t *v = reader_decode(r);
	*ret_absent = json_is_null(v);
	json_t *o = v ? json_pack("{s:o}", key, v) : NULL;
	if (v && !o)
		return reader_nomem(r);
	(void)!ux_json_in_array(o, key, 0, &unused, err);
	json_decref(o);
	return v != NULL;
}

/* Reports UX_ELIMIT when an array has more than `max` elements. */
static bool reader_count(struct reader *r, const char *key, size_t n, size_t max, int rank)
{
	if (n > max && reader_reports(r, rank))
		(void)!ux_json_in_array_size(key, n, max, &r->why);
	return n <= max || reader_set_unusual(r);
}

static bool reader_addresses(struct reader *r, int rank, bool *ret_there)
{
	struct ux_error why = UX_ERROR_INIT;
	size_t n = 0;
	*ret_there = true;
	if (reader_peek(r) != '[') {
		bool absent = false;
		if (!reader_not_array(r, "addresses", &why, &absent))
			return false;
		*ret_there = !absent;
		if (!absent && reader_reports(r, rank + RANK_ADDRESSES))
			r->why = why;
		return true;
	}
	r->pos++;
	if (reader_skip(r, ']'))
		return true;
	for (bool more = true; more; n++)
		if (!reader_address(r, rank + RANK_ADDRESS) || !reader_next(r, ']', &more) ||
		    (ux_unlikely(n == UX_SYMBOLIZE_ADDRESSES_MAX) && !reader_set_unusual(r)))
			return false;
	return reader_count(r, "addresses", n, UX_SYMBOLIZE_ADDRESSES_MAX, rank + RANK_ADDRESSES);
}

/* Reads "id"; *ret_there stays false when it is not a string. */
static bool reader_id(struct reader *r, struct ux_bytes *ret, bool *ret_there)
{
	if (reader_peek(r) != '"')
		return reader_ignore(r);
	*ret_there = true;
	return reader_string(r, ret);
}

static bool reader_module_members(struct reader *r, int rank, struct ux_requested_module *m,
				  bool *ret_id, bool *ret_list)
{
	bool id_seen = false, list_seen = false;
	if (reader_skip(r, '}'))
		return true;
	for (bool more = true; more;) {
		struct ux_bytes key;
		bool good = false;
		if (!reader_key(r, &key))
			return false;
		if (ux_bytes_eq(key, UX_STR("id"))) {
			good = !id_seen && reader_id(r, &m->id, ret_id);
			id_seen = true;
		} else if (ux_bytes_eq(key, UX_STR("addresses"))) {
			good = !list_seen && reader_addresses(r, rank, ret_list);
			list_seen = true;
		} else {
			good = reader_ignore(r);
		}
		if (!good || !reader_next(r, '}', &more))
			return false;
	}
	return true;
}

static bool reader_module(struct reader *r, size_t i)
{
	struct ux_requested_module m = {.first = r->a->pcs.size};
	int rank = RANK_MODULE + (int)i * RANKS_OF_MODULE;
	bool has_id = false, has_list = false;
	if (reader_peek(r) == '{') {
		r->pos++;
		if (!reader_module_members(r, rank, &m, &has_id, &has_list))
			return false;
	} else if (!reader_ignore(r)) {
		return false;
	}
	if (!has_id && reader_reports(r, rank + RANK_ID))
		ux_error_set(&r->why, UX_EINVAL, "modules[%zu] has no string \"id\"", i);
	if (has_id && !has_list && reader_reports(r, rank + RANK_ADDRESSES))
		ux_error_set(&r->why, UX_EINVAL, "modules[%zu] has no \"addresses\"", i);
	m.n = r->a->pcs.size - m.first;
	return ux_requested_modules_append(&r->a->modules, m) || reader_nomem(r);
}

static bool reader_modules(struct reader *r, bool *ret_there)
{
	size_t n = 0;
	*ret_there = true;
	if (reader_peek(r) != '[') {
		struct ux_error why = UX_ERROR_INIT;
		bool absent = false;
		if (!reader_not_array(r, "modules", &why, &absent))
			return false;
		*ret_there = !absent;
		if (!absent && reader_reports(r, RANK_MODULES_TYPE))
			r->why = why;
		return true;
	}
	r->pos++;
	if (reader_skip(r, ']'))
		return true;
	for (bool more = true; more; n++)
		if ((n == UX_SYMBOLIZE_MODULES_MAX && !reader_set_unusual(r)) ||
		    !reader_module(r, n) || !reader_next(r, ']', &more))
			return false;
	return reader_count(r, "modules", n, UX_SYMBOLIZE_MODULES_MAX, RANK_MODULES_COUNT);
}

enum member {
	MODULES = 1,
	RETURN_ADDRESSES = 2,
	DEMANGLE = 4,
	TIMEOUT = 8,
	UNKNOWN = 16,
};

static enum member reader_member_of(struct ux_bytes key)
{
	if (ux_bytes_eq(key, UX_STR("modules")))
		return MODULES;
	if (ux_bytes_eq(key, UX_STR("return_addresses")))
		return RETURN_ADDRESSES;
	if (ux_bytes_eq(key, UX_STR("demangle")))
		return DEMANGLE;
	return ux_bytes_eq(key, UX_STR("timeout_ms")) ? TIMEOUT : UNKNOWN;
}

static bool reader_word(struct reader *r, struct ux_bytes word)
{
	if ((size_t)(r->end - r->pos) < word.size || memcmp(r->pos, word.data, word.size) != 0)
		return false;
	r->pos += word.size;
	return true;
}

/* Reads an option in its usual form. For anything else returns false and consumes nothing. */
static bool reader_plain_option(struct reader *r, enum member member)
{
	const uint8_t *start = r->pos;
	struct ux_bytes word;
	uint64_t v = 0;
	switch (member) {
	case RETURN_ADDRESSES:
		r->a->return_addresses = *r->pos == 't';
		return reader_word(r, UX_STR("true")) || reader_word(r, UX_STR("false"));
	case DEMANGLE:
		if (*r->pos == '"' && reader_string(r, &word) &&
		    ux_demangle_mode_parse(word, &r->a->demangle))
			return true;
		break;
	case TIMEOUT:
		if (reader_integer(r, &v) && v <= UINT32_MAX) {
			r->a->timeout_ms = (uint32_t)v;
			return true;
		}
		break;
	case MODULES:
	case UNKNOWN:
		break;
	}
	r->pos = start;
	return false;
}

static bool reader_option(struct reader *r, enum member member)
{
	static const char *const keys[] = {[RETURN_ADDRESSES] = "return_addresses",
					   [DEMANGLE] = "demangle",
					   [TIMEOUT] = "timeout_ms"};
	if (reader_peek(r) != 0 && reader_plain_option(r, member))
		return true;
	json_t *v = reader_decode(r);
	if (v && !r->options)
		r->options = json_object();
	return v && (json_object_set_new(r->options, keys[member], v) == 0 || reader_nomem(r));
}

/* Handles options that were decoded by jansson. */
static enum ux_code reader_finish_options(struct reader *r, struct ux_error *err)
{
	const char *word = NULL;
	struct ux_symbolize_request *a = r->a;
	uint64_t timeout = a->timeout_ms;
	UX_TRY(ux_json_in_bool(r->options, "return_addresses", &a->return_addresses, err));
	UX_TRY(ux_json_in_str(r->options, "demangle", 32, &word, err));
	UX_TRY(ux_json_in_u64(r->options, "timeout_ms", &timeout, err));
	if (timeout > UINT32_MAX)
		return ux_error_set(err, UX_EINVAL, "\"timeout_ms\" exceeds 32 bits");
	a->timeout_ms = (uint32_t)timeout;
	return word ? ux_symbolize_request_parse_demangle(a, ux_bytes_cstr(word), err) : UX_OK;
}

/* Reads the document. False: it is not JSON, or `fatal` says why reading ended. */
static bool reader_document(struct reader *r)
{
	unsigned seen = 0;
	bool modules = false;
	if (!reader_skip(r, '{'))
		return false;
	for (bool more = !reader_skip(r, '}'); more;) {
		struct ux_bytes key;
		if (!reader_key(r, &key))
			return false;
		enum member member = reader_member_of(key);
		bool good = member == UNKNOWN      ? reader_ignore(r)
			    : (seen & member) != 0 ? false
			    : member == MODULES    ? reader_modules(r, &modules)
						   : reader_option(r, member);
		if (!good || !reader_next(r, '}', &more))
			return false;
		seen |= member;
	}
	if (!modules && reader_reports(r, RANK_MODULES_MISSING))
		ux_error_set(&r->why, UX_EINVAL, "\"modules\" is missing");
	return reader_peek(r) == 0 && r->pos == r->end;
}

static enum ux_code reader_report(const struct ux_error *why, struct ux_error *err)
{
	if (err)
		*err = *why;
	return why->code;
}

/* Determines the result for a document that is unusual or invalid. */
static enum ux_code reader_check(struct reader *r, bool read, struct ux_error *err)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	if (r->fatal.code != UX_OK)
		return reader_report(&r->fatal, err);
	UX_TRY(ux_json_in_parse(r->body, &doc, err));
	if (!read) /* a NUL after a number, which jansson accepts */
		return ux_error_set(err, UX_EINVAL, "invalid JSON");
	UX_TRY(reader_finish_options(r, err));
	return r->rank == RANK_NONE ? UX_OK : reader_report(&r->why, err);
}

enum ux_code ux_symbolize_request_parse_json(struct ux_symbolize_request *a, struct ux_bytes body,
					     struct ux_error *err)
{
	ux_cleanup(reader_deinit) struct reader r = {
		.pos = body.data,
		.end = body.size ? body.data + body.size : body.data,
		.body = body,
		.a = a,
		.why = UX_ERROR_INIT,
		.rank = RANK_NONE,
		.fatal = UX_ERROR_INIT,
	};
	bool read = reader_document(&r);
	if (ux_unlikely(!read || r.unusual || r.rank != RANK_NONE))
		UX_TRY(reader_check(&r, read, err));
	return a->pcs.size > UX_SYMBOLIZE_ADDRESSES_MAX ? request_too_many(a->pcs.size, err)
							: UX_OK;
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
		return request_too_many(a->pcs.size + m->n, err);
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
