/* SPDX-License-Identifier: Apache-2.0 */
/* Split units: the entries of a skeleton unit, in a file of their own. */
#ifndef UX_DWARF_SPLIT_H
#define UX_DWARF_SPLIT_H

#include "dwarf_unit.h"

/*
 * A split unit's entries, abbreviations, text and (since DWARF 5) range lists are in sections whose
 * names end in ".dwo", of a .dwo file or of a .dwp package (DWARF 5, 7.3.2; before that a GNU
 * extension). Addresses, and range lists before DWARF 5, are the linked file's. So a split unit is
 * read through sections that are put together of both.
 */

/* ".debug_info.dwo", ...; NULL for a section that split units have none of. */
const char *ux_dwarf_split_section_name(enum ux_dwarf_section section);

/* The sections a split unit is read through: those of its file, and what is left to the linked
 * file. */
struct ux_dwarf_sections ux_dwarf_split_sections(const struct ux_dwarf_sections *dwo,
						 const struct ux_dwarf_sections *linked);

/* The units that stand for skeletons, by ID: a file may have thousands. Zeroed is empty. */
struct ux_dwarf_split_id {
	uint64_t id;
	uint32_t unit; /* number in units */
	uint16_t version;
};

struct ux_dwarf_split_ids {
	struct ux_dwarf_split_id *list; /* malloc'ed; ascending IDs, of equal ones the first unit */
	size_t count;
};

/* Finds them among units, those of sections. Before DWARF 5 the ID is in the unit's own entry, so
 * these are opened. UX_ENOMEM. */
enum ux_code ux_dwarf_split_ids_find(const struct ux_dwarf_sections *sections,
				     const struct ux_dwarf_units *units,
				     struct ux_dwarf_split_ids *ret, struct ux_error *err) ux_must;
void ux_dwarf_split_ids_free(struct ux_dwarf_split_ids *ids);

/*
 * Opens the skeleton's split unit among units, those of sections, which `ids` were found in.
 * UX_ENOTFOUND: none of that ID is there. Nothing to close.
 */
enum ux_code ux_dwarf_split_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units,
				 const struct ux_dwarf_split_ids *ids,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_context *ret, struct ux_error *err) ux_must;

#endif
