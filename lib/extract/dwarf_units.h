/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF as a source of code: its units, where a skeleton unit is replaced by the split unit it
 * refers to. */
#ifndef UX_DWARF_UNITS_H
#define UX_DWARF_UNITS_H

#include "address_filter.h"
#include "collect.h"
#include "dwarf_unit.h"
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

/* Units of a streamed .debug_info, a wave at a time: one is read while the next is inflated. */

/* Zeroed is closed. */
struct ux_info_feed {
	struct ux_section_window *stream; /* the caller's */
	const struct ux_dwarf_sections *sections;
	struct ux_dwarf_headers headers;
	uint64_t each;                /* bytes of a wave */
	uint64_t limit;               /* units that begin in front of it have come */
	struct ux_dwarf_units units;  /* those that are read now */
	struct ux_dwarf_units coming; /* those that are read next */
};

/* Waves depend on the section's size alone: a unit is in the one it begins in. */
void ux_info_feed_open(struct ux_info_feed *feed, struct ux_section_window *stream,
		       const struct ux_dwarf_sections *sections, uint64_t each);
void ux_info_feed_close(struct ux_info_feed *feed);

/* Makes the next wave's units come, with all of their bytes; none when the section is at its end.
 * One thread, while others read the units there are. UX_ECORRUPT: the section is damaged. */
enum ux_code ux_info_feed_next(struct ux_info_feed *feed, struct ux_error *err) ux_must;

/* Releases the units that were read and goes on to the next wave; false when there is none. No
 * thread may read units during the call. */
bool ux_info_feed_advance(struct ux_info_feed *feed);

#endif
