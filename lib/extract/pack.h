/* SPDX-License-Identifier: Apache-2.0 */
/* The second and third phase of an extraction: pieces are merged, and encoded as a GSYM on several
 * threads. */
#ifndef UX_PACK_H
#define UX_PACK_H

#include "code_symbols.h"
#include "collect.h"
#include "unhex/quality.h"

/* The second phase of an extraction: one piece for each address, out of DWARF and symbols. */

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

/* Another name of a piece's range. */
struct ux_alternative {
	uint32_t piece; /* index */
	const char *name;
};

UX_VEC(ux_alternative_vec, struct ux_alternative);

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

struct ux_pack_target {
	unsigned version; /* of the GSYM; 0: the first that holds it */
	uint64_t v1_most; /* bytes that version 1 is taken to hold; 0: what it does hold */
	bool swap;
	uint64_t base;
	struct ux_bytes uuid;
	unsigned threads;
	uint64_t strings_most; /* bytes that names and paths may add up to */
	const struct ux_alternative_vec *alternatives; /* ascending by piece; NULL: none */
	const char *
		spill; /* NULL, or the folder whose disk holds the records until they are written */
	ux_gsym_write_at_fn
		*place; /* NULL: all goes through the sink, whose context this has, too */
};

/*
 * Numbers names and files, encodes every piece and hands the file to sink. Version 2 is chosen by
 * the sizes of what was encoded, so not by the number of threads. UX_ELIMIT: the version asked for
 * does not hold it. Only what a piece uses gets into the string and file tables.
 */
enum ux_code ux_pack(const struct ux_collection *collection, const struct ux_piece_vec *pieces,
		     const struct ux_pack_target *target, ux_gsym_sink_fn *sink, void *ctx,
		     struct ux_error *err) ux_must;

/* Adds up what the pieces hold. */
void ux_pack_count(const struct ux_piece_vec *pieces, struct ux_counts *ret);

#endif
