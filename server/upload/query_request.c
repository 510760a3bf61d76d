/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the JSON of POST /v1/query in place. */
#include "upload.h"

#include "index.h"
#include "json_in.h"

/* --- the document ----------------------------------------------------------------------------- */

/* Passes a list of entries, and notes where it is. null: it is absent. */
static enum ux_code query_pass_list(struct ux_query_request *q, struct ux_cur *c, const char *key,
				    enum ux_json_kind entries, struct ux_error *err)
{
	size_t n = 0;
	if (!ux_json_in_given(c))
		return ux_json_in_status(c, err);
	UX_TRY(ux_json_in_expect(c, key, UX_JSON_ARRAY, err));
	if (q->next.start)
		return ux_error_set(err, UX_EINVAL, "expected either \"ids\" or \"modules\"");
	q->next = *c;
	while (ux_json_read_element(c, &n)) {
		if (n > UX_QUERY_MAX)
			return ux_error_set(err, UX_ELIMIT, "\"%s\" has more than %d elements", key,
					    UX_QUERY_MAX);
		enum ux_json_kind kind = ux_json_peek(c);
		UX_TRY(ux_json_in_status(c, err));
		if (kind != entries)
			return ux_error_set(err, UX_EINVAL, "\"%s\" holds %s; expected %s", key,
					    ux_json_kind_name(kind),
					    entries == UX_JSON_OBJECT ? "objects" : "strings");
		(void)ux_json_skip(c);
	}
	q->left = n;
	return ux_json_in_status(c, err);
}

static enum ux_code query_read_force(struct ux_query_request *q, struct ux_cur *c,
				     struct ux_error *err)
{
	if (ux_json_in_given(c)) {
		UX_TRY(ux_json_in_expect(c, "force", UX_JSON_BOOL, err));
		q->force = ux_json_read_bool(c);
	}
	return ux_json_in_status(c, err);
}

