/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a GSYM's large records, as lookups use it. */
#ifndef UX_GSYM_INDEX_H
#define UX_GSYM_INDEX_H

#include "gsym_record.h"
#include "gsym_tree.h"

/* An inlined call. Nodes 0 and 1 of each function are the function itself. */
struct gsym_index_node {
	uint32_t parent;
	uint32_t pos;   /* of its name in the tree; file and line of the call are behind it */
	uint32_t start; /* start of the first range */
};

/* A stored row, behind which reading of the line table can begin. */
struct gsym_index_row {
	uint32_t off;
	uint32_t file;
	uint32_t line;
	uint32_t left; /* bytes of the line table behind the row's opcode */
};

/*
 * A cut-up record. Between two consecutive range boundaries of a tree the innermost call is the
 * same, so it is computed for each boundary and stored where it changes: a span. Of a line table, a
 * row is stored every 32 bytes. All offsets are relative to the function's start. Names, files and
 * lines of calls are read from the record. Immutable.
 */
struct gsym_cut {
	uint64_t name;               /* of the function */
	size_t bytes;                /* of all of it */
	uint32_t size;               /* of the function, 0 when unknown */
	uint32_t first;              /* number of node 0 among the nodes of the index */
	struct ux_bytes tree, lines; /* blocks of the record */
	int64_t line_min;            /* MinDelta */
	uint32_t line_range;
	uint32_t n_rows, n_nodes, n_spans;
	bool narrow; /* elements of spans have 16 bits, not 32 */
	/* what follows is in the same memory, behind the struct */
	const struct gsym_index_row *rows;
	const struct gsym_index_node *nodes;
	/* from span_offs[i] on, up to the next span, the innermost call is span_nodes[i] */
	const void *span_offs, *span_nodes;
};

/*
 * Returns the cut-up record of function i, or NULL while there is none. In an index that grows
 * this counts how often the record is requested, and cuts it up when that pays and memory
 * suffices. Any thread.
 */
const struct gsym_cut *gsym_index_cut(const struct ux_gsym *g, size_t i,
				      const struct gsym_record *r);

/*
 * Returns the cut-up record of function i, which extends beyond off bytes from its start, or NULL.
 * In an index that grows and that has been used for many addresses, the record is cut up at once.
 * That is charged to `work`; *ret_refused: it was refused. Any thread.
 */
const struct gsym_cut *gsym_index_cut_early(const struct ux_gsym *g, size_t i, uint64_t off,
					    struct ux_work *work, bool *ret_refused);

/* Prefetches what gsym_index_find() reads for function i. */
void gsym_index_expect(const struct ux_gsym *g, size_t i);

/* Notes that n more addresses are looked up in the index. */
void gsym_index_note(const struct ux_gsym *g, size_t n);

/* The size of the record's line table and tree in bytes. */
size_t gsym_cut_size(const struct gsym_cut *cut);

/* Returns the cut-up record of function i if there is one already. */
const struct gsym_cut *gsym_index_find(const struct ux_gsym *g, size_t i);

/* --- lookups in cut-up records ---------------------------------------------------------------- */

/*
 * Writes the frames at off bytes from the function's start, with the same results as
 * ux_gsym_lookup(). `name` is that of the function. False when a name in it is past the string
 * table.
 */
bool gsym_cut_frames(const struct gsym_cut *cut, const struct ux_gsym *g, uint64_t name,
		     uint64_t off, struct ux_frame *frames, size_t max, size_t *ret_n) ux_must;

#endif
