/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls of one parent that claim the same addresses. */
#include "inline_overlap.h"

#define NO_SIBLING UINT32_MAX

static void take(uint64_t *steps, uint64_t n)
{
	*steps -= ux_min(*steps, n);
}

static bool touches(const struct ux_gsym_range_vec *ranges, const struct ux_gsym_inline *a,
		    const struct ux_gsym_inline *b)
{
	const struct ux_gsym_range *r = ranges->data;
	return r[a->range_first].lo < r[b->range_first + b->range_count - 1].hi &&
	       r[b->range_first].lo < r[a->range_first + a->range_count - 1].hi;
}

/* Appends what of `from` lies outside the ranges of `taken`. */
static bool append_rest(struct ux_gsym_range_vec *ranges, struct ux_gsym_range from,
			const struct ux_gsym_inline *taken)
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
static bool subtract(struct ux_gsym_range_vec *ranges, struct ux_gsym_inline *node,
		     const struct ux_gsym_inline *taken)
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
static bool subtract_tree(struct ux_gsym_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
			  size_t sibling, size_t now, uint64_t *steps)
{
	const struct ux_gsym_inline *node = &nodes->data[now];
	uint32_t depth = nodes->data[sibling].depth;
	for (size_t i = sibling; i < now && (i == sibling || nodes->data[i].depth > depth); i++) {
		struct ux_gsym_inline *before = &nodes->data[i];
		take(steps, 1 + before->range_count);
		if (before->range_count > 0 && touches(ranges, before, node) &&
		    !subtract(ranges, before, node))
			return false;
	}
	return true;
}

/* True when the two share an address; both are sorted. */
static bool overlap(const struct ux_gsym_range_vec *ranges, const struct ux_gsym_inline *a,
		    const struct ux_gsym_inline *b, uint64_t *steps)
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

/* Takes what node number `now` claims from its earlier siblings, which `before` links. */
static bool settle_one(struct ux_gsym_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
		       const uint32_t *before, size_t now, uint64_t *steps)
{
	for (uint32_t i = before[now]; i != NO_SIBLING && *steps > 0; i = before[i]) {
		const struct ux_gsym_inline *node = &nodes->data[now], *sibling = &nodes->data[i];
		take(steps, 1);
		if (sibling->range_count > 0 && node->range_count > 0 &&
		    touches(ranges, sibling, node) && overlap(ranges, sibling, node, steps) &&
		    !subtract_tree(nodes, ranges, i, now, steps))
			return false;
	}
	return true;
}

/* before[i] is the sibling in front of node i, or NO_SIBLING; last[d] serves as the open path. */
static void link_siblings(const struct ux_gsym_inline_vec *nodes, uint32_t *before, uint32_t *last)
{
	uint32_t depth = 0; /* last[1..depth] are the newest of the open path's levels */
	for (size_t i = 0; i < nodes->size; i++) {
		uint32_t d = nodes->data[i].depth;
		before[i] = d <= depth ? last[d] : NO_SIBLING;
		last[d] = (uint32_t)i;
		depth = d;
	}
}

static bool settle(struct ux_gsym_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
		   uint64_t *steps)
{
	uint32_t deepest = 0;
	for (size_t i = 0; i < nodes->size; i++)
		deepest = ux_max(deepest, nodes->data[i].depth);
	ux_cleanup(ux_free_ptr) uint32_t *links =
		malloc((nodes->size + deepest + 1) * sizeof(*links));
	if (!links)
		return false;
	link_siblings(nodes, links, links + nodes->size);
	for (size_t i = 0; i<nodes->size && * steps> 0; i++)
		if (!settle_one(nodes, ranges, links, i, steps))
			return false;
	return true;
}

bool ux_inline_overlap_settle(struct ux_gsym_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
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
