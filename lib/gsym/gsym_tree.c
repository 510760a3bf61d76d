/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of inlined calls: decoded into memory, counted, and looked up for many addresses in one
 * pass. */
#include "gsym_tree.h"

/*
 * Walks the whole block. Counts nodes and ranges into tree, and fills its arrays when they are not
 * NULL.
 */
static enum ux_code tree_read(const struct ux_gsym *g, struct ux_cur block,
			      struct ux_gsym_tree *tree, struct ux_error *err)
{
	struct gsym_inlines it;
	struct gsym_inlines_range range;
	struct gsym_inlines_node node;
	gsym_inlines_start(&it);
	tree->n_nodes = tree->n_ranges = 0;
	while (gsym_inlines_next(&it, &block, GSYM_INLINES_STRICT)) {
		size_t first = tree->n_ranges;
		if (it.n_ranges == 0)
			continue;
		while (gsym_inlines_range(&it, &block, &range, GSYM_INLINES_STRICT)) {
			uint32_t lo = (uint32_t)range.lo;
			if (tree->ranges)
				tree->ranges[tree->n_ranges] =
					(struct ux_gsym_range){lo, lo + (uint32_t)range.size};
			tree->n_ranges++;
		}
		gsym_inlines_node(&it, &block, g->offset_size, &node, GSYM_INLINES_STRICT);
		if (tree->nodes)
			tree->nodes[tree->n_nodes] =
				(struct ux_gsym_node){.name = node.name,
						      .call_file = node.file,
						      .call_line = node.line,
						      .depth = node.depth,
						      .range_first = (uint32_t)first,
						      .range_count = (uint32_t)it.n_ranges};
		tree->n_nodes++;
	}
	if (ux_cur_more(&block))
		ux_cur_bad(&block, "inline tree ends before its block");
	return ux_cur_status(&block, err);
}

enum ux_code ux_gsym_decode_inlines(const struct ux_gsym *g, struct ux_cur block,
				    struct ux_arena *arena, struct ux_gsym_tree *ret,
				    struct ux_error *err)
{
	struct ux_gsym_tree tree = {0};
	UX_TRY(tree_read(g, block, &tree, err));
	/*
	 * The counts are bounded: each node takes at least ten bytes of the block, each range two.
	 */
	tree.nodes = ux_arena_array(arena, struct ux_gsym_node, tree.n_nodes);
	tree.ranges = ux_arena_array(arena, struct ux_gsym_range, tree.n_ranges);
	if (!tree.nodes || !tree.ranges)
		return ux_arena_fail(arena, err);
	UX_TRY(tree_read(g, block, &tree, err));
	*ret = tree;
	return UX_OK;
}

enum ux_code gsym_decode_ranges(const struct ux_gsym *g, struct ux_cur block,
				struct ux_arena *arena, struct ux_gsym_tree *ret)
{
	struct ux_gsym_tree tree = {0};
	/* Each range takes at least two bytes of the block. */
	tree.ranges = ux_arena_array(arena, struct ux_gsym_range, ux_cur_left(&block) / 2 + 1);
	if (!tree.ranges)
		return ux_arena_fail(arena, NULL);
	UX_TRY(tree_read(g, block, &tree, NULL));
	*ret = tree;
	return UX_OK;
}

enum ux_code ux_gsym_count_inlines(const struct ux_gsym *g, struct ux_cur block, size_t *ret,
				   struct ux_error *err)
{
	struct ux_gsym_tree tree = {0};
	UX_TRY(tree_read(g, block, &tree, err));
	*ret = tree.n_nodes - 1;
	return UX_OK;
}

/*
 * Looking up several addresses in one pass over a tree: each node gets the addresses of its parent
 * that are in its own ranges and that no earlier sibling got. When there are none, its descendants
 * are skipped.
 */

/* Returns the first address of node `in` at or after start, or its hi. */
static size_t innermost_lower_bound(const struct gsym_innermost *s,
				    const struct gsym_innermost_node *in, uint64_t start)
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

/* Assigns the addresses in one range to node `self`, which is new. */
static void innermost_add_range(struct gsym_innermost *s, uint32_t self, uint64_t start,
				uint64_t size)
{
	struct gsym_innermost_node *node = &s->nodes[self];
	const struct gsym_innermost_node *from = &s->nodes[node->parent];
	if (from->lo == from->hi || s->off[from->hi - 1] < start)
		return;
	for (size_t i = innermost_lower_bound(s, from, start);
	     i < from->hi && s->off[i] - start < size; i++) {
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

/* Reads the node at which `it` is; true when it has children. */
static bool innermost_read_node(struct gsym_innermost *s, struct gsym_inlines *it, struct ux_cur *c,
				uint32_t self, uint32_t parent)
{
	struct gsym_inlines_range range;
	struct gsym_inlines_node read;
	struct gsym_innermost_node *node = &s->nodes[self];
	*node = (struct gsym_innermost_node){.parent = parent, .lo = UINT32_MAX};
	while (gsym_inlines_range(it, c, &range, GSYM_INLINES_LOOSE))
		innermost_add_range(s, self, range.lo, range.size);
	gsym_inlines_node(it, c, s->offset_size, &read, GSYM_INLINES_LOOSE);
	s->far |= read.name > UINT32_MAX;
	node->start = it->start;
	node->pos = (uint32_t)(read.name_pos - s->block);
	node->name = (uint32_t)read.name;
	node->file = read.file;
	node->line = read.line;
	node->depth = s->nodes[parent].depth + (parent != GSYM_INNERMOST_OUTSIDE);
	return read.has_children;
}

bool gsym_innermost_find(struct gsym_innermost *s, struct ux_cur block)
{
	assert(s->max >= 3);
	uint32_t n = (uint32_t)s->n, at = GSYM_INNERMOST_OUTSIDE, next = GSYM_INNERMOST_ROOT;
	size_t open = s->n; /* number of addresses that a later node may still get */
	struct gsym_inlines it;
	gsym_inlines_start(&it);
	s->block = block.pos;
	memset(s->node, 0, s->n * sizeof(s->node[0]));
	s->nodes[GSYM_INNERMOST_OUTSIDE] =
		(struct gsym_innermost_node){.depth = 1, .hi = n, .left = n};
	while (open > 0 && gsym_inlines_next(&it, &block, GSYM_INLINES_LOOSE)) {
		if (it.n_ranges == 0) { /* no more children of `at` */
			open -= s->nodes[at].left;
			at = s->nodes[at].parent;
		} else {
			bool has_children = innermost_read_node(s, &it, &block, next, at);
			uint32_t taken = s->nodes[next].left;
			s->nodes[at].left -= taken;
			if (taken > 0 && has_children)
				at = next;
			else if (has_children && at != GSYM_INNERMOST_OUTSIDE)
				gsym_inlines_skip(&it, &block, s->offset_size);
			else
				open -= taken;
			next += taken > 0;
		}
		if (at == GSYM_INNERMOST_OUTSIDE) /* the function's own node has no sibling */
			break;
		s->n_nodes = next;
		if (next == s->max || s->steps == 0 || s->far)
			return false;
	}
	s->n_nodes = next;
	return !block.failed && !s->far;
}
