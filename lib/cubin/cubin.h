/* SPDX-License-Identifier: Apache-2.0 */
/* Cubins: ELF files with the code of one GPU. */
#ifndef UX_CUBIN_H
#define UX_CUBIN_H

#include "elf_file.h"

/*
 * A cubin is opened as any ELF file; elf_file.h tells which addresses its code has. True for an
 * ELF file with machine EM_CUDA.
 */
bool ux_cubin_is(struct ux_bytes file);

/* The GPU it is for: 80 for sm_80. 0 when the header does not say. */
uint32_t ux_cubin_sm(const struct ux_elf *cubin);

/* The name of the code in the section: what is behind ".text."; NULL for another section. */
const char *ux_cubin_section_name(const struct ux_elf_section *section);

/*
 * What a person calls the symbol. A function that ptxas keeps out of line stands inside of the
 * kernel that calls it, as "$KERNEL$NAME" (or "$__internal_N_$NAME", for the compiler's own): NAME.
 * Any other is what it is.
 */
const char *ux_cubin_symbol_name(const char *symbol, const struct ux_elf_section *home);

/*
 * The address of byte `off` of the function with number `index` in the symbol table: how CUPTI's
 * records (functionIndex, pcOffset) name a place. UX_ENOTFOUND: no such function, or it is not so
 * long.
 */
enum ux_code ux_cubin_pc(const struct ux_elf *cubin, uint32_t index, uint64_t off, uint64_t *ret,
			 struct ux_error *err) ux_must;

#endif
