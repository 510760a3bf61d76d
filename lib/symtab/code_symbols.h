/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the symbols of code from symbol tables, and choosing one for each address. */
#ifndef UX_CODE_SYMBOLS_H
#define UX_CODE_SYMBOLS_H

#include "arena.h"
#include "function_bounds.h"
#include "spill_vec.h"

/*
 * A symbol of code. If several symbols have one address, the best is chosen: sized before unsized,
 * function before untyped, exported before local, fewer leading underscores, default version,
 * global before weak, shorter name, then byte order. So the choice never depends on the order of a
 * table.
 */
struct ux_code_symbol {
	uint64_t start;     /* pc */
	uint64_t size;      /* bytes; 0: unknown */
	const char *name;   /* points into the file; a version (@VERS) may follow, see name_size */
	uint32_t name_size; /* bytes without the version */
	uint8_t bind;       /* STB_* */
	bool untyped;       /* STT_NOTYPE */
	bool exact;         /* from .dynsym: without a size it covers only its own address */
};

UX_SPILL_VEC(ux_code_symbol_vec, struct ux_code_symbol);

/* Statistics of one symbol table. */
struct ux_code_symbols_found {
	size_t symbols; /* symbols of code in the text, except symbols of a list beside the table */
	bool local; /* some of the symbols are not exported, or are in a list beside the table */
};

/*
 * Appends the code symbols of a table that lie in text. When the symbols are addresses of function
 * descriptors, the descriptors are read from exe, since a debug file lacks their content. A missing
 * table adds none. UX_ECORRUPT: the table is damaged.
 */
enum ux_code ux_code_symbols_read(const struct ux_object *object, enum ux_object_table table,
				  const struct ux_object *exe, const struct ux_range_set *text,
				  struct ux_code_symbol_vec *out, struct ux_code_symbols_found *ret,
				  struct ux_error *err) ux_must;

/*
 * Returns the bytes of memory that an extraction needs at most for the names and bounds of
 * functions in the object's tables; NULL has none.
 */
uint64_t ux_code_symbols_need(const struct ux_object *object);

/*
 * The name of functions without a name (UX_NO_NAME). All such symbols and pieces have this very
 * pointer, so that pointers can be compared.
 */
extern const char ux_no_name[];

/*
 * Appends the object's stubs that lie in text, as NAME@plt, or *ABS*+0xPC@plt as binutils writes
 * it; the names are allocated in `names`.
 */
enum ux_code ux_code_symbols_read_stubs(const struct ux_object *object,
					const struct ux_range_set *text, struct ux_arena *names,
					struct ux_code_symbol_vec *out, struct ux_error *err)
	ux_must;

/*
 * Gives symbols a size from the function bounds. When the bounds are complete, every symbol ends
 * where the next function starts, with or without a name. Otherwise only symbols of .dynsym without
 * a size get one: the size of the bounds that begin at their pc. Must be called before
 * ux_code_symbols_sort().
 */
void ux_code_symbols_bound(struct ux_code_symbol_vec *symbols,
			   const struct ux_function_bounds *bounds);

/*
 * Adds functions without a name between sorted symbols: for each of the bounds that begins without
 * a symbol, one named ux_no_name, up to the end of the bounds or to the next symbol. *ret_n is the
 * number added.
 */
enum ux_code ux_code_symbols_fill(struct ux_code_symbol_vec *symbols,
				  const struct ux_range_vec *bounds, uint64_t *ret_n,
				  struct ux_error *err) ux_must;

/*
 * Sorts by address, and at one address the best symbol first. Removes duplicates, and labels inside
 * of sized symbols. A symbol without a size then ends at the next symbol or at the end of its
 * section.
 */
void ux_code_symbols_sort(struct ux_code_symbol_vec *symbols, const struct ux_range_set *text);

/* Returns the first symbol that begins at or after pc; NULL when none does. */
const struct ux_code_symbol *ux_code_symbols_from(const struct ux_code_symbol_vec *symbols,
						  uint64_t pc);

/*
 * Returns the index of the first symbol that begins at or after pc; the number of symbols when none
 * does.
 */
ux_inline size_t ux_code_symbols_index_from(const struct ux_code_symbol_vec *symbols, uint64_t pc)
{
	const struct ux_code_symbol *from = ux_code_symbols_from(symbols, pc);
	return from ? (size_t)(from - symbols->data) : symbols->size;
}

/*
 * Finds symbols by pc with one access to a table that has about as many entries as there are
 * symbols; a binary search would wait for memory several times. A zeroed index has no symbols.
 */
struct ux_code_symbol_index {
	const struct ux_code_symbol_vec *symbols;
	uint32_t *first; /* malloc'ed: the first symbol of each part of the addresses, and one after
			    the last part; NULL: only one part */
	unsigned shift;  /* a part has 2^shift bytes */
};

/* Makes the index of sorted symbols, which must stay unchanged while it is used. Returns false when
 * memory is short. */
bool ux_code_symbol_index_init(struct ux_code_symbol_index *index,
			       const struct ux_code_symbol_vec *symbols);
void ux_code_symbol_index_deinit(struct ux_code_symbol_index *index);

/* As ux_code_symbols_from(). Any thread. */
const struct ux_code_symbol *ux_code_symbol_index_from(const struct ux_code_symbol_index *index,
						       uint64_t pc);

enum {
	UX_CODE_ALIASES_MAX = 64, /* symbols of one address that are compared; libc has 9 */
};

/* Counts the symbols, from number `first` on, that begin at pc; at most UX_CODE_ALIASES_MAX. */
size_t ux_code_symbols_count(const struct ux_code_symbol_vec *symbols, size_t first, uint64_t pc);

/*
 * Returns the symbols that begin at pc, the best first: an array of *ret_n, at most
 * UX_CODE_ALIASES_MAX.
 */
const struct ux_code_symbol *ux_code_symbols_at(const struct ux_code_symbol_vec *symbols,
						uint64_t pc, size_t *ret_n);

#endif
