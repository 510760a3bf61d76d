/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of inlined calls in a record: one iterator over its bytes, and the functions built on
 * it.
 */
#ifndef UX_GSYM_TREE_H
#define UX_GSYM_TREE_H

#include "arena.h"
#include "gsym_encode.h"
#include "gsym_record.h"

/* --- the walk --------------------------------------------------------------------------------- */

/*
 * How much of a tree is checked. Lookups read only what they need, possibly of files that were
 * never verified, and only check that they stay inside of the bytes. All other readers reject trees
 * that a writer must not write.
 */
enum gsym_inlines_check {
	GSYM_INLINES_LOOSE,  /* checks only bounds of memory and depth; a block may end between two
				nodes */
	GSYM_INLINES_STRICT, /* also checks that ranges, files and lines fit 32 bits, and that the
				tree is complete */
};

/* A range of a node, in bytes from the function's start. */
struct gsym_inlines_range {
	uint64_t lo;
	uint64_t size;
};

/* A node without its ranges. */
struct gsym_inlines_node {
	uint64_t name;
	uint32_t depth; /* 0: the function itself */
	uint32_t file;  /* file of the call, in the parent */
	uint32_t line;
	bool has_children;
	const uint8_t *name_pos; /* position of the name */
};

/*
 * An iterator over an inline block, in pre-order. After each gsym_inlines_next() the rest of the
 * node must be read: its ranges, then gsym_inlines_node(). Then gsym_inlines_skip() may skip its
 * children. Failures are latched in the cursor. Every reader of the tree uses this iterator, which
 * is inlined with constant arguments for its checks and its width of names. The exception is
 * gsym_spans_paint(), because its cost delays a server's first answers.
 */
struct gsym_inlines {
	uint64_t n_ranges; /* ranges of the node; 0: the step ended a list of siblings */
	uint64_t left;     /* ranges not yet read */
	uint64_t start;    /* start of the first range */
	uint32_t depth;    /* depth of the next node */
	bool done;
	uint64_t
		base[UX_GSYM_DEPTH_MAX + 2]; /* by depth: the address that ranges are relative to */
};

/* Initializes the iterator. `base` is not cleared, since only elements that were set are read. */
ux_inline void gsym_inlines_start(struct gsym_inlines *it)
{
	it->n_ranges = it->left = it->start = 0;
	it->depth = 0;
	it->done = false;
	it->base[0] = 0;
}

/*
 * Moves to the next node, or to the end of a list of siblings. False after the tree, or on failure.
 */
ux_inline bool gsym_inlines_next(struct gsym_inlines *it, struct ux_cur *c,
				 enum gsym_inlines_check check)
{
	if (it->done || (check == GSYM_INLINES_LOOSE && !ux_cur_more(c)))
		return false;
	it->n_ranges = it->left = ux_cur_uleb(c);
	if (it->n_ranges == 0) {
		if (check == GSYM_INLINES_STRICT && it->depth == 0)
			ux_cur_bad(c, "function itself has no range");
		it->depth -= it->depth > 0;
		it->done = it->depth == 0; /* the function's own node has no sibling */
	} else if (ux_unlikely(it->depth > UX_GSYM_DEPTH_MAX)) {
		ux_cur_bad(c, "inlined calls are more than 256 deep");
	}
	return !c->failed;
}

/* Reads the node's next range. False after the last one. */
ux_inline bool gsym_inlines_range(struct gsym_inlines *it, struct ux_cur *c,
				  struct gsym_inlines_range *ret, enum gsym_inlines_check check)
{
	if (it->left == 0 || !ux_cur_more(c))
		return false;
	uint64_t base = it->base[it->depth];
	uint64_t from = ux_cur_uleb(c);
	ret->lo = base + from;
	ret->size = ux_cur_uleb(c);
	if (check == GSYM_INLINES_STRICT &&
	    (from > UINT32_MAX - base || ret->size > UINT32_MAX - base - from))
		ux_cur_bad(c, "range of an inlined call exceeds 32 bits");
	if (it->left == it->n_ranges)
		it->start = ret->lo;
	it->left--;
	return true;
}

ux_inline uint32_t gsym_inlines_number(struct ux_cur *c, enum gsym_inlines_check check)
{
	uint64_t v = ux_cur_uleb(c);
	if (check == GSYM_INLINES_STRICT && v > UINT32_MAX)
		ux_cur_bad(c, "number does not fit 32 bits");
	return (uint32_t)v;
}

/* Reads the part of a node after its ranges. */
ux_inline void gsym_inlines_node(struct gsym_inlines *it, struct ux_cur *c, unsigned offset_size,
				 struct gsym_inlines_node *ret, enum gsym_inlines_check check)
{
	uint8_t has_children = ux_cur_u8(c);
	if (check == GSYM_INLINES_STRICT && has_children > 1)
		ux_cur_bad(c, "flag for children is not 0 or 1");
	ret->has_children = has_children != 0;
	ret->depth = it->depth;
	ret->name_pos = c->pos;
	ret->name = gsym_name_read(c, offset_size);
	ret->file = gsym_inlines_number(c, check);
	ret->line = gsym_inlines_number(c, check);
	if (ret->has_children)
		it->base[++it->depth] = it->start;
	else
		it->done = it->depth == 0;
}

/*
 * Skips all descendants of the last node, which has children. They may be nested to any depth,
 * since no state is kept for them.
 */
