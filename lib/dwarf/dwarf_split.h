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

/*
 * Opens the skeleton's split unit among units, those of sections. UX_ENOTFOUND: none of that ID is
 * there. Nothing to close.
 */
enum ux_code ux_dwarf_split_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_context *ret, struct ux_error *err) ux_must;

#endif
