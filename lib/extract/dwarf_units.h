/* SPDX-License-Identifier: Apache-2.0 */
/* DWARF as a source of code: its units, where a skeleton unit is replaced by the split unit it
 * refers to. */
#ifndef UX_DWARF_UNITS_H
#define UX_DWARF_UNITS_H

#include "address_filter.h"
#include "collect.h"
#include "dwarf_unit.h"
#include "dwo_files.h"
#include "extract.h"
#include "section_content.h"
#include "wave_queue.h"

/* Reads a compressed .debug_info in waves: the units of some waves are read while the next one is
 * inflated. */

struct ux_info_wave {
	uint32_t first;              /* index of the first unit */
	struct ux_dwarf_units units; /* empty: the section has ended */
};

/* A zeroed struct is closed. */
struct ux_info_feed {
	struct ux_section_window *stream; /* owned by the caller */
	const struct ux_dwarf_sections *sections;
	struct ux_dwarf_headers headers;
	uint64_t each;
	uint64_t limit; /* end of the wave that was inflated last; a unit belongs to the wave it
			   begins in */
	struct ux_info_wave waves[UX_WAVES_MAX + 1]; /* one more for the end */
	size_t n_waves;                              /* waves that were inflated */
	size_t n_given; /* waves that ux_info_feed_next() has returned */
};

/* `each` is the size of a wave in bytes, from ux_collect_wave_bytes(). The limits of waves depend
 * only on the section's size. */
void ux_info_feed_open(struct ux_info_feed *feed, struct ux_section_window *stream,
		       const struct ux_dwarf_sections *sections, uint64_t each);
void ux_info_feed_close(struct ux_info_feed *feed);

/* Begins at the start of the section again. */
void ux_info_feed_rewind(struct ux_info_feed *feed);

/* Inflates the units of one more wave completely, ahead of ux_info_feed_next(); does nothing at the
 * end of the section. UX_ECORRUPT: the section is damaged. */
enum ux_code ux_info_feed_fill(struct ux_info_feed *feed, struct ux_error *err) ux_must;

/* Returns true when the whole section has been inflated. */
bool ux_info_feed_ended(const struct ux_info_feed *feed);

/*
 * Gives the next wave; *ret_n is the number of its units, 0 at the end. Units below number n_read
 * are not read any more, and lose their memory. One thread may call this while others read units of
 * earlier waves. Codes of ux_info_feed_fill().
 */
enum ux_code ux_info_feed_next(struct ux_info_feed *feed, uint32_t n_read, uint32_t *ret_n,
			       struct ux_error *err) ux_must;

/*
 * The units that can be read before symbols are known: all headers, or the first waves of a stream.
 * A zeroed struct is empty.
 */
struct ux_dwarf_units_ahead {
	bool made;
	struct ux_dwarf_units whole;
	struct ux_info_feed feed;
};

/*
 * sections must outlive the units, and .debug_info and the size of .debug_abbrev must be known.
 * stream is as in ux_dwarf_units_input. Waves are inflated until go_on() returns false, but at
 * least one, and only as many as memory allows. Free *ret also after a failure.
 */
enum ux_code ux_dwarf_units_read_ahead(const struct ux_dwarf_sections *sections,
				       struct ux_section_window *stream,
				       bool (*go_on)(const void *ctx), const void *ctx,
				       struct ux_dwarf_units_ahead *ret, struct ux_error *err)
	ux_must;
void ux_dwarf_units_ahead_free(struct ux_dwarf_units_ahead *ahead);

struct ux_dwarf_units_input {
	const struct ux_dwarf_sections *sections;
	struct ux_section_window *stream; /* inflates .debug_info while it is read; then there are
					     no split files. NULL: .debug_info is complete */
	struct ux_dwarf_units_ahead
		*ahead; /* units that were read ahead; it takes them over. NULL: none */
	const struct ux_range_set *text; /* functions and rows outside of it are dropped */
	/* sorted; rows outside of functions are kept for these symbols */
	const struct ux_code_symbol_vec *symbols;
	const struct ux_dwo_files *split; /* finds the split units; NULL: only the skeletons
					       themselves are read, which gives their lines */
	unsigned threads;
	const struct ux_address_filter *filter; /* units without any of its addresses are skipped;
						   NULL: all units are read */
	struct ux_spill *spill;                 /* holds the pieces; NULL: they are in memory */
	struct ux_extract_progress *progress;   /* NULL: not counted */
};

/*
 * Reads all units into *ret; their notes are enum ux_split_outcome. The result does not depend on
 * the number of threads. Damage costs the unit it is in and is counted. Fails only when memory is
 * short.
 */
enum ux_code ux_dwarf_units_collect(const struct ux_dwarf_units_input *input,
				    struct ux_collection *ret, struct ux_error *err) ux_must;

#endif
