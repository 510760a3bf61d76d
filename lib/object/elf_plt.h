/* SPDX-License-Identifier: Apache-2.0 */
/* The stubs by which a module calls functions of others: code that no symbol names. */
#ifndef UX_ELF_PLT_H
#define UX_ELF_PLT_H

#include "elf_file.h"
#include "vec.h"

/* One stub: code that jumps to where a slot of the global offset table says. */
struct ux_elf_stub {
	uint64_t pc;
	uint64_t size;
	const char *name; /* of what it jumps to, in the file; NULL: nobody names it */
	uint64_t target;  /* without a name: the pc of the function that chooses (IRELATIVE) */
};

UX_VEC(ux_elf_stubs, struct ux_elf_stub);

/*
 * Appends the stubs of elf in the order of their addresses. A stub is known by its instructions,
 * and named by the relocation of the slot that these load: x86-64, i386, AArch64, ARM, RISC-V,
 * 64-bit PowerPC, s390x; docs/formats/plt.md has their shapes. None for other machines, for an
 * ET_REL and for a separate debug file, which has no code. Damaged tables give fewer. UX_ENOMEM.
 */
enum ux_code ux_elf_plt_read(const struct ux_elf *elf, struct ux_elf_stubs *out,
			     struct ux_error *err) ux_must;

#endif