ux_inline void gsym_inlines_skip(struct gsym_inlines *it, struct ux_cur *c, unsigned offset_size)
{
	for (uint64_t open = 1; open > 0 && ux_cur_more(c);) {
		uint64_t n = ux_cur_uleb(c);
		if (n == 0) {
			open--;
			continue;
		}
		for (uint64_t i = 0; i < n && ux_cur_more(c); i++) {
			ux_cur_uleb(c);
			ux_cur_uleb(c);
		}
		open += ux_cur_u8(c) != 0;
		ux_cur_skip(c, offset_size);
		ux_cur_uleb(c);
		ux_cur_uleb(c);
	}
	it->done = --it->depth == 0;
}

/* --- a tree in memory ------------------------------------------------------------------------- */

/* struct ux_code_inline of a file that may have more than 4 GiB of strings. */
struct ux_gsym_node {
	uint64_t name;
	uint32_t call_file;
	uint32_t call_line;
	uint32_t depth;
	uint32_t range_first;
	uint32_t range_count;
};

/* A decoded inline block. */
struct ux_gsym_tree {
	struct ux_gsym_node *nodes; /* pre-order; the function itself is the first, at depth 0 */
	size_t n_nodes;
	struct ux_gsym_range *ranges; /* ranges of all nodes, from the function's start */
	size_t n_ranges;
};

/*
 * Decodes an inline block into the arena. UX_ECORRUPT also when a range exceeds 32 bits, calls are
 * nested deeper than UX_GSYM_DEPTH_MAX, or bytes follow the tree.
 */
enum ux_code ux_gsym_decode_inlines(const struct ux_gsym *g, struct ux_cur block,
				    struct ux_arena *arena, struct ux_gsym_tree *ret,
				    struct ux_error *err) ux_must;

/* Does the same without the nodes, which are only counted. It reads the block once, not twice. */
enum ux_code gsym_decode_ranges(const struct ux_gsym *g, struct ux_cur block,
				struct ux_arena *arena, struct ux_gsym_tree *ret) ux_must;

/* Counts the inlined calls of a block, with the same checks, but allocates nothing. */
enum ux_code ux_gsym_count_inlines(const struct ux_gsym *g, struct ux_cur block, size_t *ret,
				   struct ux_error *err) ux_must;

/* --- the innermost call at each of many addresses --------------------------------------------- */

/* Numbers of nodes that are not inlined calls. */
enum {
	GSYM_INNERMOST_OUTSIDE, /* the address is in the function, but in no range of its tree */
	GSYM_INNERMOST_ROOT,    /* the function's own node */
};

/* A node of the tree that contains some of the addresses. */
struct gsym_innermost_node {
	uint32_t parent;
	uint32_t depth; /* number of frames of an address with this innermost node */
	uint32_t name;
	uint32_t file; /* file of the call, in the parent */
	uint32_t line;
	uint32_t lo, hi; /* range of indexes of the addresses that it can contain */
	uint32_t left;   /* how many of them no child contains, of the children read so far */
	uint32_t pos;    /* position of the name, from the start of the block */
	uint64_t start;  /* start of the first range */
};

/* A search for the innermost nodes. The caller owns the arrays. */
struct gsym_innermost {
	const uint64_t *off; /* from the function's start; strictly ascending */
	uint32_t *node;      /* result: the innermost node of each address */
	size_t n;
	struct gsym_innermost_node *nodes; /* result: n_nodes nodes; `max` of them means too many */
	size_t max;                        /* room in nodes, at least 3 */
	size_t n_nodes;
	const uint8_t *block; /* start of the block */
	unsigned offset_size; /* size of names' offsets in the block */
	bool far;             /* result: a name does not fit 32 bits */
	uint64_t steps;       /* budget of comparisons with addresses, for all nodes together */
};

/*
 * Finds the innermost node of each address while reading an inline block once. False when the block
 * is damaged, too deep, exceeds the room in nodes or the budget of steps, or has a name after the
 * first 4 GiB of strings. Results are the same as of ux_gsym_lookup(): when several siblings
 * contain an address, the first is used.
 */
bool gsym_innermost_find(struct gsym_innermost *s, struct ux_cur block) ux_must;

/* --- the innermost call at each address (gsym_spans.c) ---------------------------------------- */

/* An inlined call. Nodes 0 and 1 of each function are the function itself. */
struct gsym_index_node {
	uint32_t parent;
	uint32_t pos;   /* position of its name in the tree; file and line of the call follow it */
	uint32_t start; /* start of the first range */
};

/* Two numbers, which have 16 bits each in a narrow record. */
struct gsym_index_pair {
	uint32_t a, b;
};

/*
 * The spans of a tree: from one boundary of a range to the next the innermost call is the same.
 * Numbers of nodes ascend in pre-order; a node that owns no byte of its parent has no number.
 */
struct gsym_spans {
	/* pairs (a, b): from offset a to the next pair, node b is innermost; the first offset is
	 * 0 */
	struct gsym_index_pair *list;
	size_t n;
	struct gsym_index_node *nodes;
	size_t n_nodes;
};

/*
 * Finds the spans, with the same results as ux_gsym_lookup(). All arrays are in the arena.
 * UX_ENOMEM; any other code: the tree is damaged, or too large to be worth it.
 */
enum ux_code gsym_spans_find(const struct ux_gsym *g, struct ux_cur block, struct ux_arena *arena,
			     struct gsym_spans *ret) ux_must;

/*
 * The two ways to find the spans. The first reads the tree once, and is for functions of up to 1
 * MiB with calls that lie in them; if it returns any code but UX_OK and UX_ENOMEM, use the second.
 */
enum ux_code gsym_spans_paint(const struct ux_gsym *g, struct ux_cur block, struct ux_arena *arena,
			      struct gsym_spans *ret) ux_must;
enum ux_code gsym_spans_search(const struct ux_gsym *g, struct ux_cur block, struct ux_arena *arena,
			       struct gsym_spans *ret) ux_must;

#endif
