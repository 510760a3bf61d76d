/* SPDX-License-Identifier: Apache-2.0 */
/* The second phase of an extraction: one piece for each address, out of DWARF and symbols. */
#ifndef UX_MERGE_H
#define UX_MERGE_H

#include "code_symbols.h"
#include "collect.h"

/*
 * Pieces in address order, none overlapping, each named. DWARF comes first: of functions that
 * overlap, the one that begins later (then the shorter) has the addresses both claim, and what is
 * left of the other on both sides keeps its name; of functions with the same range that of
 * the first unit with rows stays. Symbols get the addresses that
 * no function has, with lines where a unit's table covers them. What is cut goes into arena, names
 * that are shortened into `names`, whose budget bounds what they add up to.
 */
enum ux_code ux_merge(const struct ux_collection *collection,
		      const struct ux_code_symbol_vec *symbols, struct ux_arena *arena,
		      struct ux_arena *names, struct ux_piece_vec *ret, struct ux_error *err)
	ux_must;

#endif
