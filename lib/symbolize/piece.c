/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a piece. */
#include "piece.h"

/* Rows of [from, to), counted anew in place; the row in force at `from` moves there. */
static void cut_rows(struct ux_gsym_row *rows, struct ux_gsym_function *f, uint32_t from,
		     uint32_t to)
{
	size_t first = 0, end = 0;
	while (end < f->n_rows && rows[end].off < to) {
		if (rows[end].off <= from)
			first = end;
		end++;
	}
	for (size_t i = first; i < end; i++)
		rows[i].off = rows[i].off > from ? rows[i].off - from : 0;
	f->rows = rows + first;
	f->n_rows = end - first;
}

/* Inlined calls of [from, to), in place. A call that ends before it goes, and what was inlined into
 * it goes too. */
static void cut_inlines(struct ux_gsym_inline *nodes, struct ux_gsym_range *ranges,
			struct ux_gsym_function *f, uint32_t from, uint32_t to)
{
	size_t kept = 0;
	uint32_t used = 0;
	for (size_t i = 0; i < f->n_inlines; i++) {
		struct ux_gsym_inline node = nodes[i];
		uint32_t first = used;
		for (uint32_t r = node.range_first; r < node.range_first + node.range_count; r++) {
			uint32_t lo = ux_max(ranges[r].lo, from), hi = ux_min(ranges[r].hi, to);
			if (lo < hi)
				ranges[used++] = (struct ux_gsym_range){lo - from, hi - from};
		}
		node.range_first = first;
		node.range_count = used - first;
		if (node.range_count > 0)
			nodes[kept++] = node;
	}
	f->n_inlines = kept;
}

/* [from, to) of the draft, made of what is read into temp. */
static bool cut_draft(const struct ux_gsym_draft *draft, uint32_t from, uint32_t to,
		      struct ux_gsym_drafter *drafter, struct ux_arena *temp,
		      struct ux_arena *arena, struct ux_gsym_draft *ret)
{
	struct ux_gsym_function f = {.size = to - from};
	struct ux_gsym_content c;
	if (!ux_gsym_draft_read(draft, temp, &c))
		return false;
	f.n_rows = draft->n_rows;
	f.n_inlines = draft->n_inlines;
	f.inlines = c.inlines;
	f.ranges = c.ranges;
	cut_rows(c.rows, &f, from, to);
	cut_inlines(c.inlines, c.ranges, &f, from, to);
	return ux_gsym_draft_make(drafter, &f, arena, ret);
}

enum ux_code ux_piece_cut(const struct ux_piece *whole, uint64_t lo, uint64_t hi,
			  struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			  struct ux_piece *ret, struct ux_error *err)
{
	struct ux_piece part = {
		.start = lo,
		.size = (uint32_t)(hi - lo),
		.unit = whole->unit,
		.name = whole->name,
	};
	ux_cleanup(ux_arena_deinit) struct ux_arena temp;
	ux_arena_init(&temp, arena->budget);
	if (!cut_draft(&whole->draft, (uint32_t)(lo - whole->start), (uint32_t)(hi - whole->start),
		       drafter, &temp, arena, &part.draft))
		return ux_arena_fail(arena->over ? arena : &temp, err);
	*ret = part;
	return UX_OK;
}

enum ux_code ux_piece_widen(const struct ux_piece *from, uint64_t lo, uint64_t hi,
			    struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			    struct ux_gsym_draft *ret, struct ux_error *err)
{
	uint32_t shift = (uint32_t)(from->start - lo), n = 0;
	struct ux_gsym_content c;
	ux_cleanup(ux_arena_deinit) struct ux_arena temp;
	ux_arena_init(&temp, arena->budget);
	*ret = (struct ux_gsym_draft){0};
	if (from->draft.n_rows == 0)
		return UX_OK;
	if (!ux_gsym_draft_read(&from->draft, &temp, &c))
		return ux_arena_fail(&temp, err);
	uint32_t n_rows = from->draft.n_rows;
	struct ux_gsym_row *rows = ux_arena_array(&temp, struct ux_gsym_row, n_rows + 2u);
	if (!rows)
		return ux_arena_fail(&temp, err);
	if (shift > 0)
		rows[n++] = (struct ux_gsym_row){0, 0, c.rows[0].file};
	for (uint32_t r = 0; r < n_rows; r++) {
		rows[n] = c.rows[r];
		rows[n++].off += shift;
	}
	if (ux_piece_end(from) < hi)
		rows[n++] = (struct ux_gsym_row){(uint32_t)(ux_piece_end(from) - lo), 0,
						 c.rows[n_rows - 1].file};
	struct ux_gsym_function f = {.size = (uint32_t)(hi - lo), .rows = rows, .n_rows = n};
	if (!ux_gsym_draft_make(drafter, &f, arena, ret))
		return ux_arena_fail(arena, err);
	return UX_OK;
}
