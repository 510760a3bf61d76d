/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the separate debug file of a stripped binary. */
#ifndef UX_DEBUG_FILE_H
#define UX_DEBUG_FILE_H

#include "elf_file.h"
#include "error.h"
#include "file.h"

#define UX_DEBUG_DIRS_DEFAULT "/usr/lib/debug"

/* Zeroed = none. */
struct ux_debug_file {
	struct ux_mapping file;
	char *path; /* malloc'ed; NULL: none was found */
};

/*
 * Maps DIR/.build-id/xx/yyyy.debug for the GNU build ID of the ELF file exe, from the first of
 * dirs ("DIR:DIR", NULL: the default, "": none) that has it. UX_OK with nothing in *ret when exe
 * has DWARF of its own, has no build ID, is no ELF file, or none is found: all of that is for the
 * caller to meet, or no failure. Source: GDB manual, "Debugging Information in Separate Files".
 */
enum ux_code ux_debug_file_find(struct ux_debug_file *ret, struct ux_bytes exe, const char *dirs,
				struct ux_error *err) ux_must;

/* True when there are sections of DWARF to read, under their plain or their compressed names. */
bool ux_elf_has_dwarf(const struct ux_elf *elf);

void ux_debug_file_close(struct ux_debug_file *f);

#endif
