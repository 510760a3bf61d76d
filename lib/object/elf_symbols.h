/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables of an ELF file: its own, the dynamic linker's, the compressed one, function
 * descriptors. */
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

/*
 * Finds the dynamic symbols as the loader does: PT_DYNAMIC names the table, its strings and a hash
 * table, which gives the number of symbols (gABI, "Dynamic Section"; DT_GNU_HASH). Without a
 * hash table they end where the strings begin. UX_ENOTFOUND: there are none; UX_ECORRUPT: what is
 * named lies in no segment. Symbols have no home section.
 */
enum ux_code ux_elf_dynamic_symbols(const struct ux_elf *elf, struct ux_elf_symbols *ret,
				    struct ux_error *err) ux_must;

/* What stands for a tag (DT_*) in PT_DYNAMIC; the last of several, 0 when it is not there. */
uint64_t ux_elf_dynamic_find(const struct ux_elf *elf, uint64_t tag);

/*
 * In the first ABI of 64-bit PowerPC (big-endian Linux) a function's symbol is the address of a
 * descriptor in .opd, whose first eight bytes are where the code is; then come TOC and environment
 * (64-bit PowerPC ELF ABI Supplement 1.9, 3.2.3). The second ABI has no .opd. Zeroed is none.
 */
struct ux_elf_opd {
	const struct ux_elf *elf; /* whose section it is; NULL: there is none */
	const struct ux_elf_section *section;
	struct ux_content content; /* relocated in an ET_REL */
};

/* Finds the descriptors of elf; UX_OK with none for any other machine, and for a debug file, which
 * has the section but not its content. */
enum ux_code ux_elf_opd_open(const struct ux_elf *elf, struct ux_elf_opd *ret, struct ux_error *err)
	ux_must;
void ux_elf_opd_close(struct ux_elf_opd *opd);

/* True with the pc of the code when there is a descriptor at that pc. */
bool ux_elf_opd_code(const struct ux_elf_opd *opd, uint64_t pc, uint64_t *ret);

/* An ELF file inside of another. Zeroed is none. */
struct ux_elf_debugdata {
	struct ux_content content; /* all of it */
	struct ux_elf elf;         /* over content */
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
