/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the JSON of POST /v1/query. A plain request is read in place, any other one through a
 * tree. Both ways find the same entries, IDs, qualities and reasons.
 */
#include "fuzz.h"

#include "upload.h"

enum {
	ARENA_BUDGET = 64 << 20,
};

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void compare_entries(const struct ux_query *a, const struct ux_query *b)
{
	fuzz_truth(ux_bytes_eq(a->id, b->id));
	fuzz_truth(same_text(a->invalid, b->invalid));
	fuzz_truth(a->n_ids == b->n_ids);
	if (a->invalid) {
		fuzz_truth(a->n_ids == 0 && a->invalid[0] != '\0');
		return;
	}
	fuzz_truth(a->n_ids > 0 && a->has_quality == b->has_quality && a->quality == b->quality);
	for (size_t i = 0; i < a->n_ids; i++)
		fuzz_truth(strcmp(a->ids[i], b->ids[i]) == 0);
}

static void compare(struct ux_query_request *q, struct ux_query_request *tree)
{
	UX_ARENA(arena, ARENA_BUDGET);
	fuzz_truth(q->left == tree->left && q->force == tree->force && q->modules == tree->modules);
	while (q->left > 0) {
		struct ux_arena_mark mark = ux_arena_mark(&arena);
		struct ux_query a, b;
		fuzz_truth(ux_query_request_next(q, &arena, &a, NULL) == UX_OK);
		fuzz_truth(ux_query_request_next(tree, &arena, &b, NULL) == UX_OK);
		compare_entries(&a, &b);
		ux_arena_rewind(&arena, mark);
	}
	fuzz_truth(tree->left == 0);
}

FUZZ_TARGET(query_json)(const uint8_t *data, size_t size)
{
	struct ux_error err = UX_ERROR_INIT, why = UX_ERROR_INIT;
	ux_cleanup(ux_query_request_deinit) struct ux_query_request q = {0}, tree = {0};
	enum ux_code code = ux_query_request_parse(&q, ux_bytes(data, size), &err);
	fuzz_truths_of_error(code, &err, size);
	fuzz_truth(code == ux_query_request_parse_tree(&tree, ux_bytes(data, size), &why));
	fuzz_truth(strcmp(err.text, why.text) == 0);
	if (code == UX_OK)
		compare(&q, &tree);
	return 0;
}
