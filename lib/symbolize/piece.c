/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting a piece. */
#include "piece.h"

/* Rows of [from, to), counted anew; the row in force at `from` moves there. */
static bool cut_rows(const struct ux_piece *whole, uint32_t from, uint32_t to,
		     struct ux_arena *arena, struct ux_piece *part)
{
	const struct ux_gsym_row *rows = whole->rows;
	uint32_t first = 0, end = 0;
	while (end < whole->n_rows && rows[end].off < to) {
		if (rows[end].off <= from)
			first = end;
		end++;
	}
	part->n_rows = end - first;
	if (part->n_rows == 0)
		return true;
	part->rows = ux_arena_array(arena, struct ux_gsym_row, part->n_rows);
	if (!part->rows)
		return false;
	for (uint32_t i = first; i < end; i++) {
		part->rows[i - first] = rows[i];
		part->rows[i - first].off = rows[i].off > from ? rows[i].off - from : 0;
	}
	return true;
}

/* Inlined calls of [from, to). A call that ends before it goes, and what was inlined into it goes
 * too. */
static bool cut_inlines(const struct ux_piece *whole, uint32_t from, uint32_t to,
			struct ux_arena *arena, struct ux_piece *part)
{
	if (whole->n_inlines == 0)
		return true;
	part->inlines = ux_arena_array(arena, struct ux_gsym_inline, whole->n_inlines);
	part->ranges = ux_arena_array(arena, struct ux_gsym_range, whole->n_ranges);
	if (!part->inlines || !part->ranges)
		return false;
	for (uint32_t i = 0; i < whole->n_inlines; i++) {
		struct ux_gsym_inline node = whole->inlines[i];
		uint32_t first = part->n_ranges;
		for (uint32_t r = node.range_first; r < node.range_first + node.range_count; r++) {
			uint32_t lo = ux_max(whole->ranges[r].lo, from);
			uint32_t hi = ux_min(whole->ranges[r].hi, to);
			if (lo < hi)
				part->ranges[part->n_ranges++] =
					(struct ux_gsym_range){lo - from, hi - from};
		}
		node.range_first = first;
		node.range_count = part->n_ranges - first;
		if (node.range_count > 0)
			part->inlines[part->n_inlines++] = node;
	}
	return true;
}

enum ux_code ux_piece_cut(const struct ux_piece *whole, uint64_t lo, uint64_t hi,
			  struct ux_arena *arena, struct ux_piece *ret, struct ux_error *err)
{
	struct ux_piece part = {
		.start = lo,
		.size = (uint32_t)(hi - lo),
		.unit = whole->unit,
		.name = whole->name,
	};
	uint32_t from = (uint32_t)(lo - whole->start);
	uint32_t to = (uint32_t)(hi - whole->start);
	if (!cut_rows(whole, from, to, arena, &part) || !cut_inlines(whole, from, to, arena, &part))
		return ux_arena_fail(arena, err);
	*ret = part;
	return UX_OK;
}
