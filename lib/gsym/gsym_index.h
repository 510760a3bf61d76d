/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a GSYM's large records, as lookups use it. */
#ifndef UX_GSYM_INDEX_H
#define UX_GSYM_INDEX_H

#include "gsym_record.h"
#include "gsym_tree.h"

/*
 * A cut-up record. Between two consecutive range boundaries of a tree the innermost call is the
 * same, so it is computed for each boundary and stored where it changes: a span. Of a line table, a
 * row is stored every 64 bytes. All offsets are relative to the function's start. Names, files and
 * lines of calls are read from the record. Immutable.
 */
struct gsym_cut;

/*
 * Returns the cut-up record of function i, or NULL while there is none. In an index that grows
 * this counts how often the record is requested, and cuts it up when that pays and memory
 * suffices. Any thread.
 */
const struct gsym_cut *gsym_index_cut(const struct ux_gsym *g, size_t i,
				      const struct gsym_record *r);

/* The size of the record's line table and tree in bytes. */
size_t gsym_cut_size(const struct gsym_cut *cut);

/* Returns the cut-up record of function i if there is one already. */
const struct gsym_cut *gsym_index_find(const struct ux_gsym *g, size_t i);

/*
 * Writes the frames at off bytes from the function's start, with the same results as
 * ux_gsym_lookup(). `name` is that of the function. False when a name in it is past the string
 * table.
 */
bool gsym_cut_frames(const struct gsym_cut *cut, const struct ux_gsym *g, uint64_t name,
		     uint64_t off, struct ux_frame *frames, size_t max, size_t *ret_n) ux_must;

#endif
