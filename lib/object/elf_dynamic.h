/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic symbols of a file without a section table. */
#ifndef UX_ELF_DYNAMIC_H
#define UX_ELF_DYNAMIC_H

#include "elf_symbols.h"

/*
 * Finds the dynamic symbols as the loader does: PT_DYNAMIC names the table, its strings and a hash
 * table, which tells how many symbols there are (gABI, "Dynamic Section"; DT_GNU_HASH). Without a
 * hash table they end where the strings begin. UX_ENOTFOUND: there are none; UX_ECORRUPT: what is
 * named lies in no segment. Symbols have no home section.
 */
enum ux_code ux_elf_dynamic_symbols(const struct ux_elf *elf, struct ux_elf_symbols *ret,
				    struct ux_error *err) ux_must;

/* What stands for a tag (DT_*) in PT_DYNAMIC; the last of several, 0 when it is not there. */
uint64_t ux_elf_dynamic_find(const struct ux_elf *elf, uint64_t tag);

#endif
