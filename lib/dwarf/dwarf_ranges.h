/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses a DIE covers, and which of them are code. */
#ifndef UX_DWARF_RANGES_H
#define UX_DWARF_RANGES_H

#include "dwarf_unit.h"
#include "vec.h"

/* Half-open, pcs. */
struct ux_dwarf_range {
	uint64_t lo;
	uint64_t hi;
};

UX_VEC(ux_dwarf_range_vec, struct ux_dwarf_range);

enum {
	UX_DWARF_RANGES_MOST = 1u << 20
}; /* of one DIE */

/*
 * The module's executable sections: sorted, disjoint. What begins outside of them is no code: the
 * linker dropped it and left 0, 1, -1 or -2 where its address was. Deciding by section and not by
 * value keeps a module alive that really has code at 0.
 */
struct ux_dwarf_text {
	const struct ux_dwarf_range *list;
	size_t count;
};

/* The section of the text that pc lies in, or NULL. */
const struct ux_dwarf_range *ux_dwarf_text_find(const struct ux_dwarf_text *text, uint64_t pc);

/*
 * Appends the DIE's ranges that are not empty and begin in text, in the producer's order, cut at
 * the end of their section. UX_ECORRUPT for a list that leaves its section or has an unknown entry:
 * the ranges before that are appended all the same. UX_ENOMEM.
 */
enum ux_code ux_dwarf_die_ranges(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
				 const struct ux_dwarf_text *text, struct ux_dwarf_range_vec *out,
				 struct ux_error *err) ux_must;

#endif
