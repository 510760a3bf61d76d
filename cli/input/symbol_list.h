/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of an ELF file by address and by name. They include variables, which a GSYM does not
 * have. */
#ifndef UX_SYMBOL_LIST_H
#define UX_SYMBOL_LIST_H

#include "elf_file.h"
#include "file.h"
#include "vec.h"

struct ux_listed_symbol {
	uint64_t start; /* pc */
	uint64_t size;
	const char *name; /* points into the mapped file; may end with a version (@VERS) */
	const char *file; /* source file of a local symbol, from the symbol table; "" if unknown */
	size_t index;     /* index in the table */
	bool is_code;
	bool is_global;
};

/* Returns the name of the symbol without its version. */
static inline struct ux_bytes ux_listed_symbol_name(const struct ux_listed_symbol *s)
{
	const char *at = *s->name ? strchr(s->name + 1, '@') : NULL;
	return at ? ux_bytes(s->name, (size_t)(at - s->name)) : ux_bytes_cstr(s->name);
}

UX_VEC(ux_listed_symbols, struct ux_listed_symbol);

/* The list of one file. The names of symbols point into the file, which stays mapped until the
 * list is closed. Zeroed = closed. */
struct ux_symbol_list {
	struct ux_mapping file;
	struct ux_elf elf;
	/* sorted by start; in a relocatable file code comes first, because its data sections begin
	 * at 0 too */
	struct ux_listed_symbols symbols;
	size_t n_first; /* symbols of the first part: all of a linked file, the code of another */
};

/*
 * Reads the functions and variables of .symtab, or of .dynsym if there is no .symtab;
 * llvm-symbolizer takes its names from the same tables. The list of a file that is not ELF is
 * empty. A compressed file is decompressed. Returns the codes of ux_file_map().
 */
enum ux_code ux_symbol_list_open(struct ux_symbol_list *l, const char *path, struct ux_error *err)
	ux_must;
void ux_symbol_list_close(struct ux_symbol_list *l);

/*
 * Returns the last symbol that starts at or before pc if it contains pc or has no size, else NULL.
 * If several symbols are at one address, it is the largest, and of equally large ones the last in
 * the table. In a relocatable file, whose sections all begin at 0, pc is taken as in lookups and
 * names code; a variable is returned only where there is no code.
 */
const struct ux_listed_symbol *ux_symbol_list_at(const struct ux_symbol_list *l, uint64_t pc);

/* The same for a request for data: in a relocatable file variables come first. */
const struct ux_listed_symbol *ux_symbol_list_data_at(const struct ux_symbol_list *l, uint64_t pc);

/* Returns the first symbol with that name, preferring a global one; NULL: no such symbol. */
const struct ux_listed_symbol *ux_symbol_list_named(const struct ux_symbol_list *l,
						    struct ux_bytes name);

#endif
