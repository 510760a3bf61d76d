/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols that name code, one for each address: the symbol tables' part of a GSYM. */
#ifndef UX_CODE_SYMBOLS_H
#define UX_CODE_SYMBOLS_H

#include "arena.h"
#include "function_bounds.h"

/*
 * Ranks of two symbols at one address, from the better to the worse: sized over unsized,
 * function over untyped, global over weak over local, fewer leading underscores, shorter, then byte
 * order: so the choice never depends on a table's order.
 */
struct ux_code_symbol {
	uint64_t start;     /* pc */
	uint64_t size;      /* bytes; 0: not known */
	const char *name;   /* in the file; a version (@VERS) may follow, see name_size */
	uint32_t name_size; /* bytes without the version */
	uint8_t bind;       /* STB_* */
	bool untyped;       /* STT_NOTYPE */
	bool exact;         /* of .dynsym: without a size it stands for its own address only */
};

UX_VEC(ux_code_symbol_vec, struct ux_code_symbol);

/* What a symbol table had. */
struct ux_code_symbols_found {
	size_t symbols; /* names of code in the text, but those of a list beside the table */
	bool local;     /* some names are not exported, or in a list beside the table */
};

/*
 * Appends the code symbols of a table that lie in text. Where they name function descriptors, exe
 * has those: a debug file lacks their content. A missing table adds none; a damaged one is
 * UX_ECORRUPT.
 */
enum ux_code ux_code_symbols_read(const struct ux_object *object, enum ux_object_table table,
				  const struct ux_object *exe, const struct ux_range_set *text,
				  struct ux_code_symbol_vec *out, struct ux_code_symbols_found *ret,
				  struct ux_error *err) ux_must;

/* The name of what has none (UX_NO_NAME): all such symbols and pieces have this very pointer. */
extern const char ux_no_name[];

/* Appends the object's stubs that lie in text, as NAME@plt, or *ABS*+0xPC@plt as binutils writes
 * it; the texts are made in names. */
enum ux_code ux_code_symbols_read_stubs(const struct ux_object *object,
					const struct ux_range_set *text, struct ux_arena *names,
					struct ux_code_symbol_vec *out, struct ux_error *err)
	ux_must;

/*
 * Gives symbols without a size one of the bounds: those of .dynsym the size of the bounds that
 * begin at their pc. Where the bounds are complete, every symbol ends where the next function
 * starts, whether that has a name or not. Before ux_code_symbols_sort().
 */
void ux_code_symbols_bound(struct ux_code_symbol_vec *symbols,
			   const struct ux_function_bounds *bounds);

/*
 * Adds what is between sorted symbols: for each of the bounds that begins where no symbol is, one
 * named ux_no_name, up to its end or to the next symbol. *ret_n counts them.
 */
enum ux_code ux_code_symbols_fill(struct ux_code_symbol_vec *symbols,
				  const struct ux_range_vec *bounds, uint64_t *ret_n,
				  struct ux_error *err) ux_must;

/*
 * Sorts by address, the best name of each first; drops repeats and labels inside of sized symbols;
 * gives every symbol without a size one: up to the next symbol or the end of its section.
 */
void ux_code_symbols_sort(struct ux_code_symbol_vec *symbols, const struct ux_range_set *text);

/* The first symbol that begins at pc or behind it; NULL when none does. */
const struct ux_code_symbol *ux_code_symbols_from(const struct ux_code_symbol_vec *symbols,
						  uint64_t pc);

enum {
	UX_CODE_ALIASES_MOST = 64, /* symbols of one address that are compared; libc has 9 */
};

/* How many symbols from number `first` on begin at pc; at most UX_CODE_ALIASES_MOST. */
size_t ux_code_symbols_count(const struct ux_code_symbol_vec *symbols, size_t first, uint64_t pc);

/* The symbols that begin at pc, the best first: *ret_n of them from the returned one on, at most
 * UX_CODE_ALIASES_MOST. */
const struct ux_code_symbol *ux_code_symbols_at(const struct ux_code_symbol_vec *symbols,
						uint64_t pc, size_t *ret_n);

#endif
