/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the symbol table (LC_SYMTAB), the list of function starts, and stubs.
 *
 *   nlist     n_strx u32, n_type u8, n_sect u8 (from 1), n_desc u16, n_value (u32 or u64)
 *   starts    LC_FUNCTION_STARTS: ULEB128 distances, the first from the start of __TEXT, up to a 0
 *   stubs     sections of S_SYMBOL_STUBS: stubs of reserved2 bytes; their symbols are numbered in
 *             the indirect symbol table from entry reserved1 on
 *
 * Source: Apple's <mach-o/nlist.h>, <mach-o/loader.h>.
 */
#ifndef UX_MACHO_SYMBOLS_H
#define UX_MACHO_SYMBOLS_H

#include "cursor.h"
#include "macho_file.h"

struct ux_macho_symbol {
	const char *name; /* points into the file, with the leading underscore; "" when the symbol
			     has none */
	uint8_t type;     /* n_type */
	uint8_t section;  /* n_sect; 0: none */
	uint16_t desc;    /* n_desc */
	uint64_t value;   /* n_value: a pc for symbols of a section */
};

/* An iterator over a symbol table. It needs no release; `symbol` is overwritten by each step. */
struct ux_macho_symbols {
	const struct ux_macho *macho;
	struct ux_bytes table;
	struct ux_bytes strings; /* up to the last NUL */
	uint64_t count;
	uint64_t next;
	struct ux_macho_symbol symbol;
};

/* UX_ECORRUPT: the table exceeds the file. Without LC_SYMTAB there are no symbols. */
enum ux_code ux_macho_symbols_open(const struct ux_macho *m, struct ux_macho_symbols *ret,
				   struct ux_error *err) ux_must;
/* Returns NULL after the last symbol. */
const struct ux_macho_symbol *ux_macho_symbols_next(struct ux_macho_symbols *it);
/* Returns symbol number i, or NULL. */
const struct ux_macho_symbol *ux_macho_symbols_at(struct ux_macho_symbols *it, uint64_t i);

/* Returns true for a symbol with a name in a section with code. */
bool ux_macho_symbol_is_code(const struct ux_macho *m, const struct ux_macho_symbol *s);

/* Returns the compiler's own spelling of a name: the object format adds one leading underscore. */
ux_inline const char *ux_macho_plain_name(const char *name)
{
	return name[0] == '_' ? name + 1 : name;
}

/* An iterator over the starts of functions, in ascending order. */
struct ux_macho_starts {
	struct ux_cur cur;
	uint64_t pc;
	bool done;
};

/* UX_ECORRUPT: the list exceeds the file. Without a list there are no starts. */
enum ux_code ux_macho_starts_open(const struct ux_macho *m, struct ux_macho_starts *ret,
				  struct ux_error *err) ux_must;
/* Reads the next start. False after the last one. Damage ends the list, too. */
bool ux_macho_starts_next(struct ux_macho_starts *it, uint64_t *ret_pc);

struct ux_macho_stub {
	uint64_t pc;
	uint64_t size;
	const char *name; /* name of its target, with the leading underscore */
};

struct ux_macho_stubs {
	struct ux_macho_symbols symbols;
	struct ux_bytes indirect;
	uint64_t left; /* most further stubs: each needs an entry of its own */
	size_t section;
	uint64_t next; /* index of the next stub in that section */
	struct ux_macho_stub stub;
};

/* UX_ECORRUPT: the tables exceed the file. */
enum ux_code ux_macho_stubs_open(const struct ux_macho *m, struct ux_macho_stubs *ret,
				 struct ux_error *err) ux_must;
/* Returns the next stub with a named target; NULL after the last one. */
const struct ux_macho_stub *ux_macho_stubs_next(struct ux_macho_stubs *it);

#endif
