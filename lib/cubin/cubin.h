/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins: ELF files with the code of one GPU. */
#ifndef UX_CUBIN_H
#define UX_CUBIN_H

#include "elf_file.h"

/* Returns true for an ELF file with machine EM_CUDA. A cubin is opened like any ELF file;
 * elf_file.h describes which addresses its code gets. */
bool ux_cubin_is(struct ux_bytes file);

/*
 * Returns the GPU that the cubin was compiled for: 80 for sm_80. 0 when the header does not contain
 * it.
 */
uint32_t ux_cubin_sm(const struct ux_elf *cubin);

/* Returns the name of the function in the section, which follows ".text." in the section's name.
 * NULL for any other section. */
const char *ux_cubin_section_name(const struct ux_elf_section *section);

/*
 * Returns the name of the symbol to show to users. A function that ptxas does not inline is in the
 * section of the kernel that calls it, and its symbol is "$KERNEL$NAME", or "$__internal_N_$NAME"
 * for the compiler's own functions: the result is NAME. Any other symbol is returned unchanged.
 */
const char *ux_cubin_symbol_name(const char *symbol, const struct ux_elf_section *home);

/*
 * Computes the address of byte `off` of the function with this index in the symbol table, which is
 * how CUPTI's records (functionIndex, pcOffset) state an address. UX_ENOTFOUND: no such function,
 * or it is shorter than that.
 */
enum ux_code ux_cubin_pc(const struct ux_elf *cubin, uint32_t index, uint64_t off, uint64_t *ret,
			 struct ux_error *err) ux_must;

#endif
