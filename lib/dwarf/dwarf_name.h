/* SPDX-License-Identifier: Apache-2.0 */
/* The names of functions: through abstract origins and specifications, also of other units. */
#ifndef UX_DWARF_NAME_H
#define UX_DWARF_NAME_H

#include "arena.h"
#include "dwarf_line.h"
#include "dwarf_unit.h"
#include "map.h"

enum {
	UX_DWARF_HOPS_MOST = 16
}; /* of an origin chain; real ones have up to 4 */

#define UX_DWARF_NO_NAME UINT32_MAX

#define UX_DWARF_SAME_(a, b) ((a) == (b))
UX_MAP(ux_dwarf_context_map, uint64_t, struct ux_dwarf_context *, ux_hash_u64, UX_DWARF_SAME_);

/* A remembered answer; an entry of another generation is empty. */
struct ux_dwarf_name_slot {
	uint64_t off; /* of the DIE in .debug_info; bit 63: of the supplementary file */
	uint32_t generation;
	uint32_t name;
};

/*
 * One thread's resolver. Names of one unit are numbered from 0 in the order of first use, and asked
 * for once per origin: the same inlined function is named thousands of times.
 */
struct ux_dwarf_names {
	const struct ux_dwarf_sections *sections;
	const struct ux_dwarf_units *units;
	struct ux_dwarf_text_vec
		list; /* the current unit's names by number; text of the sections */
	struct ux_dwarf_name_slot *slots;
	size_t cap; /* of slots, a power of two */
	size_t used;
	uint32_t generation;
	struct ux_arena arena; /* contexts of other units that names led to */
	struct ux_dwarf_context_map
		contexts; /* by unit's offset and file; NULL: it cannot be opened */
};

void ux_dwarf_names_init(struct ux_dwarf_names *names, const struct ux_dwarf_sections *sections,
			 const struct ux_dwarf_units *units);
void ux_dwarf_names_deinit(struct ux_dwarf_names *names);

/* Forgets the names of the unit before. */
void ux_dwarf_names_begin(struct ux_dwarf_names *names);

/*
 * The number of the DIE's name: its linkage name, else its short one, found along abstract_origin
 * and specification; UX_DWARF_NO_NAME when there is none (also when a reference leads nowhere).
 * UX_ENOMEM.
 */
enum ux_code ux_dwarf_names_of(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			       const struct ux_dwarf_die *die, uint32_t *ret, struct ux_error *err)
	ux_must;

#endif
