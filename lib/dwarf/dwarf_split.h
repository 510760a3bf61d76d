/* SPDX-License-Identifier: Apache-2.0 */
/* Split units: the DIEs of a skeleton unit, in their own .dwo file or in a .dwp package. */
#ifndef UX_DWARF_SPLIT_H
#define UX_DWARF_SPLIT_H

#include "dwarf_sections.h"
#include "dwarf_unit.h"

/*
 * A split unit's DIEs, abbreviations, strings and (since DWARF 5) range lists are in sections whose
 * names end in ".dwo", of a .dwo file or of a .dwp package (DWARF 5, 7.3.2; before that a GNU
 * extension). Addresses, and range lists before DWARF 5, are in the linked file. So a split unit is
 * read with a set of sections that is combined from both files.
 */

/* ".debug_info.dwo", ...; NULL for a section that split units do not have. */
const char *ux_dwarf_split_section_name(enum ux_dwarf_section section);

/*
 * Returns the sections for reading a split unit: its own file's sections, and the rest from the
 * linked file.
 */
struct ux_dwarf_sections ux_dwarf_split_sections(const struct ux_dwarf_sections *dwo,
						 const struct ux_dwarf_sections *linked);

/* The split units of a file, sorted by ID: a file may have thousands. Zeroed is empty. */
struct ux_dwarf_split_id {
	uint64_t id;
	uint32_t unit; /* number in units */
	uint16_t version;
};

struct ux_dwarf_split_ids {
	struct ux_dwarf_split_id
		*list; /* malloc'ed; sorted by ID; if several units have one ID, only the first */
	size_t count;
};

/*
 * Finds the split units among `units`, which are the units of `sections`. Before DWARF 5 the ID is
 * an attribute of the unit's DIE, so those units are opened. UX_ENOMEM.
 */
enum ux_code ux_dwarf_split_ids_find(const struct ux_dwarf_sections *sections,
				     const struct ux_dwarf_units *units,
				     struct ux_dwarf_split_ids *ret, struct ux_error *err) ux_must;
void ux_dwarf_split_ids_free(struct ux_dwarf_split_ids *ids);

/*
 * Opens the skeleton's split unit among `units`, the units of `sections`; `ids` were made from
 * them. UX_ENOTFOUND: no unit has that ID. The context needs no release.
 */
enum ux_code ux_dwarf_split_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units,
				 const struct ux_dwarf_split_ids *ids,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_context *ret, struct ux_error *err) ux_must;

/*
 * A package holds the sections of many .dwo files end to end; .debug_cu_index lists the part of
 * each section that belongs to a unit (DWARF 5, 7.3.5; version 2 is GNU's, with other numbers for
 * the sections). It is
 *
 *   version (u32 2, or u16 5 and u16 0), columns, units, slots: u32 each
 *   the hash table: slots * u64 ID, then slots * u32 row; row 0 is an empty slot
 *   columns * u32: the section of each column
 *   units * columns * u32: offsets, then as many sizes
 *
 * An ID's slot is ID & (slots - 1), and from there in steps of ((ID >> 32) & (slots - 1)) | 1.
 */
struct ux_dwarf_package {
	const struct ux_dwarf_sections *whole; /* the concatenated sections */
	struct ux_cur ids;                     /* slots * u64 */
	struct ux_cur rows;                    /* slots * u32 */
	struct ux_cur offsets;                 /* units * columns * u32 */
	struct ux_cur sizes;
	uint32_t n_columns;
	uint32_t n_units;
	uint32_t n_slots;
	int8_t column[UX_DWARF_SECTION_COUNT]; /* column of each section, or -1 */
};

/*
 * Reads the index. The caller owns index and whole, which must outlive the package. The package is
 * then immutable: any thread. UX_EUNSUPPORTED: an unknown version. UX_ECORRUPT: tables exceed the
 * index, the size of the hash table is not a power of two, there are no columns for DIEs and
 * abbreviations, or units exceed the sections.
 */
enum ux_code ux_dwarf_package_open(struct ux_dwarf_package *package, struct ux_bytes index,
				   const struct ux_dwarf_sections *whole, struct ux_error *err)
	ux_must;

/*
 * Returns the sections of the unit with that ID, cut to its parts; strings are shared by all units.
 * UX_ENOTFOUND: no such unit. UX_ECORRUPT: a part exceeds its section.
 */
enum ux_code ux_dwarf_package_find(const struct ux_dwarf_package *package, uint64_t id,
				   struct ux_dwarf_sections *ret, struct ux_error *err) ux_must;

#endif
