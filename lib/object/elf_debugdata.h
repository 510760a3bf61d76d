/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols that a stripped file keeps compressed: .gnu_debugdata. */
#ifndef UX_ELF_DEBUGDATA_H
#define UX_ELF_DEBUGDATA_H

#include "elf_file.h"

/* An ELF file inside of another. Zeroed is none. */
struct ux_elf_debugdata {
	struct ux_elf_content content; /* all of it */
	struct ux_elf elf;             /* over content */
};

/*
 * Inflates and opens what elf keeps in .gnu_debugdata: an xz stream of an ELF file whose .symtab
 * names functions that .dynsym does not have (GDB manual, "MiniDebugInfo"). UX_OK with elf.file
 * empty when there is no such section. UX_ECORRUPT: the stream or the file in it is damaged, or the
 * file is for another machine. UX_ELIMIT: it inflates to over 8 MiB and 4 times elf's own size.
 */
enum ux_code ux_elf_debugdata_open(const struct ux_elf *elf, struct ux_elf_debugdata *ret,
				   struct ux_error *err) ux_must;
void ux_elf_debugdata_close(struct ux_elf_debugdata *d);

#endif
