/* SPDX-License-Identifier: Apache-2.0 */
/* Several addresses in one function: its line table and tree are read once for all of them. */
#ifndef UX_GSYM_RUN_H
#define UX_GSYM_RUN_H

#include "gsym_record.h"
#include "gsym_spread.h"

enum {
	GSYM_RUN_MOST = 256,        /* addresses; more are another run */
	GSYM_RUN_NODES_MOST = 4096, /* nodes that hold one of them */
};

/* Large: belongs on the heap. */
struct gsym_run {
	struct gsym_record record;
	size_t n;
	uint64_t off[GSYM_RUN_MOST]; /* from the function's start; strictly ascending */
	uint32_t file[GSYM_RUN_MOST];
	uint32_t line[GSYM_RUN_MOST];
	uint32_t node[GSYM_RUN_MOST]; /* the innermost */
	struct gsym_spread_node nodes[GSYM_RUN_NODES_MOST];
};

/*
 * With record, n > 0 and off filled in: finds row and node for each. False when the record is
 * damaged or its tree is too much for the arrays; a lookup one by one then has the answers, and
 * knows the damage.
 */
bool gsym_run_read(struct gsym_run *run, const struct ux_gsym *g) ux_must;

/* How many frames address i has. */
ux_inline size_t gsym_run_depth(const struct gsym_run *run, size_t i)
{
	return run->nodes[run->node[i]].depth;
}

/* Writes them, innermost first; false when one of its names is past its table. */
bool gsym_run_frames(const struct gsym_run *run, const struct ux_gsym *g, size_t i,
		     struct ux_frame *frames) ux_must;

#endif
