/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in cut-up records: frames of one address, and places of many. */
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

/* --- places of many addresses ----------------------------------------------------------------- */

enum {
	/*
	 * Addresses that are looked up side by side. Each step of a lookup reads memory that is not
	 * in the processor's caches; the addresses of a group wait for it together.
	 */
	GROUP = 32,
	NEAR = 32,        /* bytes of a line table after a stored row, or a few more */
	RECORD_LINES = 4, /* cache lines to prefetch of a record that will be cut up */
};

/* Addresses of a group, by their index in it. */
struct place_group {
	size_t n;
	size_t before;       /* function of the last address of the previous group, or 0 */
	size_t at[GROUP];    /* index of the function */
	uint64_t off[GROUP]; /* from g->base, later from the function's start */
	const struct gsym_cut *cut[GROUP];
	struct gsym_index_pair from[GROUP],
		to[GROUP]; /* pairs of the address's bucket, and of the next one */
	uint32_t node[GROUP];
	const struct gsym_index_row
		*row[GROUP]; /* NULL: no stored row is at or before the address */
};

/* Returns whether the addresses ascend, as they do in large requests. */
static bool place_group_is_sorted(const struct place_group *p)
{
	bool sorted = true;
	for (size_t k = 1; k < p->n; k++)
		sorted &= p->off[k - 1] <= p->off[k];
	return sorted;
}

/*
 * Returns how many functions from `first` on must be searched for an address: all except some that
 * start after it. The steps double, since the next address is usually in one of the next functions.
 */
ux_inline size_t place_search_width(const struct ux_gsym *g, size_t first, uint64_t off,
				    unsigned width, bool swap)
{
	size_t n = 2 * GROUP, max = g->n_functions - first;
	while (n < max && gsym_table_at(g->addrs, first + n, width, swap) <= off)
		n *= 2;
	return ux_min(n, max);
}

/*
 * Searches like gsym_table_search(), for all addresses of the group, but without looking for equal
 * starts. Sorted addresses begin at the last function of the previous group, unless that starts
 * after them.
 */
ux_inline void place_search(struct place_group *p, const struct ux_gsym *g, unsigned width,
			    bool swap)
{
	size_t first = 0, n = g->n_functions;
	if (place_group_is_sorted(p)) {
		if (gsym_table_at(g->addrs, p->before, width, swap) <= p->off[0])
			first = p->before;
		n = place_search_width(g, first, p->off[p->n - 1], width, swap);
	}
	for (size_t k = 0; k < p->n; k++)
		p->at[k] = first;
	for (size_t left = n; left > 1;) {
		size_t half = left / 2;
		for (size_t k = 0; k < p->n; k++)
			p->at[k] += half & -(size_t)(gsym_table_at(g->addrs, p->at[k] + half, width,
								   swap) <= p->off[k]);
		left -= half;
	}
	p->before = p->at[p->n - 1];
}

static void place_search_functions(struct place_group *p, const struct ux_gsym *g)
{
	if (g->addr_size == 4 && !g->swap)
		place_search(p, g, 4, false);
	else
		place_search(p, g, g->addr_size, g->swap);
}

/* Finds the cut-up record of address k. False: work was refused. */
static bool place_find_cut(struct place_group *p, const struct ux_gsym *g, size_t k,
			   struct ux_work *work)
{
	size_t at = p->at[k];
	bool refused = false;
	p->cut[k] = NULL;
	uint64_t start = gsym_table_at(g->addrs, at, g->addr_size, g->swap);
	bool one = at == 0 || gsym_table_at(g->addrs, at - 1, g->addr_size, g->swap) != start;
	if (p->off[k] == UINT64_MAX || start > p->off[k] || !one)
		return true;
	p->off[k] -= start;
	p->cut[k] = gsym_index_find(g, at);
	if (!p->cut[k])
		p->cut[k] = gsym_index_cut_early(g, at, p->off[k], work, &refused);
	if (p->cut[k])
		__builtin_prefetch(p->cut[k]);
	return !refused;
}

/*
 * Prefetches the beginnings of records that will be cut up; the processor itself reads ahead after
 * them.
 */
static void place_prefetch_records(const struct place_group *p, const struct ux_gsym *g)
{
	size_t n = 0, at[GROUP];
	for (size_t k = 0; k < p->n; k++)
		if ((n == 0 || at[n - 1] != p->at[k]) && gsym_index_prefetch_record(g, p->at[k]))
			at[n++] = p->at[k];
	for (size_t k = 0; k < n; k++) {
		uint64_t off = gsym_offset_at(g, g->records, at[k]);
		if (off >= g->body.size)
			continue;
		const uint8_t *record = g->body.data + off;
		for (size_t line = 0; line < RECORD_LINES; line++)
			__builtin_prefetch(record + line * GSYM_CUT_LINE);
	}
}

