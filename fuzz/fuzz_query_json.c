/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the JSON of POST /v1/query. It is read in place; a model here builds a tree. Documents
 * that the tree accepts are accepted with the same entries.
 */
#include "fuzz.h"

#include "upload.h"

enum {
	ARENA_BUDGET = 64 << 20,
};

static void same_ids(const struct ux_query *q, const json_t *entry, struct ux_arena *arena)
{
	const json_t *ids = json_is_string(entry) ? NULL : json_object_get(entry, "ids");
	const char *canonical = NULL;
	for (size_t i = 0; i < q->n_ids; i++) {
		const json_t *v = ids ? json_array_get(ids, i) : entry;
		struct ux_bytes text = ux_bytes(json_string_value(v), json_string_length(v));
		fuzz_truth(json_is_string(v));
		fuzz_truth(ux_module_id_parse(text, arena, &canonical, NULL) == UX_OK);
		fuzz_truth(strcmp(canonical, q->ids[i]) == 0);
	}
	fuzz_truth(!ids || q->n_ids == 0 || q->n_ids == json_array_size(ids));
}

static void compare_entries(struct ux_query_request *q, const json_t *list)
{
	UX_ARENA(arena, ARENA_BUDGET);
	fuzz_truth(!list || q->left == json_array_size(list));
	for (size_t i = 0; q->left > 0; i++) {
		struct ux_arena_mark mark = ux_arena_mark(&arena);
		struct ux_query entry;
		fuzz_truth(ux_query_request_next(q, &arena, &entry, NULL) == UX_OK);
		fuzz_truth((entry.n_ids == 0) == (entry.invalid && entry.invalid[0] != '\0'));
		if (list)
			same_ids(&entry, json_array_get(list, i), &arena);
		ux_arena_rewind(&arena, mark);
	}
}

static bool holds(const json_t *list, json_type type)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_typeof(json_array_get(list, i)) != type)
			return false;
	return json_is_array(list) && json_array_size(list) <= UX_QUERY_MAX;
}

/* Returns whether a tree has the form that docs/api/openapi.yaml tells. */
static bool model_accepts(const json_t *doc)
{
	const json_t *ids = json_object_get(doc, "ids"), *modules = json_object_get(doc, "modules");
	const json_t *force = json_object_get(doc, "force");
	ids = json_is_null(ids) ? NULL : ids;
	modules = json_is_null(modules) ? NULL : modules;
	return (!force || json_is_null(force) || json_is_boolean(force)) &&
	       (ids ? !modules && holds(ids, JSON_STRING) : holds(modules, JSON_OBJECT));
}

FUZZ_TARGET(query_json)(const uint8_t *data, size_t size)
{
	struct ux_error err = UX_ERROR_INIT;
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_query_request q;
	enum ux_code code = ux_query_request_parse(&q, ux_bytes(data, size), &err);
	fuzz_truths_of_error(code, &err, size);
	/* jansson skips a NUL after a number. */
	bool tree = ux_json_in_parse(ux_bytes(data, size), &doc, NULL) == UX_OK &&
		    !memchr(data, 0, size);
	if (code == UX_OK)
		compare_entries(&q,
				tree ? json_object_get(doc, q.modules ? "modules" : "ids") : NULL);
	fuzz_truth(!tree || (code == UX_OK) == model_accepts(doc));
	return 0;
}
