/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several addresses in one tree, which is walked in one pass: each node takes, of the addresses its
 * parent holds, those in its ranges that no earlier sibling took; where none is, what is below it
 * is passed over.
 */
#include "gsym_spread.h"

#include "gsym_record.h"

/* The first address of node `in` that is at or behind start, or hi. */
static size_t lower_bound(const struct gsym_spread *s, const struct gsym_spread_node *in,
			  uint64_t start)
{
	size_t at = in->lo;
	for (size_t left = in->hi - in->lo; left > 0;) {
		size_t half = left / 2;
		bool before = s->off[at + half] < start;
		at = before ? at + half + 1 : at;
		left = before ? left - half - 1 : half;
	}
	return at;
}

/* Gives one range's addresses to node `self`, which is new. */
static void take_range(struct gsym_spread *s, uint32_t self, uint64_t start, uint64_t size)
{
	struct gsym_spread_node *node = &s->nodes[self];
	const struct gsym_spread_node *from = &s->nodes[node->parent];
	if (from->lo == from->hi || s->off[from->hi - 1] < start)
		return;
	for (size_t i = lower_bound(s, from, start); i < from->hi && s->off[i] - start < size;
	     i++) {
		if (s->steps == 0)
			return;
		s->steps--;
		if (s->node[i] != node->parent)
			continue;
		s->node[i] = self;
		node->lo = ux_min(node->lo, (uint32_t)i);
		node->hi = ux_max(node->hi, (uint32_t)i + 1);
		node->left++;
	}
}

/* Reads one node of n > 0 ranges; true when it has children. */
static bool read_node(struct gsym_spread *s, struct ux_cur *c, uint64_t n, uint32_t self,
		      uint32_t parent)
{
	struct gsym_spread_node *node = &s->nodes[self];
	uint64_t base = s->nodes[parent].start;
	*node = (struct gsym_spread_node){.parent = parent, .lo = UINT32_MAX};
	for (uint64_t i = 0; i < n && ux_cur_more(c); i++) {
		uint64_t start = base + ux_cur_uleb(c);
		uint64_t size = ux_cur_uleb(c);
		if (i == 0)
			node->start = start;
		take_range(s, self, start, size);
	}
	bool has_children = ux_cur_u8(c) != 0;
	uint64_t name = gsym_name_read(c, s->offset_size);
	s->far |= name > UINT32_MAX;
	node->name = (uint32_t)name;
	node->file = (uint32_t)ux_cur_uleb(c);
	node->line = (uint32_t)ux_cur_uleb(c);
	node->depth = s->nodes[parent].depth + (parent != GSYM_SPREAD_OUTSIDE);
	return has_children;
}

bool gsym_spread_read(struct gsym_spread *s, struct ux_cur c)
{
	uint32_t n = (uint32_t)s->n, at = GSYM_SPREAD_OUTSIDE, next = GSYM_SPREAD_ROOT;
	size_t unsettled = s->n; /* addresses that a node not yet read may take */
	memset(s->node, 0, s->n * sizeof(s->node[0]));
	s->nodes[GSYM_SPREAD_OUTSIDE] = (struct gsym_spread_node){.depth = 1, .hi = n, .left = n};
	while (ux_cur_more(&c) && unsettled > 0) {
		uint64_t ranges = ux_cur_uleb(&c);
		if (ranges == 0) { /* no more children of `at` */
			unsettled -= s->nodes[at].left;
			at = s->nodes[at].parent;
		} else {
			bool has_children = read_node(s, &c, ranges, next, at);
			uint32_t taken = s->nodes[next].left;
			s->nodes[at].left -= taken;
			if (taken > 0 && has_children)
				at = next;
			else if (has_children && at != GSYM_SPREAD_OUTSIDE)
				gsym_list_skip(&c, s->offset_size);
			else
				unsettled -= taken;
			next += taken > 0;
		}
		if (at == GSYM_SPREAD_OUTSIDE) /* the function's own node has no sibling */
			break;
		if (next == s->most || s->steps == 0 || s->far ||
		    s->nodes[at].depth > UX_GSYM_DEPTH_MOST)
			return false;
	}
	s->n_nodes = next;
	return !c.failed && !s->far;
}
