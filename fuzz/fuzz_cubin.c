/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: .debug_line of a cubin, and the trees of inlined calls in its rows.
 *
 * Truths: sequences contain rows of the table; trees are not deeper than the limit, and a call's
 * code is ascending and inside of its parent's.
 */
#include "fuzz.h"

#include "cubin_line.h"

enum {
	CALLS_MAX = 2000, /* most calls of a table that are compared with their parents */
};

static bool covers(const struct ux_cubin_calls *c, const struct ux_cubin_call *call, uint64_t lo,
		   uint64_t hi)
{
	for (uint32_t at = call->range; at != 0; at = c->ranges.data[at].next)
		if (c->ranges.data[at].lo <= lo && hi <= c->ranges.data[at].hi)
			return true;
	return false;
}

static void check_tree(const struct ux_cubin_calls *c, unsigned *left)
{
	for (uint32_t at = c->root; *left > 0 && (at = ux_cubin_calls_next(c, at)) != 0; --*left) {
		const struct ux_cubin_call *call = &c->calls.data[at];
		const struct ux_cubin_call *parent = &c->calls.data[call->key.parent];
		uint64_t covered = 0;
		fuzz_truth(call->depth == parent->depth + 1 && call->depth <= UX_CUBIN_DEPTH_MAX);
		for (uint32_t r = call->range; r != 0; r = c->ranges.data[r].next) {
			struct ux_cubin_call_range range = c->ranges.data[r];
			fuzz_truth(range.lo < range.hi && (range.lo > covered || covered == 0));
			covered = range.hi;
			fuzz_truth(parent->depth == 0 || covers(c, parent, range.lo, range.hi));
		}
	}
}

/*
 * Builds trees from the rows of s, placed one after the other at addresses of our own, as one
 * function.
 */
static void grow(const struct ux_cubin_lines *lines, const struct ux_cubin_sequence *s,
		 struct ux_cubin_calls *calls, unsigned *left)
{
	fuzz_truth(s->lo < s->hi && s->count > 0);
	fuzz_truth(s->first + s->count <= lines->rows.size);
	fuzz_truth(ux_cubin_calls_root(calls));
	for (uint32_t i = 0; i < s->count; i++)
		fuzz_truth(ux_cubin_calls_add(calls, lines, s, i, 16 + i, 17 + i));
	check_tree(calls, left);
}

FUZZ_TARGET(cubin)(const uint8_t *data, size_t size)
{
	struct ux_cur c = ux_cur_make(ux_bytes(data, size), ".debug_line", false);
	struct ux_cubin_lines lines = {0};
	struct ux_cubin_calls calls = {0};
	while (ux_cur_more(&c)) {
		struct ux_error err = UX_ERROR_INIT;
		unsigned left = CALLS_MAX;
		enum ux_code code = ux_cubin_lines_read(&c, &lines, &err);
		fuzz_truths_of_error(code, &err, size);
		fuzz_truth(ux_cubin_calls_begin(&calls, lines.rows.size));
		for (size_t i = 0; i < lines.sequences.size; i++)
			grow(&lines, &lines.sequences.data[i], &calls, &left);
	}
	ux_cubin_lines_deinit(&lines);
	ux_cubin_calls_deinit(&calls);
	return 0;
}
