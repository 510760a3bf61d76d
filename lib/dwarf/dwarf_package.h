/* SPDX-License-Identifier: Apache-2.0 */
/* Packages of split units: the index of a .dwp file. */
#ifndef UX_DWARF_PACKAGE_H
#define UX_DWARF_PACKAGE_H

#include "dwarf_sections.h"

/*
 * A package holds the sections of many .dwo files end to end; .debug_cu_index says which part of
 * each is whose (DWARF 5, 7.3.5; version 2 is GNU's, with other numbers for the sections). It is
 *
 *   version (u32 2, or u16 5 and u16 0), columns, units, slots: u32 each
 *   the hash table: slots * u64 ID, then slots * u32 row; row 0 is an empty slot
 *   columns * u32: the section of each column
 *   units * columns * u32: offsets, then as many sizes
 *
 * An ID's slot is ID & (slots - 1), and from there in steps of ((ID >> 32) & (slots - 1)) | 1.
 */
struct ux_dwarf_package {
	const struct ux_dwarf_sections *whole; /* by their names in .dwo files */
	struct ux_cur ids;                     /* slots * u64 */
	struct ux_cur rows;                    /* slots * u32 */
	struct ux_cur offsets;                 /* units * columns * u32 */
	struct ux_cur sizes;
	uint32_t n_columns;
	uint32_t n_units;
	uint32_t n_slots;
	int8_t column[UX_DWARF_SECTION_COUNT]; /* of each section, or -1 */
};

/*
 * Reads the index; it and whole stay the caller's and must outlive the package. Immutable from then
 * on: any thread. UX_EUNSUPPORTED: another version; UX_ECORRUPT: tables that leave the index, a
 * table size that is no power of two, no columns for entries and abbreviations, units that take
 * more than there is.
 */
enum ux_code ux_dwarf_package_open(struct ux_dwarf_package *package, struct ux_bytes index,
				   const struct ux_dwarf_sections *whole, struct ux_error *err)
	ux_must;

/*
 * The sections of the unit of that ID, cut to its parts; text is everybody's. UX_ENOTFOUND: no such
 * unit; UX_ECORRUPT: a part leaves its section.
 */
enum ux_code ux_dwarf_package_find(const struct ux_dwarf_package *package, uint64_t id,
				   struct ux_dwarf_sections *ret, struct ux_error *err) ux_must;

#endif
