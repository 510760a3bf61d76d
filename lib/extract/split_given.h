/* SPDX-License-Identifier: Apache-2.0 */
/* Files of split units that the caller has: nothing is searched for. */
#ifndef UX_SPLIT_GIVEN_H
#define UX_SPLIT_GIVEN_H

#include "split_file.h"

/* Where a split unit is. */
struct ux_split_place {
	uint64_t dwo_id;
	uint32_t file;
};

UX_VEC(ux_split_place_vec, struct ux_split_place);
UX_VEC(ux_split_file_vec, struct ux_split_file *);

/* Zeroed = none. Any thread. */
struct ux_split_given {
	struct ux_split_file_vec files;   /* .dwo files, open as long as this is */
	struct ux_split_place_vec places; /* ascending IDs, of equal ones the first file */
	struct ux_bytes package;          /* the first .dwp file; empty: there is none */
};

/*
 * Opens what `bytes` are: a .dwp or a .dwo file, or an archive (ar_member.h) of such. What is
 * damaged is passed over, and the first time *reason says so. bytes, linked and spill must outlive
 * it. UX_ENOMEM.
 */
enum ux_code ux_split_given_open(struct ux_split_given *given, struct ux_bytes bytes,
				 const struct ux_dwarf_sections *linked, const char *spill,
				 struct ux_error *reason, struct ux_error *err) ux_must;
void ux_split_given_close(struct ux_split_given *given);

/* The file that has the unit, or NULL. */
const struct ux_split_file *ux_split_given_find(const struct ux_split_given *given,
						uint64_t dwo_id);

#endif
