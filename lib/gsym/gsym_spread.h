/* SPDX-License-Identifier: Apache-2.0 */
/* Which node of a function's tree is the innermost at each of several addresses. */
#ifndef UX_GSYM_SPREAD_H
#define UX_GSYM_SPREAD_H

#include "cursor.h"
#include "gsym_reader.h"

/* Nodes that stand for no frame of their own. */
enum {
	GSYM_SPREAD_OUTSIDE, /* in the function, as far as the tree knows */
	GSYM_SPREAD_ROOT,    /* the function's own node */
};

/* A node of the tree that holds some of the addresses. */
struct gsym_spread_node {
	uint32_t parent;
	uint32_t depth; /* frames of an address whose innermost node this is */
	uint32_t name;
	uint32_t file; /* of the call, in the parent */
	uint32_t line;
	uint32_t lo, hi; /* addresses that it holds are among these */
	uint32_t left;   /* how many no child holds, as far as children were read */
	uint64_t start;  /* of the first range */
};

/* The caller's arrays. */
struct gsym_spread {
	const uint64_t *off; /* from the function's start; strictly ascending */
	uint32_t *node;      /* set: the innermost of each */
	size_t n;
	struct gsym_spread_node *nodes; /* set: those up to n_nodes */
	size_t most;                    /* room in nodes, at least 3 */
	size_t n_nodes;
	unsigned offset_size; /* of names in the block */
	bool far;             /* set: a name does not fit 32 bits */
	uint64_t steps;       /* how often an address may be looked at, all nodes together */
};

/*
 * Reads an inline block once. False when it is damaged, too deep, too much for nodes or steps, or
 * has a name behind the first 4 GiB of strings.
 * Answers are those of ux_gsym_lookup(): of siblings that hold an address the first has it.
 */
bool gsym_spread_read(struct gsym_spread *s, struct ux_cur block) ux_must;

#endif
