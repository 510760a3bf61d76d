/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a GSYM's large records, as lookups use it. */
#ifndef UX_GSYM_INDEX_H
#define UX_GSYM_INDEX_H

#include "gsym_record.h"
#include "gsym_tree.h"

/* A stored row, after which reading of the line table can begin. */
struct gsym_index_row {
	uint32_t off;
	uint32_t file;
	uint32_t line;
	uint32_t left; /* bytes of the line table after the row's opcode */
};

enum {
	GSYM_CUT_LINE = 64 /* alignment, and size of the struct: a line of the cache */
};

/*
 * A cut-up record. Between two consecutive range boundaries of a tree the innermost call is the
 * same, so it is computed for each boundary and stored where it changes: a span. Of a line table, a
 * row is stored every 32 bytes. The function is divided into buckets of 2^shift bytes. Each bucket
 * stores where the search for the span and the row of an address begins, so that a lookup reads one
 * cache line of each array, and not all the lines that a binary search touches. All offsets are
 * relative to the function's start. Names, files and lines of calls are read from the record.
 * Immutable.
 *
 * The struct fills a cache line. It is followed in the same memory by:
 *   n_buckets + 1 pairs: the last span at or before the start of the bucket, and the number of
 *     stored rows there; the last pair has the span and the number at the end of the function
 *   n_spans pairs: from the offset a on, up to the next span, the innermost call is node b
 *   n_rows rows, n_nodes nodes
 */
struct gsym_cut {
	_Alignas(GSYM_CUT_LINE) const uint8_t *tree; /* blocks of the record */
	const uint8_t *lines;
	uint32_t tree_size, lines_size;
	uint32_t n_buckets, n_spans, n_rows, n_nodes;
	int32_t line_min; /* MinDelta */
	uint8_t line_range;
	uint8_t shift;
	bool narrow; /* see struct gsym_index_pair */
};

static_assert(sizeof(struct gsym_cut) == GSYM_CUT_LINE, "a lookup fetches one line of it");

ux_inline size_t gsym_cut_pair_bytes(const struct gsym_cut *cut)
{
	return cut->narrow ? 2 * sizeof(uint16_t) : sizeof(struct gsym_index_pair);
}

/* Returns the position of pair i: buckets are first, spans follow. */
ux_inline const void *gsym_cut_pair_at(const struct gsym_cut *cut, size_t i)
{
	return (const uint8_t *)(cut + 1) + i * gsym_cut_pair_bytes(cut);
}

ux_inline const struct gsym_index_row *gsym_cut_rows(const struct gsym_cut *cut)
{
	return gsym_cut_pair_at(cut, (size_t)cut->n_buckets + 1 + cut->n_spans);
}

ux_inline const struct gsym_index_node *gsym_cut_nodes(const struct gsym_cut *cut)
{
	return (const void *)(gsym_cut_rows(cut) + cut->n_rows);
}

/*
 * Returns the cut-up record of function i, or NULL if it is not cut up yet. In an index that grows
 * this counts how often the record is requested, and cuts it up when that pays and memory suffices.
 * Any thread.
 */
const struct gsym_cut *gsym_index_cut(const struct ux_gsym *g, size_t i,
				      const struct gsym_record *r);

/* Returns the size of the record's line table and tree in bytes. */
size_t gsym_cut_size(const struct gsym_cut *cut);

/* Returns the cut-up record of function i if there is one already. */
const struct gsym_cut *gsym_index_find(const struct ux_gsym *g, size_t i);

/* --- lookups in cut-up records ---------------------------------------------------------------- */

/*
 * Writes the frames at off bytes from the function's start, with the same results as
 * ux_gsym_lookup(). `name` is the function's name. False when a name in it is past the string
 * table.
 */
bool gsym_cut_frames(const struct gsym_cut *cut, const struct ux_gsym *g, uint64_t name,
		     uint64_t off, struct ux_frame *frames, size_t max, size_t *ret_n) ux_must;

#endif
