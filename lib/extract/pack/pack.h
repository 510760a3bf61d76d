/* SPDX-License-Identifier: Apache-2.0 */
/* The second and third phase of an extraction: pieces are merged, and encoded as a GSYM on several
 * threads. */
#ifndef UX_PACK_H
#define UX_PACK_H

#include "code_symbols.h"
#include "collect.h"
#include "gsym_segments.h"
#include "unhex/quality.h"

/* Data that only readers use, in numbered parts. Threads that would otherwise wait for another one
 * release it: giving back the pages of a large file takes as long as the merge. */
struct ux_release {
	void (*fn)(void *ctx, size_t part); /* called by several threads, once for each part */
	void *ctx;
	size_t first, end; /* the parts [first, end) */
};

/* --- Second phase: merging -------------------------------------------------------------------- */

struct ux_merge_input {
	const struct ux_collection *collection;
	const struct ux_code_symbol_vec *symbols;
	unsigned threads;
	struct ux_spill *spill;    /* regions for large lists; NULL: they are in memory */
	struct ux_release release; /* callback that releases data; not called with one thread */
};

enum {
	UX_FUNCTION_PARTS = 16, /* most parts into which functions are divided for the merge */
	UX_SYMBOL_ARENAS = UX_FUNCTION_PARTS, /* index of the arenas of symbols */
	UX_MERGE_ARENAS,
};

/* The memory for a merge's result. Threads work on parts of the functions and on symbols at the
 * same time, so each has its own arenas. The budget of `names` bounds the total size of names. */
struct ux_merge_memory {
	struct ux_merge_arenas {
		struct ux_arena parts; /* pieces that were cut */
		struct ux_arena names; /* names that had to be shortened */
	} arenas[UX_MERGE_ARENAS];
};

/* Begins with no memory. pieces, names: the budgets for each kind of arena, in bytes. */
void ux_merge_memory_init(struct ux_merge_memory *memory, uint64_t pieces, uint64_t names,
			  struct ux_spill *spill);
void ux_merge_memory_deinit(struct ux_merge_memory *memory);

/*
 * Merges functions and symbols into pieces in address order, which do not overlap and all have a
 * name. Functions of DWARF and Go take precedence. If functions overlap, the addresses belong to
 * the function that begins later or, if two have the same start, to the shorter one; the rest of
 * the other function on both sides keeps its name. If functions have the same range, the function
 * of the first unit with rows is used. Symbols get the addresses that no function covers, with the
 * rows of a unit's line table if it has any there.
 */
enum ux_code ux_merge(const struct ux_merge_input *input, struct ux_merge_memory *memory,
		      struct ux_piece_vec *ret, struct ux_error *err) ux_must;

/* Another name for the range of a piece. */
struct ux_alternative {
	uint32_t piece; /* index of the piece */
	const char *name;
};

UX_VEC(ux_alternative_vec, struct ux_alternative);

enum {
	/* names of one range; linkers fold thousands of empty functions into one */
	UX_ALTERNATIVES_MAX = 8
};

/*
 * Appends the other names of each piece to ret, in the order of pieces: the names of symbols and
 * DWARF functions that begin and end with the piece. Symbols come first, the best rank first, then
 * DWARF's functions in the order of their units; at most UX_ALTERNATIVES_MAX for each piece. Names
 * that are like the piece's own or a previous one are left out (ux_names_alike()). Text that is not
 * in the input is allocated in arena.
 */
enum ux_code ux_alternatives_find(const struct ux_collection *collection,
				  const struct ux_code_symbol_vec *symbols,
				  const struct ux_piece_vec *pieces, struct ux_arena *arena,
				  struct ux_alternative_vec *ret, struct ux_error *err) ux_must;

/*
 * Returns true when two linkage names name the same function for a reader. They then differ only in
 * leading __GI_ or underscores (glibc's internal aliases), in suffixes of clones (.constprop.0,
 * .cold, ...), in the kind of constructor or destructor (C1 and C2), or in a Rust hash.
 */
bool ux_names_alike(struct ux_bytes a, struct ux_bytes b);

/* A symbol in a piece, with a name that differs from the name of the piece. */
struct ux_piece_symbol {
	uint32_t piece; /* index of the piece */
	uint32_t off;   /* bytes from its start */
	struct ux_bytes name;
};

UX_VEC(ux_piece_symbol_vec, struct ux_piece_symbol);
UX_VEC(ux_piece_number_vec, uint32_t);

/* Facts about symbols that the names of pieces do not show. Zeroed is empty. */
struct ux_piece_symbols {
	struct ux_piece_symbol_vec names; /* ascending by piece and offset */
	/* Pieces, ascending, whose names are symbols elsewhere: such a piece is not the start of
	 * its function. */
	struct ux_piece_number_vec parts;
};

void ux_piece_symbols_deinit(struct ux_piece_symbols *s);

/*
 * Finds the symbols that begin in a piece and have a different name, in the order of the
 * symbols, at most UX_CODE_ALIASES_MAX at one address, and the pieces that are not the start of
 * their function. Reads at most bytes_max bytes of names; symbols after that are left out. The
 * names point into the symbols.
 */
enum ux_code ux_piece_symbols_find(const struct ux_code_symbol_vec *symbols,
				   const struct ux_piece_vec *pieces, uint64_t bytes_max,
				   struct ux_piece_symbols *ret, struct ux_error *err) ux_must;

struct ux_pack_target {
	unsigned version; /* version of the GSYM; 0: the lowest that can hold it */
	uint64_t v1_max;  /* largest size of a version 1 file; 0: as large as version 1 can hold */
	bool swap;
	uint64_t base;
	const struct ux_gsym_segments *segments; /* NULL, or empty: unknown */
	struct ux_bytes uuid;
	unsigned threads;
	uint64_t strings_max; /* limit on the total size of names and paths */
	const struct ux_alternative_vec *alternatives; /* sorted by piece; NULL: none */
	const struct ux_piece_symbols *symbols;        /* NULL: none */
	struct ux_column_vec *columns; /* receives the column of each file; NULL: not needed */
	struct ux_spill *spill;     /* holds large tables, and records until they are written; NULL:
				       they are in memory */
	ux_gsym_write_at_fn *place; /* writes records at their offsets, with the context of the
				       sink; NULL: everything goes through the sink */
	struct ux_release release;  /* callback that releases data; not called with one thread */
};

/*
 * Numbers names and files, encodes every piece and passes the file to sink. Only names and files
 * that a piece uses get into the tables. The encoded sizes decide whether version 2 is needed, so
 * the choice does not depend on the number of threads. UX_ELIMIT: the requested version cannot hold
 * the file.
 */
enum ux_code ux_pack(const struct ux_collection *collection, const struct ux_piece_vec *pieces,
		     const struct ux_pack_target *target, ux_gsym_sink_fn *sink, void *ctx,
		     struct ux_error *err) ux_must;

/* Counts the content of the pieces. */
void ux_pack_count(const struct ux_piece_vec *pieces, struct ux_counts *ret);

#endif
