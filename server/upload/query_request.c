/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON of POST /v1/query. */
#include "upload.h"

#include "index.h"
#include "json_in.h"

enum {
	QUALITY_BYTES_MAX = 32,
};

/* --- plain requests --------------------------------------------------------------------------- */

/* Reads a string without escapes. False: anything else. */
static bool query_read_text(struct ux_cur *c, struct ux_bytes *ret)
{
	if (ux_json_peek(c) != UX_JSON_STRING)
		return false;
	struct ux_json_text text = ux_json_read_text(c);
	*ret = text.raw;
	return !c->failed && !text.escaped;
}

/* Skips an array of strings and counts them. */
static bool query_pass_texts(struct ux_cur *c, size_t max, size_t *ret_n)
{
	struct ux_bytes text;
	size_t n = 0;
	while (ux_json_read_element(c, &n))
		if (n > max || !query_read_text(c, &text))
			return false;
	*ret_n = n;
	return !c->failed;
}

/* Positions of the members of a module. */
struct query_module {
	struct ux_cur ids; /* before the array */
	size_t n_ids;
	struct ux_bytes quality; /* no data: absent */
};

static bool query_read_module(struct ux_cur *c, struct query_module *ret)
{
	struct ux_json_text key;
	size_t n = 0;
	*ret = (struct query_module){0};
	while (ux_json_read_member(c, &n, &key)) {
		if (ux_json_text_eq(key, "ids") && ret->n_ids == 0) {
			ret->ids = *c;
			if (!query_pass_texts(c, UX_INDEX_IDS_MAX, &ret->n_ids))
				return false;
		} else if (ux_json_text_eq(key, "quality") && !ret->quality.data) {
			if (!query_read_text(c, &ret->quality) ||
			    ret->quality.size > QUALITY_BYTES_MAX)
				return false;
		} else {
			return false;
		}
	}
	return !c->failed && ret->n_ids > 0;
}

static bool query_pass_modules(struct ux_cur *c, size_t *ret_n)
{
	struct query_module unused;
	size_t n = 0;
	while (ux_json_read_element(c, &n))
		if (n > UX_QUERY_MAX || ux_json_peek(c) != UX_JSON_OBJECT ||
		    !query_read_module(c, &unused))
			return false;
	*ret_n = n;
	return !c->failed;
}

/* Finds the list of entries, and checks the whole request. False: it is not plain. */
static bool query_read_plain(struct ux_query_request *q, struct ux_bytes body)
{
	struct ux_cur c = ux_cur_make(body, "query", false);
	struct ux_json_text key;
	bool list = false, force = false;
	size_t n = 0;
	while (ux_json_read_member(&c, &n, &key)) {
		q->modules |= ux_json_text_eq(key, "modules");
		if (ux_json_text_eq(key, "force") && !force) {
			force = true;
			q->force = ux_json_read_bool(&c);
		} else if ((q->modules || ux_json_text_eq(key, "ids")) && !list) {
			list = true;
			q->next = c;
			if (!(q->modules ? query_pass_modules(&c, &q->left)
					 : query_pass_texts(&c, UX_QUERY_MAX, &q->left)))
				return false;
		} else {
			return false;
		}
	}
	ux_json_read_end(&c);
	return !c.failed && list;
}

/* --- trees ------------------------------------------------------------------------------------ */

static enum ux_code query_check_types(const json_t *list, const char *name, json_type type,
				      const char *expected, struct ux_error *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		if (json_typeof(v) != type)
			return ux_error_set(err, UX_EINVAL, "\"%s\" holds %s; expected %s", name,
					    ux_json_in_type(v), expected);
	}
	return UX_OK;
}

enum ux_code ux_query_request_parse_tree(struct ux_query_request *q, struct ux_bytes body,
					 struct ux_error *err)
{
	const json_t *ids = NULL, *modules = NULL;
	*q = (struct ux_query_request){0};
	UX_TRY(ux_json_in_parse(body, &q->doc, err));
	UX_TRY(ux_json_in_bool(q->doc, "force", &q->force, err));
	UX_TRY(ux_json_in_array(q->doc, "ids", UX_QUERY_MAX, &ids, err));
	UX_TRY(ux_json_in_array(q->doc, "modules", UX_QUERY_MAX, &modules, err));
	if (!ids == !modules)
		return ux_error_set(err, UX_EINVAL, "expected either \"ids\" or \"modules\"");
	UX_TRY(query_check_types(ids, "ids", JSON_STRING, "strings", err));
	UX_TRY(query_check_types(modules, "modules", JSON_OBJECT, "objects", err));
	q->modules = modules != NULL;
	q->list = modules ? modules : ids;
	q->left = json_array_size(q->list);
	return UX_OK;
}

