/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file as it lies in a live process. */
#ifndef UX_TARGET_ELF_H
#define UX_TARGET_ELF_H

#include "elf_file.h"
#include "file.h"
#include "proc_files.h"

/* Zeroed = none. */
struct ux_target_elf {
	struct ux_mapping file;
	struct ux_elf elf;
	const char *path; /* the mapping's */
	uint64_t bias;    /* addr less pc */
};

/*
 * Opens the file behind a mapping. UX_EUNSUPPORTED: no 64-bit ELF file of this machine's byte
 * order, or one whose segments are not where this mapping is; else the codes of
 * ux_proc_open_mapped().
 */
enum ux_code ux_target_elf_open(struct ux_target_elf *e, const struct ux_proc *proc,
				const struct ux_proc_map *map, struct ux_error *err) ux_must;
void ux_target_elf_close(struct ux_target_elf *e);

/* The pc of a symbol of that name that is defined in the file; false: it has none. */
bool ux_target_elf_symbol(const struct ux_target_elf *e, const char *name, uint64_t *ret_pc)
	ux_must;

#endif
