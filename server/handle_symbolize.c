/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/symbolize: names of addresses. */
#include "hex.h"
#include "json_in.h"
#include "lookup.h"
#include "module_ids.h"
#include "handlers.h"

/* An address; or, of the function with a name, the byte that is pc behind its start. */
struct place {
	struct ux_bytes name; /* empty: pc is the address */
	uint64_t pc;
};

/* plus: what stands between NAME and OFFSET, besides '+'. */
static enum ux_code parse_place(struct ux_bytes text, char plus, struct place *ret,
				struct ux_error *err)
{
	*ret = (struct place){0};
	if (ux_hex_parse_u64(text, /* hex= */ false, &ret->pc) ||
	    ux_gsym_place_parse(text, '+', &ret->name, &ret->pc) ||
	    ux_gsym_place_parse(text, plus, &ret->name, &ret->pc))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL,
			    "'%.*s' is no address; expected 0x..., decimal or NAME+OFFSET",
			    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
}

static enum ux_code read_place(const json_t *v, struct place *ret, struct ux_error *err)
{
	if (json_is_string(v))
		return parse_place(ux_bytes(json_string_value(v), json_string_length(v)), '+', ret,
				   err);
	if (json_is_integer(v) && json_integer_value(v) < 0)
		return ux_error_set(err, UX_EINVAL,
				    "an address is %" JSON_INTEGER_FORMAT
				    "; expected a string or an integer from 0 on",
				    json_integer_value(v));
	if (!json_is_integer(v))
		return ux_error_set(err, UX_EINVAL,
				    "an address is %s; expected a string or an integer from 0 on",
				    ux_json_in_type(v));
	*ret = (struct place){.pc = (uint64_t)json_integer_value(v)};
	return UX_OK;
}

/* An array of addresses or a list in a query: two ways to say the same. */
struct addresses {
	const json_t *array;
	struct ux_bytes list; /* "0x1,2,NAME+3" */
};

/* One address; the answer is bounded alone and with those of all other requests. */
static enum ux_code look_up(struct ux_request *req, struct ux_open_module *m,
			    const struct place *at, struct ux_lookup *l, struct ux_json *j)
{
	if (at->name.size > 0)
		UX_TRY(ux_lookup_write_place(l, m, at->name, at->pc, j, &req->err));
	else
		ux_lookup_write(l, m, at->pc, j);
	if (j->out->size > UX_SYMBOLIZE_ANSWER_MOST)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "the answer is over %d bytes; ask for fewer addresses",
				    UX_SYMBOLIZE_ANSWER_MOST);
	size_t bytes = req->body.size + j->out->cap;
	return bytes > req->held ? ux_request_hold(req, bytes) : UX_OK;
}

static enum ux_code look_up_array(struct ux_request *req, const json_t *array,
				  struct ux_open_module *m, struct ux_lookup *l, struct ux_json *j)
{
	size_t n = json_array_size(array);
	for (size_t i = 0; i < n; i++) {
		struct place at;
		UX_TRY(read_place(json_array_get(array, i), &at, &req->err));
		UX_TRY(look_up(req, m, &at, l, j));
	}
	return UX_OK;
}

/* The next address of "0x1,2"; *more is false behind the last one. A '+' has become a blank where
 * it was not sent as %2B. */
static enum ux_code list_next(struct ux_bytes *list, bool *more, struct place *ret,
			      struct ux_error *err)
{
	const uint8_t *comma = list->size ? memchr(list->data, ',', list->size) : NULL;
	size_t n = comma ? (size_t)(comma - list->data) : list->size;
	UX_TRY(parse_place(ux_bytes(list->data, n), ' ', ret, err));
	*more = comma != NULL;
	if (comma)
		*list = ux_bytes(comma + 1, list->size - n - 1);
	return UX_OK;
}

static enum ux_code check_list(struct ux_bytes list, struct ux_error *err)
{
	struct place at;
	for (bool more = true; more;)
		UX_TRY(list_next(&list, &more, &at, err));
	return UX_OK;
}

static enum ux_code look_up_list(struct ux_request *req, struct ux_bytes list,
				 struct ux_open_module *m, struct ux_lookup *l, struct ux_json *j)
{
	struct place at;
	for (bool more = true; more;) {
		UX_TRY(list_next(&list, &more, &at, &req->err));
		UX_TRY(look_up(req, m, &at, l, j));
	}
	return UX_OK;
}

static void drop_module(struct ux_open_module **m)
{
	ux_open_module_drop(*m);
}

/* The object of one module: a module that is missing or broken is an answer, not a failure. */
static enum ux_code symbolize(struct ux_request *req, struct ux_bytes id_text,
			      const struct addresses *a, struct ux_lookup *l, struct ux_json *j,
			      enum ux_code *ret_found)
{
	struct ux_error why = UX_ERROR_INIT;
	const char *id = NULL;
	uint32_t retry_s = 0;
	ux_cleanup(drop_module) struct ux_open_module *m = NULL;
	enum ux_code code = ux_module_id(id_text, &req->arena, &id, &why);
	if (code == UX_OK)
		code = ux_server_module(ux_server_of(req), ux_caller_of(req)->ns, id,
					/* wait_ms= */ 0, &m, &retry_s, &why);
	*ret_found = code;
	if (code == UX_ENOMEM) {
		req->err = why;
		return code;
	}
	ux_json_object_begin(j);
	ux_json_key_str(j, "id", id_text);
	ux_json_key_cstr(j, "status",
			 code == UX_OK             ? "found"
			 : code == UX_ENOTFOUND    ? "missing"
			 : code == UX_EUNAVAILABLE ? "pending"
						   : "failed");
	if (code == UX_OK) {
		const struct ux_open_candidate *best = ux_open_module_candidate(m, 0);
		ux_json_key_cstr(j, "quality", ux_quality_name(best->quality));
		ux_json_key(j, "frames");
		ux_json_array_begin(j);
		if (a->array)
			UX_TRY(look_up_array(req, a->array, m, l, j));
		else
			UX_TRY(look_up_list(req, a->list, m, l, j));
		ux_json_array_end(j);
	} else if (code != UX_ENOTFOUND) {
		ux_json_key_cstr(j, "reason", why.text);
		if (code == UX_EUNAVAILABLE)
			ux_json_key_u64(j, "retry_after", retry_s);
	}
	ux_json_object_end(j);
	return UX_OK;
}