enum ux_code ux_query_request_parse(struct ux_query_request *q, struct ux_bytes body,
				    struct ux_error *err)
{
	*q = (struct ux_query_request){0};
	return query_read_plain(q, body) ? UX_OK : ux_query_request_parse_tree(q, body, err);
}

void ux_query_request_deinit(struct ux_query_request *q)
{
	json_decref(q->doc);
	*q = (struct ux_query_request){0};
}

/* --- entries ---------------------------------------------------------------------------------- */

static struct ux_bytes query_bytes_of(const json_t *string)
{
	return string ? ux_bytes(json_string_value(string), json_string_length(string))
		      : UX_BYTES_NONE;
}

static enum ux_code query_set_id(struct ux_query *ret, struct ux_bytes text, struct ux_arena *arena,
				 struct ux_error *err)
{
	ret->id = text;
	ret->n_ids = 1;
	ret->ids = ux_arena_array(arena, const char *, 1);
	return ret->ids ? ux_module_id_parse(text, arena, ret->ids, err)
			: ux_arena_fail(arena, err);
}

static enum ux_code query_set_module(struct ux_query *ret, const struct query_module *m,
				     struct ux_arena *arena, struct ux_error *err)
{
	struct ux_cur c = m->ids;
	struct ux_bytes text = UX_BYTES_NONE;
	size_t n = 0;
	ret->ids = ux_arena_array(arena, const char *, m->n_ids);
	if (!ret->ids)
		return ux_arena_fail(arena, err);
	while (ux_json_read_element(&c, &n) && n <= m->n_ids && query_read_text(&c, &text)) {
		if (n == 1)
			ret->id = text;
		UX_TRY(ux_module_id_parse(text, arena, &ret->ids[n - 1], err));
	}
	ret->n_ids = m->n_ids;
	ret->has_quality = m->quality.data != NULL;
	return ret->has_quality ? ux_quality_parse(m->quality, &ret->quality, err) : UX_OK;
}

/*
 * Reads the next entry of a plain request. The whole request was read before, so the reads cannot
 * fail.
 */
static enum ux_code query_next_plain(struct ux_query_request *q, struct ux_arena *arena,
				     struct ux_query *ret, struct ux_error *err)
{
	struct ux_bytes text = UX_BYTES_NONE;
	struct query_module m = {0};
	(void)!ux_json_read_element(&q->next, &q->passed);
	bool read = q->modules ? query_read_module(&q->next, &m) : query_read_text(&q->next, &text);
	if (!read)
		return ux_cur_status(&q->next, err);
	return q->modules ? query_set_module(ret, &m, arena, err)
			  : query_set_id(ret, text, arena, err);
}

/* Reads the next entry from the tree. The first ID of an entry names it in the answer. */
static enum ux_code query_next_of_tree(struct ux_query_request *q, struct ux_arena *arena,
				       struct ux_query *ret, struct ux_error *err)
{
	const json_t *v = json_array_get(q->list, json_array_size(q->list) - q->left);
	if (!q->modules)
		return query_set_id(ret, query_bytes_of(v), arena, err);
	const json_t *first = json_array_get(json_object_get(v, "ids"), 0);
	ret->id = json_is_string(first) ? query_bytes_of(first) : UX_BYTES_NONE;
	UX_TRY(ux_module_ids_parse(v, arena, &ret->ids, &ret->n_ids, err));
	return ux_json_in_quality(v, &ret->quality, &ret->has_quality, err);
}

/* An invalid ID fails only its own entry of the query. */
enum ux_code ux_query_request_next(struct ux_query_request *q, struct ux_arena *arena,
				   struct ux_query *ret, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	*ret = (struct ux_query){0};
	enum ux_code code = q->doc ? query_next_of_tree(q, arena, ret, &why)
				   : query_next_plain(q, arena, ret, &why);
	q->left--;
	if (code == UX_OK)
		return UX_OK;
	ret->n_ids = 0;
	ret->invalid = ux_arena_strndup(arena, why.text, strlen(why.text));
	if (code != UX_ENOMEM && !arena->over && ret->invalid)
		return UX_OK;
	return ux_arena_fail(arena, err);
}
