/* SPDX-License-Identifier: Apache-2.0 */
/* The address ranges of a DIE, restricted to those that are code. */
#ifndef UX_DWARF_RANGES_H
#define UX_DWARF_RANGES_H

#include "code_range.h"
#include "dwarf_die.h"

enum {
	/*
	 * Budget of range list entries that a unit may read, for each of its own bytes. Without it,
	 * thousands of DIEs that share one long list would cost the square of the input's size.
	 * Real units with a section for each basic block need 2.
	 */
	UX_DWARF_RANGES_PER_BYTE = 4,
};

/*
 * Appends the DIE's ranges that are not empty and begin in text, in the producer's order, cut at
 * the end of their section. *entries is the unit's remaining budget and is decremented.
 * UX_ECORRUPT: the list exceeds its section, has an unknown entry or an invalid form. UX_ELIMIT:
 * *entries is used up. In both cases the ranges before that are appended nevertheless. UX_ENOMEM.
 */
enum ux_code ux_dwarf_die_ranges(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
				 const struct ux_range_set *text, uint64_t *entries,
				 struct ux_range_vec *out, struct ux_error *err) ux_must;

/*
 * Replaces the content of out by the ranges of the unit's own DIE (DWARF 5, 3.1.1), in any order,
 * including those of code that the linker dropped. The unit has no code outside of them. False when
 * they are unknown: the DIE has neither ranges nor low and high pc, as of some producers, or its
 * list is damaged, or memory is short. Any thread.
 */
bool ux_dwarf_unit_ranges(const struct ux_dwarf_context *ctx, struct ux_range_vec *out) ux_must;

#endif