/* Addresses of a module that is missing are read all the same: nonsense is refused in any case. */
static enum ux_code check_addresses(const json_t *modules, struct ux_error *err)
{
	size_t total = 0;
	for (size_t i = 0; i < json_array_size(modules); i++) {
		const json_t *m = json_array_get(modules, i), *array = NULL;
		if (!json_is_object(m) || !json_is_string(json_object_get(m, "id")))
			return ux_error_set(err, UX_EINVAL,
					    "modules[%zu] has no \"id\" that is a string", i);
		UX_TRY(ux_json_in_array(m, "addresses", UX_SYMBOLIZE_ADDRESSES_MOST, &array, err));
		if (!array)
			return ux_error_set(err, UX_EINVAL, "modules[%zu] has no \"addresses\"", i);
		total += json_array_size(array);
		for (size_t k = 0; k < json_array_size(array); k++) {
			struct place at;
			UX_TRY(read_place(json_array_get(array, k), &at, err));
		}
	}
	if (total > UX_SYMBOLIZE_ADDRESSES_MOST)
		return ux_error_set(err, UX_ELIMIT, "%zu addresses; at most %d are taken", total,
				    UX_SYMBOLIZE_ADDRESSES_MOST);
	return UX_OK;
}

static enum ux_code read_options(const json_t *doc, struct ux_lookup *l, struct ux_error *err)
{
	const char *word = NULL;
	UX_TRY(ux_json_in_bool(doc, "return_addresses", &l->return_addresses, err));
	UX_TRY(ux_json_in_str(doc, "demangle", 32, &word, err));
	return word ? ux_lookup_demangle(l, ux_bytes_cstr(word), err) : UX_OK;
}

enum ux_code ux_handle_symbolize(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_json_in_drop) json_t *doc = NULL;
	ux_cleanup(ux_lookup_deinit) struct ux_lookup l = {.demangle = UX_DEMANGLE_FULL,
							   .names_left = UX_SYMBOLIZE_NAMES_MOST};
	const json_t *modules = NULL;
	struct ux_error *err = &req->err;
	UX_TRY(ux_json_in_parse(req->body, &doc, err));
	UX_TRY(read_options(doc, &l, err));
	UX_TRY(ux_json_in_array(doc, "modules", UX_SYMBOLIZE_MODULES_MOST, &modules, err));
	if (!modules)
		return ux_error_set(err, UX_EINVAL, "\"modules\" is missing");
	UX_TRY(check_addresses(modules, err));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "modules");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < json_array_size(modules); i++) {
		const json_t *m = json_array_get(modules, i), *id = json_object_get(m, "id");
		struct addresses a = {.array = json_object_get(m, "addresses")};
		enum ux_code found = UX_OK;
		struct ux_arena_mark mark = ux_arena_mark(&req->arena);
		UX_TRY(symbolize(req, ux_bytes(json_string_value(id), json_string_length(id)), &a,
				 &l, &j, &found));
		ux_arena_rewind(&req->arena, mark);
	}
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

static enum ux_code query_options(struct ux_request *req, struct ux_lookup *l)
{
	struct ux_bytes v;
	if (ux_request_query(req, "demangle", &v))
		UX_TRY(ux_lookup_demangle(l, v, &req->err));
	if (!ux_request_query(req, "return_addresses", &v))
		return UX_OK;
	l->return_addresses = ux_bytes_eq(v, UX_STR("true")) || ux_bytes_eq(v, UX_STR("1"));
	if (l->return_addresses || ux_bytes_eq(v, UX_STR("false")) || ux_bytes_eq(v, UX_STR("0")))
		return UX_OK;
	return ux_error_set(&req->err, UX_EINVAL, "return_addresses is neither true nor false");
}

enum ux_code ux_handle_symbolize_one(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_lookup_deinit) struct ux_lookup l = {.demangle = UX_DEMANGLE_FULL,
							   .names_left = UX_SYMBOLIZE_NAMES_MOST};
	struct addresses a = {0};
	enum ux_code found = UX_OK;
	const char *id = NULL;
	UX_TRY(query_options(req, &l));
	UX_TRY(ux_module_id(req->params[0], &req->arena, &id, &req->err));
	if (!ux_request_query(req, "addr", &a.list) || a.list.size == 0)
		return ux_error_set(&req->err, UX_EINVAL, "expected ?addr=0x1,0x2");
	UX_TRY(check_list(a.list, &req->err));
	struct ux_json j = ux_json_make(&req->out);
	UX_TRY(symbolize(req, req->params[0], &a, &l, &j, &found));
	if (found == UX_ENOTFOUND)
		return ux_error_set(&req->err, found, "no module has the ID %.100s", id);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
