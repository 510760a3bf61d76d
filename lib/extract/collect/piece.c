/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes pieces and cuts parts of them. */
#include "collect.h"

#include "partition.h"

enum ux_code ux_piece_read(struct ux_piece_reader *reader, const struct ux_piece *whole,
			   struct ux_error *err)
{
	const struct ux_gsym_draft *draft = &whole->draft;
	if (reader->whole == whole)
		return UX_OK;
	ux_piece_reader_deinit(reader);
	/* Unlimited: the content was in memory before it was drafted. */
	ux_arena_init(&reader->arena, SIZE_MAX);
	if (!ux_gsym_draft_read(draft, &reader->arena, &reader->content))
		return ux_arena_fail(&reader->arena, err);
	if (draft->n_inlines > 0) {
		const struct ux_code_inline *last = &reader->content.inlines[draft->n_inlines - 1];
		reader->n_ranges = last->range_first + last->range_count;
	}
	reader->whole = whole;
	return UX_OK;
}

void ux_piece_reader_deinit(struct ux_piece_reader *reader)
{
	ux_arena_deinit(&reader->arena);
	*reader = (struct ux_piece_reader){0};
}

/* Returns how many rows begin before off. */
static uint32_t rows_before(const struct ux_gsym_row *rows, uint32_t n, uint64_t off)
{
	return ux_partition_point(i, 0, n, rows[i].off < off);
}

/* Copies the rows of [from, to), with offsets relative to `from`. The row in effect at `from`
 * begins there. */
static bool cut_rows(const struct ux_piece_reader *reader, uint32_t from, uint32_t to,
		     struct ux_arena *temp, struct ux_gsym_function *f)
{
	const struct ux_gsym_row *rows = reader->content.rows;
	uint32_t n = reader->whole->draft.n_rows;
	uint32_t first = rows_before(rows, n, (uint64_t)from + 1), end = rows_before(rows, n, to);
	first -= first > 0;
	if (first >= end)
		return true;
	struct ux_gsym_row *part = ux_arena_array(temp, struct ux_gsym_row, end - first);
	if (!part)
		return false;
	for (uint32_t i = first; i < end; i++) {
		part[i - first] = rows[i];
		part[i - first].off = rows[i].off > from ? rows[i].off - from : 0;
	}
	f->rows = part;
	f->n_rows = end - first;
	return true;
}

/* Counts the calls and ranges that overlap [from, to). */
static void count_inlines(const struct ux_piece_reader *reader, uint32_t from, uint32_t to,
			  uint32_t *ret_inlines, uint32_t *ret_ranges)
{
	for (uint32_t i = 0; i < reader->whole->draft.n_inlines; i++) {
		const struct ux_code_inline *node = &reader->content.inlines[i];
		const struct ux_gsym_range *r = reader->content.ranges + node->range_first;
		uint32_t n = 0;
		for (uint32_t k = 0; k < node->range_count; k++)
			n += ux_max(r[k].lo, from) < ux_min(r[k].hi, to);
		*ret_ranges += n;
		*ret_inlines += n > 0;
	}
}

/* Copies the inlined calls that overlap [from, to). A call outside of it is dropped with all calls
 * inlined into it. */
static bool cut_inlines(const struct ux_piece_reader *reader, uint32_t from, uint32_t to,
			struct ux_arena *temp, struct ux_gsym_function *f)
{
	const struct ux_gsym_range *all = reader->content.ranges;
	uint32_t n_inlines = 0, n_ranges = 0, used = 0;
	count_inlines(reader, from, to, &n_inlines, &n_ranges);
	if (n_inlines == 0)
		return true;
	struct ux_code_inline *nodes = ux_arena_array(temp, struct ux_code_inline, n_inlines);
	struct ux_gsym_range *ranges = ux_arena_array(temp, struct ux_gsym_range, n_ranges);
	if (!nodes || !ranges)
		return false;
	for (uint32_t i = 0; i < reader->whole->draft.n_inlines; i++) {
		struct ux_code_inline node = reader->content.inlines[i];
		uint32_t first = used;
		for (uint32_t r = node.range_first; r < node.range_first + node.range_count; r++) {
			uint32_t lo = ux_max(all[r].lo, from), hi = ux_min(all[r].hi, to);
			if (lo < hi)
				ranges[used++] = (struct ux_gsym_range){lo - from, hi - from};
		}
		node.range_first = first;
		node.range_count = used - first;
		if (node.range_count > 0)
			nodes[f->n_inlines++] = node;
	}
	f->inlines = nodes;
	f->ranges = ranges;
	return true;
}

enum ux_code ux_piece_cut(const struct ux_piece_reader *reader, uint64_t lo, uint64_t hi,
			  bool calls, struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			  struct ux_piece *ret, struct ux_error *err)
{
	const struct ux_piece *whole = reader->whole;
	assert(whole && whole->start <= lo && lo < hi && hi <= ux_piece_end(whole));
	struct ux_piece part = {
		.start = lo,
		.size = (uint32_t)(hi - lo),
		.unit = whole->unit,
		.name = whole->name,
		.own = whole->own,
		.before = whole->before + (uint32_t)(lo - whole->start),
		.part = whole->part || lo > whole->start,
	};
	uint32_t from = (uint32_t)(lo - whole->start), to = (uint32_t)(hi - whole->start);
	struct ux_gsym_function f = {.size = part.size};
	ux_cleanup(ux_arena_deinit) struct ux_arena temp;
	ux_arena_init(&temp, SIZE_MAX);
	if (!cut_rows(reader, from, to, &temp, &f) ||
	    (calls && !cut_inlines(reader, from, to, &temp, &f)))
		return ux_arena_fail(&temp, err);
	if (!ux_gsym_draft_make(drafter, &f, arena, &part.draft))
		return ux_arena_fail(arena, err);
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
		rows[n++] = (struct ux_gsym_row){0, 0, UX_FILE_NAMELESS};
	for (uint32_t r = 0; r < n_rows; r++) {
		rows[n] = c.rows[r];
		rows[n++].off += shift;
	}
	if (ux_piece_end(from) < hi)
		rows[n++] = (struct ux_gsym_row){(uint32_t)(ux_piece_end(from) - lo), 0,
						 UX_FILE_NAMELESS};
	struct ux_gsym_function f = {.size = (uint32_t)(hi - lo), .rows = rows, .n_rows = n};
	if (!ux_gsym_draft_make(drafter, &f, arena, ret))
		return ux_arena_fail(arena, err);
	return UX_OK;
}
