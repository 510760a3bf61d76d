/* SPDX-License-Identifier: Apache-2.0 */
/* All GPU code in a file: a fat binary, or a host program with some. */
#ifndef UX_FATBIN_LIST_H
#define UX_FATBIN_LIST_H

#include "elf_file.h"
#include "fatbin.h"

UX_VEC(ux_fatbin_entry_vec, struct ux_fatbin_entry);

/* Zeroed is empty. */
struct ux_fatbin_list {
	struct ux_fatbin_entry_vec
		entries;        /* in the order of the file; off counts from its start */
	uint64_t bad;           /* containers that were given up, or in part */
	struct ux_error reason; /* the first one's */
};

/*
 * The entries of a fat binary, or those in the sections .nv_fatbin and __nv_relfatbin of an ELF
 * file; other files, and ELF files without a section table, have none. A damaged container costs
 * its rest and is counted. The list needs ux_fatbin_list_deinit(). UX_ENOMEM.
 */
enum ux_code ux_fatbin_list_read(struct ux_bytes file, struct ux_fatbin_list *ret,
				 struct ux_error *err) ux_must;
void ux_fatbin_list_deinit(struct ux_fatbin_list *list);

#endif
