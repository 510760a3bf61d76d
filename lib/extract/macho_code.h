/* SPDX-License-Identifier: Apache-2.0 */
/* Where a Mach-O file keeps its code, and what names it. */
#ifndef UX_MACHO_CODE_H
#define UX_MACHO_CODE_H

#include "arena.h"
#include "code_symbols.h"
#include "collect.h"
#include "macho_file.h"

/*
 * The sections with code (of the executable segments when there are none), sorted and disjoint, as
 * a malloc'ed list in *ret. A dSYM file has the same places without content.
 */
enum ux_code ux_macho_text(const struct ux_macho *macho, struct ux_range_vec *ret,
			   struct ux_error *err) ux_must;

/* What there was to name code with. */
struct ux_macho_names {
	size_t symbols; /* names of code in the symbol table */
	bool local;     /* some of them are not exported */
};

/*
 * Appends the names of code that lies in text: the symbol table's, whose leading underscore is left
 * out, and functions of the debug map, which have a size. UX_ECORRUPT: a table leaves the file.
 */
enum ux_code ux_macho_code_symbols(const struct ux_macho *macho, const struct ux_range_set *text,
				   struct ux_code_symbol_vec *out, struct ux_macho_names *ret,
				   struct ux_error *err) ux_must;

/* Appends stubs that lie in text, as NAME@plt; the texts are made in arena. */
enum ux_code ux_macho_stub_symbols(const struct ux_macho *macho, const struct ux_range_set *text,
				   struct ux_arena *arena, struct ux_code_symbol_vec *out,
				   struct ux_error *err) ux_must;

/*
 * The functions that lie in text, each up to where the next one starts or its section ends, as a
 * malloc'ed list in *ret (LC_FUNCTION_STARTS). UX_ECORRUPT: the table leaves the file.
 */
enum ux_code ux_macho_bounds(const struct ux_macho *macho, const struct ux_range_set *text,
			     struct ux_range_vec *ret, struct ux_error *err) ux_must;

/*
 * Ends the symbols without a size where the next function starts, named or not: without that they
 * reach up to the next symbol. Sorts them. Before ux_code_symbols_settle().
 */
void ux_macho_bound_symbols(const struct ux_range_vec *bounds, struct ux_code_symbol_vec *symbols);

/*
 * Ends the symbols where the collected function that begins at the same place does: a size in a
 * Mach-O file, told or not, has the padding up to the next function in it. After collecting.
 */
enum ux_code ux_macho_trim_symbols(const struct ux_collection *collection,
				   struct ux_code_symbol_vec *symbols, struct ux_error *err)
	ux_must;

#endif
