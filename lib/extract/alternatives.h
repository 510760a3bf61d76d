/* SPDX-License-Identifier: Apache-2.0 */
/* Which other names of a function's range are worth keeping. */
#ifndef UX_ALTERNATIVES_H
#define UX_ALTERNATIVES_H

#include "pack.h"

enum {
	UX_ALTERNATIVES_MOST = 8 /* of one range; linkers fold thousands of empty functions */
};

/*
 * The names, other than a piece's own, of symbols and DWARF functions that begin and end where it
 * does, appended to ret in the order of pieces; symbols come first, best rank first, then DWARF's
 * functions in the order of their units, UX_ALTERNATIVES_MOST in all. Names that say nothing new
 * next to the piece's own or to one before them are left out (ux_names_alike()). Text that is not
 * the input's is in arena.
 */
enum ux_code ux_alternatives_find(const struct ux_collection *collection,
				  const struct ux_code_symbol_vec *symbols,
				  const struct ux_piece_vec *pieces, struct ux_arena *arena,
				  struct ux_alternative_vec *ret, struct ux_error *err) ux_must;

/*
 * True when two linkage names are one function's for a reader: they differ only in __GI_ or
 * underscores in front (glibc's names for itself), in suffixes of clones (.constprop.0, .cold,
 * ...), in the kind of constructor or destructor (C1 and C2), or in a Rust hash.
 */
bool ux_names_alike(struct ux_bytes a, struct ux_bytes b);

#endif
