/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls of one parent that claim the same addresses. */
#include "inline_overlap.h"

/*
 * What is to be known of a node to see that it shares nothing with a later sibling; nearly always
 * that is all that is looked at. They make a stack: behind a node and the siblings in front of it
 * come those of its children.
 */
struct place {
	uint32_t lo; /* where its ranges begin and end, before anything is taken from them */
	uint32_t hi;
	uint32_t reach; /* how far it and the siblings in front of it go */
	uint32_t depth;
	uint32_t node;
};

static void take(uint64_t *steps, uint64_t n)
{
	*steps -= ux_min(*steps, n);
}

static bool touches(const struct ux_gsym_range_vec *ranges, const struct ux_code_inline *a,
		    const struct ux_code_inline *b)
{
	const struct ux_gsym_range *r = ranges->data;
	return r[a->range_first].lo < r[b->range_first + b->range_count - 1].hi &&
	       r[b->range_first].lo < r[a->range_first + a->range_count - 1].hi;
}

/* Appends what of `from` lies outside the ranges of `taken`. */
static bool append_rest(struct ux_gsym_range_vec *ranges, struct ux_gsym_range from,
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

/* Takes the ranges of `taken` away from node. */
static bool subtract(struct ux_gsym_range_vec *ranges, struct ux_code_inline *node,
		     const struct ux_code_inline *taken)
{
	uint32_t first = (uint32_t)ranges->size;
	for (uint32_t i = 0; i < node->range_count; i++)
		if (!append_rest(ranges, ranges->data[node->range_first + i], taken))
			return false;
	node->range_first = first;
	node->range_count = (uint32_t)ranges->size - first;
	return true;
}

/* Takes what `node` claims from an earlier sibling and from all that was inlined into that. */
static bool subtract_tree(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
			  size_t sibling, size_t now, uint64_t *steps)
{
	const struct ux_code_inline *node = &nodes->data[now];
	uint32_t depth = nodes->data[sibling].depth;
	for (size_t i = sibling; i < now && (i == sibling || nodes->data[i].depth > depth); i++) {
		struct ux_code_inline *before = &nodes->data[i];
		take(steps, 1 + before->range_count);
		if (before->range_count > 0 && touches(ranges, before, node) &&
		    !subtract(ranges, before, node))
			return false;
	}
	return true;
}

/* True when the two share an address; both are sorted. */
static bool overlap(const struct ux_gsym_range_vec *ranges, const struct ux_code_inline *a,
		    const struct ux_code_inline *b, uint64_t *steps)
{
	const struct ux_gsym_range *x = ranges->data + a->range_first, *x_end = x + a->range_count;
	const struct ux_gsym_range *y = ranges->data + b->range_first, *y_end = y + b->range_count;
	while (x < x_end && y < y_end) {
		take(steps, 1);
		if (x->hi <= y->lo)
			x++;
		else if (y->hi <= x->lo)
			y++;
		else
			return true;
	}
	return false;
}

/* Takes what the last of n places claims from its earlier siblings. */
static bool settle_one(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
		       const struct place *places, size_t n, uint64_t *steps)
{
	const struct place own = places[n - 1];
	const struct ux_code_inline *node = &nodes->data[own.node];
	for (size_t i = n - 1; i-- > 0 && *steps > 0;) {
		const struct place *at = &places[i];
		if (at->depth != own.depth || at->reach <= own.lo)
			break;
		take(steps, 1);
		if (at->lo >= own.hi || at->hi <= own.lo)
			continue;
		const struct ux_code_inline *sibling = &nodes->data[at->node];
		if (sibling->range_count > 0 && touches(ranges, sibling, node) &&
		    overlap(ranges, sibling, node, steps) &&
		    !subtract_tree(nodes, ranges, at->node, own.node, steps))
			return false;
	}
	return true;
}

/* Puts node number i on the stack of n places, of which it ends those that are deeper; returns how
 * many there are then. */
static size_t put_place(const struct ux_code_inline_vec *nodes,
			const struct ux_gsym_range_vec *ranges, uint32_t i, struct place *places,
			size_t n)
{
	const struct ux_code_inline *node = &nodes->data[i];
	const struct ux_gsym_range *r = ranges->data + node->range_first;
	struct place own = {r[0].lo, r[node->range_count - 1].hi, 0, node->depth, i};
	while (n > 0 && places[n - 1].depth > own.depth)
		n--;
	bool first = n == 0 || places[n - 1].depth < own.depth;
	own.reach = first ? own.hi : ux_max(own.hi, places[n - 1].reach);
	places[n] = own;
	return n + 1;
}

static bool settle(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
		   uint64_t *steps)
{
	ux_cleanup(ux_free_ptr) struct place *places = malloc((nodes->size + 1) * sizeof(*places));
	size_t n = 0;
	if (!places)
		return false;
	for (size_t i = 0; i<nodes->size && * steps> 0; i++) {
		n = put_place(nodes, ranges, (uint32_t)i, places, n);
		if (!settle_one(nodes, ranges, places, n, steps))
			return false;
	}
	return true;
}

bool ux_inline_overlap_settle(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
			      uint64_t *steps)
{
	if (!settle(nodes, ranges, steps))
		return false;
	size_t kept = 0;
	for (size_t i = 0; i < nodes->size; i++)
		if (nodes->data[i].range_count > 0)
			nodes->data[kept++] = nodes->data[i];
	nodes->size = kept;
	return true;
}
