/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the inlined calls of one range of a function to that range and to their parents. */
#include "unit_cutter.h"

/* --- siblings that do not overlap ------------------------------------------------------------- */

enum {
	APART_BITS = 64,
	APART_WORDS_FREE = 256, /* words of the map below: this many, plus some for each call */
	APART_WORDS_EACH = 16,
};

/* Sets the bits of a range; false when some are set already. */
ux_inline bool apart_take(uint64_t *map, struct ux_gsym_range r)
{
	uint64_t mask = UINT64_MAX << r.lo % APART_BITS;
	uint32_t at = r.lo / APART_BITS, last = (r.hi - 1) / APART_BITS;
	for (; at < last; at++, mask = UINT64_MAX) {
		if ((map[at] & mask) != 0)
			return false;
		map[at] |= mask;
	}
	mask &= UINT64_MAX >> (APART_BITS - 1 - (r.hi - 1) % APART_BITS);
	bool free = (map[at] & mask) == 0;
	map[at] |= mask;
	return free;
}

/*
 * Returns true when no two siblings overlap, in a piece of `size` bytes; false when some do, or
 * when it is unknown. Compilers write siblings in no particular order, but they hardly ever
 * overlap. Calls are cut to their parents: when these do not overlap, none at the next depth do but
 * siblings. So each depth has a map with a bit for each byte. Ranges that do not overlap need as
 * many steps as the maps have words, and the maps are small.
 */
static bool calls_are_apart(struct ux_unit_cutter *c, uint64_t size)
{
	const struct ux_code_inline *nodes = c->inlines.data;
	const uint64_t words = size / APART_BITS + 1;
	uint64_t depth = 1, max = APART_WORDS_FREE + APART_WORDS_EACH * (uint64_t)c->inlines.size;
	for (size_t i = 0; i < c->inlines.size; i++)
		depth = ux_max(depth, (uint64_t)nodes[i].depth);
	if (words > max / depth || !ux_word_vec_reserve(&c->maps, words * depth))
		return false;
	memset(c->maps.data, 0, words * depth * sizeof(*c->maps.data));
	for (size_t i = 0; i < c->inlines.size; i++) {
		const struct ux_gsym_range *r = c->ranges.data + nodes[i].range_first;
		uint64_t *map = c->maps.data + (nodes[i].depth - 1) * words;
		for (uint32_t k = 0; k < nodes[i].range_count; k++)
			if (!apart_take(map, r[k]))
				return false;
	}
	return true;
}

/* --- siblings that overlap -------------------------------------------------------------------- */

/*
 * The extent of a node. It nearly always shows that the node does not overlap a later sibling.
 * Extents form a stack: after a node and its earlier siblings come the extents of the node's
 * children.
 */
struct overlap_span {
	uint32_t lo; /* start and end of its ranges, before anything was subtracted */
	uint32_t hi;
	uint32_t depth;
	uint32_t node;
	size_t beyond; /* 1 + the index of the nearest earlier sibling that ends after this one; 0:
			  none. The siblings between them do not end after this one. */
	size_t before; /* 1 + the index of the nearest earlier sibling that starts before this one;
			  0: none. The siblings between them do not start before this one. */
};

static bool overlap_touches(const struct ux_gsym_range_vec *ranges, const struct ux_code_inline *a,
			    const struct ux_code_inline *b)
{
	const struct ux_gsym_range *r = ranges->data;
	return r[a->range_first].lo < r[b->range_first + b->range_count - 1].hi &&
	       r[b->range_first].lo < r[a->range_first + a->range_count - 1].hi;
}

/* Appends the parts of `from` that are outside of the ranges of `taken`. */
static bool overlap_append_rest(struct ux_gsym_range_vec *ranges, struct ux_gsym_range from,
				const struct ux_code_inline *taken)
{
	for (uint32_t i = 0; i < taken->range_count && from.lo < from.hi; i++) {
		struct ux_gsym_range cut = ranges->data[taken->range_first + i];
		if (cut.hi <= from.lo)
			continue;
		if (cut.lo >= from.hi)
			break;
		if (cut.lo > from.lo &&
		    !ux_gsym_range_vec_append(ranges, (struct ux_gsym_range){from.lo, cut.lo}))
			return false;
		from.lo = cut.hi;
	}
	return from.lo >= from.hi || ux_gsym_range_vec_append(ranges, from);
}

