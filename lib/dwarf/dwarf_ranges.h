/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses a DIE covers, and which of them are code. */
#ifndef UX_DWARF_RANGES_H
#define UX_DWARF_RANGES_H

#include "code_range.h"
#include "dwarf_die.h"

enum {
	/* Entries of range lists that a unit may read for each of its own bytes. Thousands of DIEs
	 * that share one long list would otherwise cost the square of the input; with a section for
	 * each basic block real units come to 2. */
	UX_DWARF_RANGES_PER_BYTE = 4,
};

/*
 * Appends the DIE's ranges that are not empty and begin in text, in the producer's order, cut at
 * the end of their section. *entries, what the unit may still read, is counted down. UX_ECORRUPT
 * for a list that leaves its section, has an unknown entry or is no list; UX_ELIMIT when *entries
 * is used up: in both cases the ranges before that are appended all the same. UX_ENOMEM.
 */
enum ux_code ux_dwarf_die_ranges(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
				 const struct ux_range_set *text, uint64_t *entries,
				 struct ux_range_vec *out, struct ux_error *err) ux_must;

/*
 * Replaces what is in out by the ranges of the unit's own DIE (DWARF 5, 3.1.1), in any order, those
 * of dropped code among them; the unit has no code at an address outside of them. False when that
 * is unknown without reading the unit: it has neither ranges nor a low and a high pc, as of some
 * producers, or its list is damaged, or memory is short. Any thread.
 */
bool ux_dwarf_unit_ranges(const struct ux_dwarf_context *ctx, struct ux_range_vec *out) ux_must;

#endif
