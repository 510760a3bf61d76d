/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for ELF files, so that a test shows the bytes it means. */
#ifndef UX_MAKE_ELF_H
#define UX_MAKE_ELF_H

#include "bytes.h"
#include "elf_defs.h"
#include "out.h"
#include "vec.h"

/* A section of the test; zero fields get a sensible value. */
struct make_section {
	const char *name;
	uint32_t type; /* 0: SHT_PROGBITS */
	uint64_t flags;
	uint64_t addr;
	struct ux_bytes content; /* copied */
	uint64_t size;           /* of SHT_NOBITS; otherwise the content's */
	uint32_t link;
	uint32_t info;
	uint64_t align; /* 0: 1 */
	uint64_t entsize;
	uint64_t off; /* set by make_elf_finish(): where the content is in the file */
};

struct make_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint32_t section;  /* index, of any width */
	uint16_t reserved; /* SHN_ABS, SHN_COMMON: instead of section */
	uint8_t type;
	uint8_t bind;
	uint8_t other;
	bool dynamic; /* into .dynsym instead of .symtab */
};

/* Covers the sections from first to last; with first 0, off and filesz are taken as they are. */
struct make_segment {
	uint32_t type;
	uint32_t flags;
	uint32_t first, last;
	uint64_t off, filesz;
	uint64_t vaddr; /* 0: of the first section */
	uint64_t memsz; /* 0: filesz */
	uint64_t align; /* 0: 1 */
};

UX_VEC(make_sections, struct make_section);
UX_VEC(make_symbols, struct make_symbol);
UX_VEC(make_segments, struct make_segment);

/*
 * The order in the file: header, segment table, contents in the order of their sections, symbol
 * tables, section names, section table. Names are kept by pointer. It aborts when memory is short.
 */
struct make_elf {
	bool is64;
	bool big; /* byte order */
	uint16_t type;
	uint16_t machine;
	uint64_t entry;
	bool no_sections; /* leave out the section table, as sstrip does */
	bool wide;        /* all counts and indexes through section 0 and .symtab_shndx */
	struct make_sections sections;
	struct make_symbols symbols;
	struct make_segments segments;
	struct ux_out file;
	/* set by make_elf_finish(), for tests that damage the file */
	uint64_t section_table;
	uint64_t segment_table;
};

/* Bits is 32 or 64. Starts as ET_DYN of a fitting machine, with the null section. */
void make_elf_init(struct make_elf *m, unsigned bits, bool big);
void make_elf_deinit(struct make_elf *m);

/* Adds a section and returns its index. */
uint32_t make_elf_section(struct make_elf *m, struct make_section section);

enum make_packing {
	MAKE_ZLIB,  /* SHF_COMPRESSED */
	MAKE_ZSTD,  /* SHF_COMPRESSED */
	MAKE_ZDEBUG /* "ZLIB", size; the name is the caller's */
};

/* The same with its content compressed; claimed_size stands in its header. */
uint32_t make_elf_packed(struct make_elf *m, struct make_section section, enum make_packing packing,
			 uint64_t claimed_size);

/* A section of one note. */
uint32_t make_elf_note(struct make_elf *m, const char *name, const char *owner, uint32_t type,
		       struct ux_bytes desc);

void make_elf_symbol(struct make_elf *m, struct make_symbol symbol);
void make_elf_segment(struct make_elf *m, struct make_segment segment);

/* The file; it belongs to m. Once for each m. */
struct ux_bytes make_elf_finish(struct make_elf *m);

/* Appends a note; align is 4 or 8. */
void make_note(struct ux_out *out, const char *owner, uint32_t type, struct ux_bytes desc,
	       size_t align);

/* Appends content as a zlib or zstd stream. */
void make_zlib(struct ux_out *out, struct ux_bytes content);
void make_zstd(struct ux_out *out, struct ux_bytes content);

#endif