/* Subtracts the ranges of `taken` from the ranges of node. */
static bool overlap_subtract(struct ux_gsym_range_vec *ranges, struct ux_code_inline *node,
			     const struct ux_code_inline *taken)
{
	uint32_t first = (uint32_t)ranges->size;
	for (uint32_t i = 0; i < node->range_count; i++)
		if (!overlap_append_rest(ranges, ranges->data[node->range_first + i], taken))
			return false;
	node->range_first = first;
	node->range_count = (uint32_t)ranges->size - first;
	return true;
}

/*
 * Subtracts the ranges of node `now` from an earlier sibling and from all calls inlined into that.
 */
static bool overlap_subtract_tree(struct ux_code_inline_vec *nodes,
				  struct ux_gsym_range_vec *ranges, size_t sibling, size_t now,
				  struct ux_budget *steps)
{
	const struct ux_code_inline *node = &nodes->data[now];
	uint32_t depth = nodes->data[sibling].depth;
	for (size_t i = sibling; i < now && (i == sibling || nodes->data[i].depth > depth); i++) {
		struct ux_code_inline *before = &nodes->data[i];
		ux_budget_consume(steps, 1 + before->range_count);
		if (before->range_count > 0 && overlap_touches(ranges, before, node) &&
		    !overlap_subtract(ranges, before, node))
			return false;
	}
	return true;
}

/* Returns true when the two overlap. Their ranges are sorted. */
static bool overlap_exists(const struct ux_gsym_range_vec *ranges, const struct ux_code_inline *a,
			   const struct ux_code_inline *b, struct ux_budget *steps)
{
	const struct ux_gsym_range *x = ranges->data + a->range_first, *x_end = x + a->range_count;
	const struct ux_gsym_range *y = ranges->data + b->range_first, *y_end = y + b->range_count;
	while (x < x_end && y < y_end) {
		ux_budget_consume(steps, 1);
		if (x->hi <= y->lo)
			x++;
		else if (y->hi <= x->lo)
			y++;
		else
			return true;
	}
	return false;
}

/* Subtracts the ranges of the last of n spans from its earlier siblings. */
static bool overlap_resolve_one(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
				const struct overlap_span *spans, size_t n, struct ux_budget *steps)
{
	const struct overlap_span own = spans[n - 1];
	const struct ux_code_inline *node = &nodes->data[own.node];
	for (size_t i = n - 1; i > 0 && steps->left > 0;) {
		const struct overlap_span *at = &spans[i - 1];
		if (at->depth != own.depth)
			break;
		ux_budget_consume(steps, 1);
		if (at->hi <= own.lo) {
			i = at->beyond;
			continue;
		}
		if (at->lo >= own.hi) {
			i = at->before;
			continue;
		}
		i--;
		const struct ux_code_inline *sibling = &nodes->data[at->node];
		if (sibling->range_count > 0 && overlap_touches(ranges, sibling, node) &&
		    overlap_exists(ranges, sibling, node, steps) &&
		    !overlap_subtract_tree(nodes, ranges, at->node, own.node, steps))
			return false;
	}
	return true;
}

/* Removes deeper spans from the stack of n spans, and pushes node i. Returns the new number of
 * spans. */
static size_t overlap_push(const struct ux_code_inline_vec *nodes,
			   const struct ux_gsym_range_vec *ranges, uint32_t i,
			   struct overlap_span *spans, size_t n)
{
	const struct ux_code_inline *node = &nodes->data[i];
	const struct ux_gsym_range *r = ranges->data + node->range_first;
	struct overlap_span own = {r[0].lo, r[node->range_count - 1].hi, node->depth, i, 0, 0};
	while (n > 0 && spans[n - 1].depth > own.depth)
		n--;
	if (n > 0 && spans[n - 1].depth == own.depth)
		own.beyond = own.before = n;
	while (own.beyond > 0 && spans[own.beyond - 1].hi <= own.hi)
		own.beyond = spans[own.beyond - 1].beyond;
	while (own.before > 0 && spans[own.before - 1].lo >= own.lo)
		own.before = spans[own.before - 1].before;
	spans[n] = own;
	return n + 1;
}

static bool overlap_resolve_all(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
				struct ux_budget *steps)
{
	ux_cleanup(ux_free_ptr) struct overlap_span *spans =
		malloc((nodes->size + 1) * sizeof(*spans));
	size_t n = 0;
	if (!spans)
		return false;
	for (size_t i = 0; i < nodes->size && steps->left > 0; i++) {
		n = overlap_push(nodes, ranges, (uint32_t)i, spans, n);
		if (!overlap_resolve_one(nodes, ranges, spans, n, steps))
			return false;
	}
	return true;
}

