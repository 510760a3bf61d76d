/* SPDX-License-Identifier: Apache-2.0 */
/* What the units of a module have in common: their abbreviation tables. */
#ifndef UX_DWARF_SHARED_H
#define UX_DWARF_SHARED_H

#include "dwarf_abbrev.h"

/*
 * Thousands of units may name one table, so each is parsed once, by the first thread that asks.
 * Tables do not overlap: one that runs into the next is corrupt, which bounds the work on all of
 * them by the size of .debug_abbrev.
 */
struct ux_dwarf_parsed;
struct ux_dwarf_shared_table {
	struct ux_dwarf_table place;
	uint32_t users; /* units that name it */
	/* NULL: nobody asked yet. Written once; release and acquire publish what it points to. */
	_Atomic(struct ux_dwarf_parsed *) parsed;
};

/* Any thread may use it. */
struct ux_dwarf_shared {
	struct ux_dwarf_shared_table *tables; /* malloc'ed; ascending places */
	size_t n_tables;
};

/*
 * Makes the tables of the given places, which are in any order, may repeat, and lack their ends;
 * ret_index[i] gets the table of places[i]. UX_ENOMEM.
 */
enum ux_code ux_dwarf_shared_create(const struct ux_dwarf_sections *sections,
				    const struct ux_dwarf_table *places, size_t n,
				    uint32_t *ret_index, struct ux_dwarf_shared **ret,
				    struct ux_error *err) ux_must;
struct ux_dwarf_shared *ux_dwarf_shared_destroy(struct ux_dwarf_shared *shared);

/*
 * A table's abbreviations, parsed now or before; they live as long as shared. The failure of a
 * damaged table is the same each time. With a room, a table of one unit alone is parsed there and
 * lives until the next one is: it is not worth keeping.
 */
enum ux_code ux_dwarf_shared_abbrevs(struct ux_dwarf_shared *shared,
				     const struct ux_dwarf_sections *sections, uint32_t table,
				     struct ux_dwarf_abbrev_room *room,
				     struct ux_dwarf_abbrevs *ret, struct ux_error *err) ux_must;

#endif
