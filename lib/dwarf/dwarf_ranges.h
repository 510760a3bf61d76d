/* SPDX-License-Identifier: Apache-2.0 */
/* The address ranges of a DIE, restricted to code. */
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

/* Reads the ranges of one unit's DIEs. Everything in it is borrowed. */
struct ux_dwarf_range_reader {
	const struct ux_dwarf_context *ctx;
	const struct ux_range_set *text;
	const struct ux_range
		*section; /* the section of the last range; usually also of the next */
	uint64_t mask;    /* all ones of the address size */
	uint64_t entries; /* the unit's remaining budget of range list entries */
	struct ux_range_vec *out;
};

/* Begins a unit, with its whole budget. Its ranges are appended to out. */
void ux_dwarf_range_reader_init(struct ux_dwarf_range_reader *reader,
				const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
				struct ux_range_vec *out);

/*
 * Appends the DIE's ranges that are not empty and begin in text, in the producer's order, cut at
 * the end of their section. The entries of a list are charged to the reader's budget. UX_ECORRUPT:
 * the list exceeds its section, has an unknown entry or an invalid form. UX_ELIMIT: the budget is
 * used up. In both cases the ranges before the error are appended nevertheless. UX_ENOMEM.
 */
enum ux_code ux_dwarf_die_ranges(struct ux_dwarf_range_reader *reader,
				 const struct ux_dwarf_die *die, struct ux_error *err) ux_must;

/*
 * Replaces the content of out by the ranges of the unit's own DIE (DWARF 5, 3.1.1), in any order,
 * including ranges of code that the linker dropped. The unit has no code outside of them. False
 * when they are unknown: the DIE has neither ranges nor low and high pc (some producers write
 * none), or its list is damaged, or memory is short. Any thread.
 */
bool ux_dwarf_unit_ranges(const struct ux_dwarf_context *ctx, struct ux_range_vec *out) ux_must;

#endif
