/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in cut-up records. */
#include "gsym_index.h"

ux_inline struct gsym_index_pair cut_pair(const struct gsym_cut *cut, size_t i)
{
	struct gsym_index_pair wide;
	uint16_t narrow[2];
	if (ux_likely(cut->narrow)) {
		memcpy(narrow, gsym_cut_pair_at(cut, i), sizeof(narrow));
		return (struct gsym_index_pair){narrow[0], narrow[1]};
	}
	memcpy(&wide, gsym_cut_pair_at(cut, i), sizeof(wide));
	return wide;
}

/*
 * Returns the bucket of an offset; offsets after the last span and row belong to the last bucket.
 */
ux_inline size_t cut_bucket(const struct gsym_cut *cut, uint64_t off)
{
	return (size_t)ux_min(off >> cut->shift, (uint64_t)cut->n_buckets - 1);
}

/* Returns the place of span i among the pairs. */
ux_inline size_t cut_span(const struct gsym_cut *cut, size_t i)
{
	return (size_t)cut->n_buckets + 1 + i;
}

/*
 * Returns the innermost node at off. `first` is the first span of off's bucket and begins at or
 * before it; `last` is the first span of the next bucket.
 */
ux_inline uint32_t cut_find_node(const struct gsym_cut *cut, uint64_t off, uint32_t first,
				 uint32_t last)
{
	size_t at = cut_span(cut, first);
	for (size_t left = (size_t)last - first + 1; left > 1; left -= left / 2)
		at += left / 2 & -(size_t)(cut_pair(cut, at + left / 2).a <= off);
	return cut_pair(cut, at).b;
}

/*
 * Returns the last stored row at or before off; NULL when there is none. `before` rows are at or
 * before the start of off's bucket, `end` rows at or before the start of the next bucket.
 */
ux_inline const struct gsym_index_row *cut_find_stored_row(const struct gsym_cut *cut, uint64_t off,
							   uint32_t before, uint32_t end)
{
	const struct gsym_index_row *rows = gsym_cut_rows(cut);
	size_t n = before;
	for (size_t left = (size_t)end - before + 1; left > 1; left -= left / 2)
		n += left / 2 & -(size_t)(rows[n + left / 2 - 1].off <= off);
	return n > 0 ? &rows[n - 1] : NULL;
}

/* Finds the last row at or before off, beginning at the stored row before it. */
static void cut_read_row(const struct gsym_cut *cut, bool swap, const struct gsym_index_row *row,
			 uint64_t off, uint32_t *file, uint32_t *line)
{
	*file = *line = 0;
	if (!row)
		return;
	struct gsym_lines l = {.c = ux_cur_make(ux_bytes(cut->lines, cut->lines_size), NULL, swap),
			       .min = cut->line_min,
			       .range = cut->line_range,
			       .inverse = gsym_lines_inverse(cut->line_range),
			       .off = row->off,
			       .line = row->line,
			       .file = row->file};
	ux_cur_skip(&l.c, ux_cur_left(&l.c) - row->left);
	do {
		*file = (uint32_t)l.file;
		*line = (uint32_t)l.line;
	} while (gsym_lines_next(&l) && l.off <= off);
}

ux_inline struct ux_cur cut_tree(const struct gsym_cut *cut, bool swap)
{
	return ux_cur_make(ux_bytes(cut->tree, cut->tree_size), NULL, swap);
}

size_t gsym_cut_size(const struct gsym_cut *cut)
{
	return (size_t)cut->tree_size + cut->lines_size;
}

bool gsym_cut_frames(const struct gsym_cut *cut, const struct ux_gsym *g, uint64_t name,
		     uint64_t off, struct ux_frame *frames, size_t max, size_t *ret_n)
{
	const struct gsym_index_node *nodes = gsym_cut_nodes(cut);
	const struct gsym_index_pair from = cut_pair(cut, cut_bucket(cut, off)),
				     to = cut_pair(cut, cut_bucket(cut, off) + 1);
	uint32_t file, line, innermost = cut_find_node(cut, off, from.a, to.a);
	size_t depth = 1, skip = 0;
	for (uint32_t at = innermost; at > GSYM_INNERMOST_ROOT; at = nodes[at].parent)
		depth++;
	cut_read_row(cut, g->swap, cut_find_stored_row(cut, off, from.b, to.b), off, &file, &line);
	skip = depth > max ? depth - max : 0; /* keep the outermost frames */
	for (uint32_t at = innermost;; at = nodes[at].parent) {
		bool inlined = at > GSYM_INNERMOST_ROOT;
		struct ux_cur c = cut_tree(cut, g->swap);
		uint64_t of = name;
		if (inlined) {
			ux_cur_skip(&c, nodes[at].pos);
			of = gsym_name_read(&c, g->offset_size);
		}
		if (skip > 0) {
			skip--;
		} else if (max > 0) {
			if (gsym_frame_make(g, of, file, line, frames, NULL) != UX_OK)
				return false;
			frames->inlined = inlined;
			frames->offset = off - (inlined ? nodes[at].start : 0);
			frames++;
		}
		if (!inlined)
			break;
		file = (uint32_t)ux_cur_uleb(&c);
		line = (uint32_t)ux_cur_uleb(&c);
	}
	*ret_n = ux_min(depth, max);
	return true;
}
