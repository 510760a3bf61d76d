/* SPDX-License-Identifier: Apache-2.0 */
/* Walking a symbol table. */
#ifndef UX_ELF_SYMBOLS_H
#define UX_ELF_SYMBOLS_H

#include "elf_file.h"

struct ux_elf_symbol {
	const char *name; /* in the file, NUL-terminated; "" when it has none or a bad one */
	uint64_t value;   /* as it stands; see ux_elf_symbol_pc() */
	uint64_t size;
	uint32_t section; /* index with SHN_XINDEX resolved, or SHN_UNDEF, SHN_ABS, ... */
	const struct ux_elf_section *home; /* that section; NULL when `section` names none */
	uint8_t type;                      /* STT_* */
	uint8_t bind;                      /* STB_* */
	uint8_t visibility;
	uint8_t other; /* all of st_other: visibility, and what machines have beside */
};

/* On the caller's stack; holds nothing that needs freeing. */
struct ux_elf_symbols {
	const struct ux_elf *elf;
	struct ux_bytes table;
	struct ux_bytes strings;
	struct ux_bytes shndx; /* SHT_SYMTAB_SHNDX content, or empty */
	size_t next;
	size_t count;
	struct ux_elf_symbol symbol; /* what next returned last */
};

/*
 * Starts at the first symbol of table (.symtab or .dynsym section). A compressed symbol table does
 * not exist; a string table of the wrong type or outside the file is UX_ECORRUPT.
 */
enum ux_code ux_elf_symbols_open(const struct ux_elf *elf, const struct ux_elf_section *table,
				 struct ux_elf_symbols *ret, struct ux_error *err) ux_must;

/* The next symbol, valid until the next call; NULL at the end. Skips the null symbol 0. */
const struct ux_elf_symbol *ux_elf_symbols_next(struct ux_elf_symbols *it);

/* Symbol number i, 0 being the null symbol, valid like the one of next; NULL behind the last. */
const struct ux_elf_symbol *ux_elf_symbols_at(struct ux_elf_symbols *it, uint64_t i);

/* True for what stands for code a person would want named: defined STT_FUNC, STT_GNU_IFUNC, and
 * STT_NOTYPE in an executable section, but no mapping symbols ($a, $d, $t, $x of ARM, AArch64,
 * C-SKY, RISC-V), no .L temporaries and nothing without a name. */
bool ux_elf_symbol_is_code(const struct ux_elf *elf, const struct ux_elf_symbol *symbol);

/* The symbol's pc, without the Thumb and microMIPS bit; where values count from the start of a
 * section (an ET_REL, a cubin), by that section's addr. */
uint64_t ux_elf_symbol_pc(const struct ux_elf *elf, const struct ux_elf_symbol *symbol);

#endif
