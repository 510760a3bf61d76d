/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of all GPU code in a file, which is a fat binary or a host program with embedded ones.
 */
#ifndef UX_FATBIN_LIST_H
#define UX_FATBIN_LIST_H

#include "elf_file.h"
#include "fatbin.h"

UX_VEC(ux_fatbin_entry_vec, struct ux_fatbin_entry);

/* Zeroed is empty. */
struct ux_fatbin_list {
	/* in file order; `off` counts from the start of the file */
	struct ux_fatbin_entry_vec entries;
	uint64_t bad;           /* containers that are damaged as a whole or in part */
	struct ux_error reason; /* damage of the first of them */
};

/*
 * Lists the entries of a fat binary, or the entries in the sections .nv_fatbin and __nv_relfatbin
 * of an ELF file. Other files, and ELF files without a section table, have none. The rest of a
 * damaged container is skipped, and the damage is counted. Release the list with
 * ux_fatbin_list_deinit(). UX_ENOMEM.
 */
enum ux_code ux_fatbin_list_read(struct ux_bytes file, struct ux_fatbin_list *ret,
				 struct ux_error *err) ux_must;
void ux_fatbin_list_deinit(struct ux_fatbin_list *list);

#endif