enum ux_code ux_query_request_parse(struct ux_query_request *q, struct ux_bytes body,
				    struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(body, "request", /* swap= */ false);
	struct ux_json_text key;
	bool force = false, ids = false, modules = false;
	size_t n = 0;
	*q = (struct ux_query_request){0};
	UX_TRY(ux_json_in_expect(&c, NULL, UX_JSON_OBJECT, err));
	while (ux_json_read_member(&c, &n, &key)) {
		if (ux_json_text_eq(key, "force")) {
			UX_TRY(ux_json_in_once(&force, "force", err));
			UX_TRY(query_read_force(q, &c, err));
		} else if (ux_json_text_eq(key, "ids")) {
			UX_TRY(ux_json_in_once(&ids, "ids", err));
			UX_TRY(query_pass_list(q, &c, "ids", UX_JSON_STRING, err));
		} else if (ux_json_text_eq(key, "modules")) {
			UX_TRY(ux_json_in_once(&modules, "modules", err));
			UX_TRY(query_pass_list(q, &c, "modules", UX_JSON_OBJECT, err));
			q->modules = q->next.start != NULL;
		} else {
			(void)ux_json_skip(&c);
		}
	}
	ux_json_read_end(&c);
	UX_TRY(ux_json_in_status(&c, err));
	return q->next.start
		       ? UX_OK
		       : ux_error_set(err, UX_EINVAL, "expected either \"ids\" or \"modules\"");
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Reads the IDs of a module. The first one names the answer, even if there are too many. */
static enum ux_code query_read_ids(struct ux_cur *c, struct ux_arena *arena, struct ux_query *ret,
				   struct ux_error *err)
{
	struct ux_cur ahead = *c;
	size_t n = 0, i = 0;
	UX_TRY(ux_json_in_expect(c, "ids", UX_JSON_ARRAY, err));
	while (ux_json_read_element(&ahead, &n)) {
		if (n == 1 && ux_json_peek(&ahead) == UX_JSON_STRING)
			UX_TRY(ux_json_in_string(&ahead, arena, &ret->id, err));
		else
			(void)ux_json_skip(&ahead);
	}
	if (n > UX_INDEX_IDS_MAX)
		return ux_error_set(err, UX_ELIMIT, "\"ids\" has %zu elements; the limit is %d", n,
				    UX_INDEX_IDS_MAX);
	ret->ids = ux_arena_array(arena, const char *, ux_max(n, (size_t)1));
	if (!ret->ids)
		return ux_arena_fail(arena, err);
	while (ux_json_read_element(c, &i)) {
		struct ux_bytes text;
		enum ux_json_kind kind = ux_json_peek(c);
		if (kind != UX_JSON_STRING)
			return ux_error_set(err, UX_EINVAL, "\"ids\" holds %s; expected strings",
					    ux_json_kind_name(kind));
		UX_TRY(ux_json_in_string(c, arena, &text, err));
		UX_TRY(ux_module_id_parse(text, arena, &ret->ids[i - 1], err));
	}
	ret->n_ids = n;
	return UX_OK;
}

static enum ux_code query_read_trust(struct ux_cur *c, struct ux_arena *arena, struct ux_query *ret,
				     struct ux_error *err)
{
	if (!ux_json_in_given(c))
		return UX_OK;
	UX_TRY(ux_json_in_expect(c, "trust", UX_JSON_STRING, err));
	return ux_json_in_string(c, arena, &ret->trust, err);
}

static enum ux_code query_read_quality(struct ux_cur *c, struct ux_arena *arena,
				       struct ux_query *ret, struct ux_error *err)
{
	struct ux_bytes word;
	if (!ux_json_in_given(c))
		return UX_OK;
	UX_TRY(ux_json_in_expect(c, "quality", UX_JSON_STRING, err));
	UX_TRY(ux_json_in_string(c, arena, &word, err));
	ret->has_quality = true;
	return ux_quality_parse(word, &ret->quality, err);
}

/* Reads a module, which is JSON: its IDs first, since they name the entry. */
static enum ux_code query_read_module(struct ux_cur c, struct ux_arena *arena, struct ux_query *ret,
				      struct ux_error *err)
{
	struct ux_cur ids = {0}, quality = {0}, trust = {0};
	struct ux_json_text key;
	size_t n = 0;
	while (ux_json_read_member(&c, &n, &key)) {
		const bool is_ids = ux_json_text_eq(key, "ids");
		const bool is_quality = ux_json_text_eq(key, "quality");
		struct ux_cur *value = is_ids                          ? &ids
				       : is_quality                    ? &quality
				       : ux_json_text_eq(key, "trust") ? &trust
								       : NULL;
		if (value) {
			bool seen = value->start != NULL;
			UX_TRY(ux_json_in_once(&seen,
					       is_ids       ? "ids"
					       : is_quality ? "quality"
							    : "trust",
					       err));
			*value = c;
		}
		(void)ux_json_skip(&c);
	}
	if (ids.start && ux_json_in_given(&ids))
		UX_TRY(query_read_ids(&ids, arena, ret, err));
	if (ret->n_ids == 0)
		return ux_error_set(err, UX_EINVAL, "\"ids\" is missing or empty");
	if (trust.start)
		UX_TRY(query_read_trust(&trust, arena, ret, err));
	return quality.start ? query_read_quality(&quality, arena, ret, err) : UX_OK;
}

static enum ux_code query_read_id(struct ux_cur *c, struct ux_arena *arena, struct ux_query *ret,
				  struct ux_error *err)
{
	UX_TRY(ux_json_in_string(c, arena, &ret->id, err));
	ret->n_ids = 1;
	ret->ids = ux_arena_array(arena, const char *, 1);
	return ret->ids ? ux_module_id_parse(ret->id, arena, ret->ids, err)
			: ux_arena_fail(arena, err);
}

/* An invalid ID fails only its own entry of the query. */
enum ux_code ux_query_request_next(struct ux_query_request *q, struct ux_arena *arena,
				   struct ux_query *ret, struct ux_error *err)
{
	assert(q->left > 0);
	struct ux_error why = UX_ERROR_INIT;
	*ret = (struct ux_query){0};
	(void)!ux_json_read_element(&q->next, &q->passed);
	struct ux_cur entry = q->next;
	(void)ux_json_skip(&q->next); /* it was read before, and cannot fail */
	enum ux_code code = q->modules ? query_read_module(entry, arena, ret, &why)
				       : query_read_id(&entry, arena, ret, &why);
	q->left--;
	if (code == UX_OK)
		return UX_OK;
	ret->n_ids = 0;
	ret->invalid = ux_arena_strndup(arena, why.text, strlen(why.text));
	if (code != UX_ENOMEM && !arena->over && ret->invalid)
		return UX_OK;
	return ux_arena_fail(arena, err);
}
