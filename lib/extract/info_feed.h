/* SPDX-License-Identifier: Apache-2.0 */
/* Units of a streamed .debug_info, a wave at a time: one is read while the next is inflated. */
#ifndef UX_INFO_FEED_H
#define UX_INFO_FEED_H

#include "dwarf_unit.h"
#include "section_content.h"

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
