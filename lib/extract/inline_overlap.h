/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls of one parent that claim the same addresses. */
#ifndef UX_INLINE_OVERLAP_H
#define UX_INLINE_OVERLAP_H

#include "gsym_encode.h"
#include "vec.h"

UX_VEC(ux_gsym_range_vec, struct ux_gsym_range);

/*
 * Compilers let siblings overlap now and then. A GSYM lookup takes the first sibling that has the
 * address, debuggers the last one in the order of the DIEs; so what a later call claims is taken
 * from the earlier ones and from all that was inlined into those. Calls left with nothing are
 * removed. The steps it takes come off *steps, and where they are used up it stops: real functions
 * need a few, thousands of calls that all claim one address would need millions. False when memory
 * is short.
 */
bool ux_inline_overlap_settle(struct ux_code_inline_vec *nodes, struct ux_gsym_range_vec *ranges,
			      uint64_t *steps);

#endif
