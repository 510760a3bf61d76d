/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol tables of an ELF file (.symtab, .dynsym, the dynamic linker's, the compressed one), and
 * function descriptors.
 */
#ifndef UX_ELF_SYMBOLS_H
#define UX_ELF_SYMBOLS_H

#include "elf_file.h"

struct ux_elf_symbol {
	const char
		*name;  /* in the file, NUL-terminated; "" when the symbol has none or a bad one */
	uint64_t value; /* st_value unchanged; see ux_elf_symbol_pc() */
	uint64_t size;
	uint32_t section; /* index with SHN_XINDEX resolved, or SHN_UNDEF, SHN_ABS, ... */
	const struct ux_elf_section
		*home; /* the section with that index; NULL for special values of `section` */
	uint8_t type;  /* STT_* */
	uint8_t bind;  /* STB_* */
	uint8_t visibility;
	uint8_t other; /* all of st_other: visibility and machine-specific bits */
};

/* An iterator over a symbol table. It needs no release. */
struct ux_elf_symbols {
	const struct ux_elf *elf;
	struct ux_bytes table;
	struct ux_bytes strings;
	struct ux_bytes shndx; /* SHT_SYMTAB_SHNDX content, or empty */
	size_t next;
	size_t count;
	struct ux_elf_symbol symbol; /* the last result of ux_elf_symbols_next() */
};

/*
 * Starts at the first symbol of table (.symtab or .dynsym section). Symbol tables are never
 * compressed. A string table of the wrong type or outside of the file is UX_ECORRUPT.
 */
enum ux_code ux_elf_symbols_open(const struct ux_elf *elf, const struct ux_elf_section *table,
				 struct ux_elf_symbols *ret, struct ux_error *err) ux_must;

/* Returns the next symbol, valid until the next call; NULL at the end. Skips the null symbol 0. */
const struct ux_elf_symbol *ux_elf_symbols_next(struct ux_elf_symbols *it);

/*
 * Returns symbol number i, where 0 is the null symbol. It is valid until the next call. NULL after
 * the last symbol.
 */
const struct ux_elf_symbol *ux_elf_symbols_at(struct ux_elf_symbols *it, uint64_t i);

/*
 * Returns true for symbols of code that is useful in an answer: defined STT_FUNC and STT_GNU_IFUNC,
 * STT_NOTYPE in an executable section, and there also STT_OBJECT that has a size or is GHC's code.
 * Mapping symbols ($a, $d, $t, $x of ARM, AArch64, C-SKY, RISC-V), .L temporaries and symbols
 * without a name are excluded.
 */
bool ux_elf_symbol_is_code(const struct ux_elf *elf, const struct ux_elf_symbol *symbol);

/*
 * Returns the symbol's pc, without the Thumb and microMIPS bit. In files with symbol values
 * relative to a section (an ET_REL, a cubin), the section's addr is added.
 */
uint64_t ux_elf_symbol_pc(const struct ux_elf *elf, const struct ux_elf_symbol *symbol);

/*
 * Finds the dynamic symbols as the loader does: PT_DYNAMIC has the addresses of the table, of its
 * strings and of a hash table, which gives the number of symbols (gABI, "Dynamic Section";
 * DT_GNU_HASH). Without a hash table the symbols end where the strings begin. UX_ENOTFOUND: no
 * dynamic symbols. UX_ECORRUPT: one of the addresses is in no segment. The symbols' `home` is NULL.
 */
enum ux_code ux_elf_dynamic_symbols(const struct ux_elf *elf, struct ux_elf_symbols *ret,
				    struct ux_error *err) ux_must;

/* Returns the value of a tag (DT_*) in PT_DYNAMIC; the last of several, 0 when it is absent. */
uint64_t ux_elf_dynamic_find(const struct ux_elf *elf, uint64_t tag);

/*
 * In the first ABI of 64-bit PowerPC (big-endian Linux) a function's symbol is the address of a
 * descriptor in .opd. Its first eight bytes are the address of the code, followed by TOC and
 * environment (64-bit PowerPC ELF ABI Supplement 1.9, 3.2.3). The second ABI has no .opd. Zeroed is
 * none.
 */
struct ux_elf_opd {
	const struct ux_elf *elf; /* the file that contains the section; NULL: none */
	const struct ux_elf_section *section;
	struct ux_content content; /* relocated in an ET_REL */
};

/*
 * Finds the descriptors of elf. UX_OK, and no descriptors, for any other machine, and for a debug
 * file, which has the section without its content.
 */
enum ux_code ux_elf_opd_open(const struct ux_elf *elf, struct ux_elf_opd *ret, struct ux_error *err)
	ux_must;
void ux_elf_opd_close(struct ux_elf_opd *opd);

/* When a descriptor is at pc, returns true and sets *ret to the pc of the code. */
bool ux_elf_opd_code(const struct ux_elf_opd *opd, uint64_t pc, uint64_t *ret);

/* An ELF file that is embedded in another one. Zeroed is none. */
struct ux_elf_debugdata {
	struct ux_content content; /* the whole embedded file */
	struct ux_elf elf;         /* the opened file, over `content` */
};

/*
 * Decompresses and opens the content of .gnu_debugdata: an xz stream of an ELF file with a .symtab
 * that names functions missing in .dynsym (GDB manual, "MiniDebugInfo"). UX_OK with elf.file empty
 * when the file has no such section. UX_ECORRUPT: the stream or the file in it is damaged, or the
 * file is for another machine. UX_ELIMIT: its decompressed size is over 8 MiB plus 4 times the size
 * of elf.
 */
enum ux_code ux_elf_debugdata_open(const struct ux_elf *elf, struct ux_elf_debugdata *ret,
				   struct ux_error *err) ux_must;
void ux_elf_debugdata_close(struct ux_elf_debugdata *d);

#endif
