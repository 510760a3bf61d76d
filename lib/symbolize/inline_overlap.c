/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls of one parent that claim the same addresses. */
#include "inline_overlap.h"

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

/* Takes what node number `now` claims from those before it under the same parent. */
static bool settle_one(struct ux_gsym_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
		       size_t now, uint32_t *work)
{
	const struct ux_gsym_inline *node = &nodes->data[now];
	for (size_t i = now; i-- > 0 && nodes->data[i].depth >= node->depth;) {
		struct ux_gsym_inline *before = &nodes->data[i];
		if (++*work > UX_OVERLAP_WORK_MOST)
			return true;
		if (before->range_count > 0 && node->range_count > 0 &&
		    touches(ranges, before, node) && !subtract(ranges, before, node))
			return false;
	}
	return true;
}

bool ux_inline_overlap_settle(struct ux_gsym_inline_vec *nodes, struct ux_gsym_range_vec *ranges)
{
	uint32_t work = 0;
	for (size_t i = 0; i < nodes->size && work <= UX_OVERLAP_WORK_MOST; i++)
		if (!settle_one(nodes, ranges, i, &work))
			return false;
	size_t kept = 0;
	for (size_t i = 0; i < nodes->size; i++)
		if (nodes->data[i].range_count > 0)
			nodes->data[kept++] = nodes->data[i];
	nodes->size = kept;
	return true;
}