/*
 * Removes overlaps of siblings, which some compilers produce. A GSYM lookup uses the first sibling
 * that has the address, while debuggers use the last one in the order of the DIEs. So the ranges of
 * a later call are subtracted from the earlier siblings and from all calls inlined into those.
 * Calls without remaining ranges are removed. It stops when the budget is used up: real functions
 * need a few steps, but thousands of calls with the same address would need millions. Returns false
 * when memory is short.
 */
static bool overlap_resolve(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
			    struct ux_budget *steps)
{
	if (!overlap_resolve_all(nodes, ranges, steps))
		return false;
	size_t kept = 0;
	for (size_t i = 0; i < nodes->size; i++)
		if (nodes->data[i].range_count > 0)
			nodes->data[kept++] = nodes->data[i];
	nodes->size = kept;
	return true;
}

/* --- the calls of a range --------------------------------------------------------------------- */

static int calls_compare_ranges(const void *a, const void *b)
{
	const struct ux_gsym_range *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Sorts the ranges from `first` on, and joins ranges that overlap or touch. */
static void calls_normalize(struct ux_gsym_range_vec *ranges, size_t first)
{
	size_t n = ranges->size - first, kept = 0;
	struct ux_gsym_range *r = ranges->data + first;
	if (n < 2)
		return;
	for (size_t i = 1; i < n; i++) {
		if (r[i - 1].lo > r[i].lo) {
			qsort(r, n, sizeof(*r), calls_compare_ranges);
			break;
		}
	}
	for (size_t i = 1; i < n; i++) {
		if (r[i].lo <= r[kept].hi)
			r[kept].hi = ux_max(r[kept].hi, r[i].hi);
		else
			r[++kept] = r[i];
	}
	ranges->size = first + kept + 1;
}

/* Adds the parts of the DIE's ranges that lie in the piece [lo, hi). */
static bool calls_add_ranges(struct ux_unit_cutter *c, const struct ux_code_inline *node,
			     uint64_t lo, uint64_t hi)
{
	const struct ux_range *own = c->unit->ranges + node->range_first;
	for (uint32_t i = 0; i < node->range_count; i++) {
		uint64_t from = ux_max(own[i].lo, lo), to = ux_min(own[i].hi, hi);
		struct ux_gsym_range r = {(uint32_t)(from - lo), (uint32_t)(to - lo)};
		if (from < to && !ux_gsym_range_vec_append(&c->ranges, r))
			return false;
	}
	return true;
}

/* Adds the ranges of the calls inlined directly into `node`, which has no ranges itself, as its
 * own. */
static bool calls_add_children(struct ux_unit_cutter *c, const struct ux_code_inline *node,
			       const struct ux_code_inline *end, uint64_t lo, uint64_t hi)
{
	for (const struct ux_code_inline *child = node + 1;
	     child < end && child->depth > node->depth && ux_budget_charge(&c->left.steps, 1);
	     child++) {
		if (child->depth == node->depth + 1 && !calls_add_ranges(c, child, lo, hi))
			return false;
	}
	return true;
}

/* Cuts the ranges from `first` on to the parent's ranges, in one pass over both. Both are sorted
 * and disjoint. The result replaces the ranges. */
static bool calls_clip(struct ux_gsym_range_vec *ranges, uint32_t first,
		       const struct ux_code_inline *parent)
{
	uint32_t end = (uint32_t)ranges->size;
	uint32_t p = parent->range_first, p_end = p + parent->range_count;
	if (first == end)
		return true;
	while (p < p_end && ranges->data[p].hi <= ranges->data[first].lo)
		p++;
	if (p < p_end && ranges->data[p].lo <= ranges->data[first].lo &&
	    ranges->data[p].hi >= ranges->data[end - 1].hi)
		return true; /* all ranges lie in this one, so nothing is cut */
	for (uint32_t i = first; i < end && p < p_end;) {
		struct ux_gsym_range own = ranges->data[i], outer = ranges->data[p];
		struct ux_gsym_range both = {ux_max(own.lo, outer.lo), ux_min(own.hi, outer.hi)};
		if (both.lo < both.hi && !ux_gsym_range_vec_append(ranges, both))
			return false;
		if (own.hi < outer.hi)
			i++;
		else
			p++;
	}
	size_t kept = ranges->size - end;
	memmove(ranges->data + first, ranges->data + end, kept * sizeof(*ranges->data));
	ranges->size = first + kept;
	return true;
}

/* Most calls have one range, which lies in the piece and in one range of the parent: then nothing
 * is cut, and *ret is that range. False for all other calls. */
ux_inline bool calls_fit(const struct ux_unit_cutter *c, const struct ux_code_inline *node,
			 uint64_t lo, uint64_t hi, const struct ux_code_inline *parent,
			 struct ux_gsym_range *ret)
{
	if (node->range_count != 1)
		return false;
	const struct ux_range own = c->unit->ranges[node->range_first];
	if (own.lo < lo || own.hi > hi || own.lo >= own.hi)
		return false;
	*ret = (struct ux_gsym_range){(uint32_t)(own.lo - lo), (uint32_t)(own.hi - lo)};
	const struct ux_gsym_range *p = c->ranges.data + parent->range_first;
	const struct ux_gsym_range *end = p + parent->range_count;
	while (p < end && p->hi <= ret->lo)
		p++;
	return p < end && p->lo <= ret->lo && p->hi >= ret->hi;
}

/* Appends the ranges of one inlined call, cut to the piece and to its parent, to c->ranges. */
static bool calls_cut(struct ux_unit_cutter *c, const struct ux_code_inline *node,
		      const struct ux_code_inline *end, uint64_t lo, uint64_t hi,
		      const struct ux_code_inline *parent)
{
	uint32_t first = (uint32_t)c->ranges.size;
	struct ux_gsym_range whole;
	if (calls_fit(c, node, lo, hi, parent, &whole))
		return ux_gsym_range_vec_append(&c->ranges, whole);
	if (!calls_add_ranges(c, node, lo, hi) ||
	    (node->range_count == 0 && !calls_add_children(c, node, end, lo, hi)))
		return false;
	calls_normalize(&c->ranges, first);
	return calls_clip(&c->ranges, first, parent);
}

/* Adds one inlined call, for which there is room, to the piece [lo, hi). *ret_kept is false when no
 * part of it is there. */
static bool calls_add(struct ux_unit_cutter *c, const struct ux_code_inline *node,
		      const struct ux_code_inline *end, uint64_t lo, uint64_t hi, bool *ret_kept)
{
	c->open.size = ux_min(c->open.size, (size_t)node->depth);
	struct ux_open_call *parent = &c->open.data[c->open.size - 1];
	/* ranges[0] is the range of the function itself */
	const struct ux_code_inline function = {.range_first = 0, .range_count = 1};
	const struct ux_code_inline *outer =
		c->open.size > 1 ? &c->inlines.data[parent->index] : &function;
	uint32_t first = (uint32_t)c->ranges.size;
	*ret_kept = false;
	if (!calls_cut(c, node, end, lo, hi, outer))
		return false;
	if (c->ranges.size == first)
		return true;
	c->overlap |= c->ranges.data[first].lo < parent->children;
	parent->children = ux_max(parent->children, c->ranges.data[c->ranges.size - 1].hi);
	*ret_kept = true;
	uint32_t file = 0;
	if (!ux_unit_file_find(c, node->call_file, &file))
		return false;
	c->inlines.data[c->inlines.size++] = (struct ux_code_inline){
		.name = node->name,
		.call_file = file,
		.call_line = node->call_line,
		.depth = (uint32_t)c->open.size,
		.range_first = first,
		.range_count = (uint32_t)c->ranges.size - first,
	};
	struct ux_open_call open = {(uint32_t)c->inlines.size - 1, 0};
	return ux_open_call_vec_append(&c->open, open);
}

bool ux_unit_calls_cut(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		       uint64_t hi)
{
	c->inlines.size = c->ranges.size = c->open.size = 0;
	c->overlap = false;
	if (f->inline_count == 0)
		return true;
	const struct ux_code_inline *node = c->unit->inlines + f->inline_first;
	const struct ux_code_inline *end = node + f->inline_count;
	if (!ux_gsym_range_vec_append(&c->ranges, (struct ux_gsym_range){0, (uint32_t)(hi - lo)}) ||
	    !ux_open_call_vec_append(&c->open, (struct ux_open_call){0, 0}) ||
	    !ux_code_inline_vec_reserve(&c->inlines, f->inline_count))
		return false;
	while (node < end) {
		const struct ux_code_inline *now = node++;
		bool kept = false;
		if (!calls_add(c, now, end, lo, hi, &kept))
			return false;
		while (!kept && node < end && node->depth > now->depth)
			node++;
	}
	return !c->overlap || calls_are_apart(c, hi - lo) ||
	       overlap_resolve(&c->inlines, &c->ranges, &c->left.overlap);
}