static void place_prefetch_buckets(struct place_group *p)
{
	for (size_t k = 0; k < p->n; k++) {
		const struct gsym_cut *cut = p->cut[k];
		if (cut && cut->size != 0 && p->off[k] >= cut->size)
			cut = p->cut[k] = NULL;
		if (cut)
			__builtin_prefetch(gsym_cut_pair_at(cut, cut_bucket(cut, p->off[k])));
	}
}

static void place_read_buckets(struct place_group *p)
{
	for (size_t k = 0; k < p->n; k++) {
		const struct gsym_cut *cut = p->cut[k];
		if (!cut)
			continue;
		size_t bucket = cut_bucket(cut, p->off[k]);
		p->from[k] = cut_pair(cut, bucket);
		p->to[k] = cut_pair(cut, bucket + 1);
		__builtin_prefetch(gsym_cut_pair_at(cut, cut_span(cut, p->from[k].a)));
		__builtin_prefetch(gsym_cut_rows(cut) + p->from[k].b);
	}
}

static void place_search_spans_and_rows(struct place_group *p)
{
	for (size_t k = 0; k < p->n; k++) {
		const struct gsym_cut *cut = p->cut[k];
		if (!cut)
			continue;
		p->node[k] = cut_find_node(cut, p->off[k], p->from[k].a, p->to[k].a);
		p->row[k] = cut_find_stored_row(cut, p->off[k], p->from[k].b, p->to[k].b);
		__builtin_prefetch(gsym_cut_nodes(cut) + p->node[k]); /* ux_gsym_place_call() */
		if (!p->row[k])
			continue;
		const uint8_t *line = cut->lines + cut->lines_size - p->row[k]->left;
		__builtin_prefetch(line);
		__builtin_prefetch(line + NEAR);
	}
}

/* False: work was refused. */
static bool place_find_group(struct place_group *p, const struct ux_gsym *g, struct ux_work *work,
			     struct ux_gsym_place *places)
{
	place_search_functions(p, g);
	for (size_t k = 0; k < p->n; k++)
		gsym_index_prefetch(g, p->at[k]);
	place_prefetch_records(p, g);
	for (size_t k = 0; k < p->n; k++)
		if (!place_find_cut(p, g, k, work))
			return false;
	place_prefetch_buckets(p);
	place_read_buckets(p);
	place_search_spans_and_rows(p);
	for (size_t k = 0; k < p->n; k++) {
		const struct gsym_cut *cut = p->cut[k];
		places[k] = (struct ux_gsym_place){.cut = cut, .offset = p->off[k]};
		if (!cut)
			continue;
		places[k].node = cut->first + p->node[k];
		cut_read_row(cut, g->swap, p->row[k], p->off[k], &places[k].file, &places[k].line);
	}
	return true;
}

bool ux_gsym_places_find(const struct ux_gsym *g, const uint64_t *pcs, size_t n,
			 struct ux_work *work, struct ux_gsym_place *places)
{
	if (!g->index || g->n_functions == 0) {
		memset(places, 0, n * sizeof(*places));
		return true;
	}
	gsym_index_note(g, n);
	struct place_group p = {0};
	for (size_t i = 0; i < n; i += GROUP) {
		p.n = ux_min(n - i, (size_t)GROUP);
		for (size_t k = 0; k < p.n; k++)
			p.off[k] = pcs[i + k] < g->base ? UINT64_MAX : pcs[i + k] - g->base;
		if (!place_find_group(&p, g, work, places + i))
			return false;
	}
	return true;
}

bool ux_gsym_place_caller(const struct ux_gsym_place *place, uint32_t node, uint32_t *ret)
{
	const struct gsym_cut *cut = place->cut;
	uint32_t at = node - cut->first;
	if (at <= GSYM_INNERMOST_ROOT)
		return false;
	*ret = cut->first + gsym_cut_nodes(cut)[at].parent;
	return true;
}

void ux_gsym_place_prefetch_call(const struct ux_gsym_place *place, uint32_t node)
{
	const struct gsym_cut *cut = place->cut;
	uint32_t at = node - cut->first;
	if (at > GSYM_INNERMOST_ROOT)
		__builtin_prefetch(cut->tree + gsym_cut_nodes(cut)[at].pos);
}

bool ux_gsym_place_call(const struct ux_gsym *g, const struct ux_gsym_place *place, uint32_t node,
			struct ux_gsym_call *ret)
{
	const struct gsym_cut *cut = place->cut;
	bool good = gsym_call_read(g, cut_tree(cut, g->swap), gsym_cut_nodes(cut),
				   node - cut->first, cut->name, ret);
	ret->caller += ret->inlined ? cut->first : 0;
	return good;
}
