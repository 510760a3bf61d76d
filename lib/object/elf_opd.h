/* SPDX-License-Identifier: Apache-2.0 */
/* Function descriptors of 64-bit PowerPC. */
#ifndef UX_ELF_OPD_H
#define UX_ELF_OPD_H

#include "elf_file.h"

/*
 * In the first ABI of 64-bit PowerPC (big-endian Linux) a function's symbol is the address of a
 * descriptor in .opd, whose first eight bytes are where the code is; then come TOC and environment
 * (64-bit PowerPC ELF ABI Supplement 1.9, 3.2.3). The second ABI has no .opd. Zeroed is none.
 */
struct ux_elf_opd {
	const struct ux_elf *elf; /* whose section it is; NULL: there is none */
	const struct ux_elf_section *section;
	struct ux_elf_content content; /* relocated in an ET_REL */
};

/* Finds the descriptors of elf; UX_OK with none for any other machine, and for a debug file, which
 * has the section but not its content. */
enum ux_code ux_elf_opd_open(const struct ux_elf *elf, struct ux_elf_opd *ret, struct ux_error *err)
	ux_must;
void ux_elf_opd_close(struct ux_elf_opd *opd);

/* True with the pc of the code when there is a descriptor at that pc. */
bool ux_elf_opd_code(const struct ux_elf_opd *opd, uint64_t pc, uint64_t *ret);

#endif
