/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for Mach-O files, so that a test shows the bytes it means. */
#ifndef UX_MAKE_MACHO_H
#define UX_MAKE_MACHO_H

#include "bytes.h"
#include "macho_defs.h"
#include "out.h"
#include "vec.h"

struct make_macho_section {
	const char *segment; /* 16 letters at most, as the name */
	const char *name;
	uint64_t addr;
	uint64_t size;           /* without a content; else the content's */
	struct ux_bytes content; /* copied */
	uint32_t flags;          /* S_* */
	uint32_t reserved1, reserved2;
};

struct make_macho_symbol {
	const char *name;
	uint64_t value;
	uint8_t type;    /* N_* */
	uint8_t section; /* from 1 */
	uint16_t desc;
};

UX_VEC(make_macho_sections, struct make_macho_section);
UX_VEC(make_macho_symbols, struct make_macho_symbol);
UX_VEC(make_macho_numbers, uint32_t);

/*
 * The order in the file: header, commands (__TEXT without sections, one segment of all sections,
 * the rest), contents of sections, symbols, strings, indirect symbols, starts of functions. A zero
 * or empty part has no command. Names are kept by pointer. It aborts if out of memory.
 */
struct make_macho {
	bool is64;
	bool big;
	uint32_t cpu, subtype;
	uint32_t type; /* MH_* */
	uint64_t text; /* vmaddr of __TEXT */
	struct ux_bytes uuid;
	uint32_t cryptid;
	struct make_macho_sections sections;
	struct make_macho_symbols symbols;
	struct make_macho_numbers indirect;
	struct ux_out starts; /* the caller writes ULEB128s */
	struct ux_out file;
};

/* Bits is 32 or 64. Starts as a dylib of a fitting machine, with __TEXT at 0x1000. */
void make_macho_init(struct make_macho *m, unsigned bits, bool big);
void make_macho_deinit(struct make_macho *m);

/* Adds a section and returns its number, from 1. */
uint8_t make_macho_section(struct make_macho *m, struct make_macho_section section);
void make_macho_symbol(struct make_macho *m, struct make_macho_symbol symbol);
/* Adds a number to the indirect symbol table. */
void make_macho_indirect(struct make_macho *m, uint32_t symbol);

/* The file; it belongs to m. Once for each m. */
struct ux_bytes make_macho_finish(struct make_macho *m);

struct make_macho_slice {
	uint32_t cpu, subtype;
	struct ux_bytes bytes;
};

/* Writes a universal file, with entries of 64 bits when it is to be wide. */
void make_macho_fat(struct ux_out *out, bool wide, const struct make_macho_slice *slices, size_t n);

#endif
