/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF as a reader of code: its units, with what skeletons stand for. */
#ifndef UX_DWARF_UNITS_H
#define UX_DWARF_UNITS_H

#include "address_filter.h"
#include "collect.h"
#include "section_content.h"
#include "split_files.h"

/* What is read, and how. */
struct ux_dwarf_units_input {
	const struct ux_dwarf_sections *sections;
	struct ux_section_window *stream; /* fills .debug_info as it is read; NULL: it is there.
					  There is no split file then */
	const struct ux_range_set *text;  /* what lies outside is dropped */
	const struct ux_code_symbol_vec
		*symbols; /* settled; lines outside of functions are kept for them */
	const struct ux_split_files *split; /* finds what skeletons stand for; NULL: they are read
					       as they stand, which is for their lines */
	unsigned threads;
	const struct ux_address_filter
		*filter;   /* units without any of its addresses give nothing; NULL: all do */
	const char *spill; /* NULL: pieces go into memory; else onto the disk of that folder */
};

/*
 * Reads all units into *ret, whose notes are enum ux_split_outcome. The result does not depend on
 * the number of threads. Damage costs the unit it is in and is counted; fails for want of memory
 * only.
 */
enum ux_code ux_dwarf_units_collect(const struct ux_dwarf_units_input *input,
				    struct ux_collection *ret, struct ux_error *err) ux_must;

#endif
