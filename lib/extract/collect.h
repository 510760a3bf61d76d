/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction: every unit that a reader gives is cut into pieces, on several
 * threads. */
#ifndef UX_COLLECT_H
#define UX_COLLECT_H

#include "arena.h"
#include "code_reader.h"
#include "code_symbols.h"
#include "dwarf_code.h"
#include "dwarf_line.h"
#include "gsym_draft.h"
#include "vec.h"

/* A piece: one address range of one function, with its lines and inlined calls, on its way to a
 * record. */

#define UX_PIECE_NO_UNIT UINT32_MAX

/* A unit's number of the file of rows that say "no line here": it has no name. LLVM's reader takes
 * no row of file 0. */
#define UX_FILE_NAMELESS 1

/*
 * Numbers of names and files in the draft are the unit's own until the pieces are packed.
 * Everything pointed to lives in the collector's arenas.
 */
struct ux_piece {
	uint64_t start;   /* pc */
	uint32_t size;    /* bytes, at least 1 */
	uint32_t unit;    /* whose numbers; UX_PIECE_NO_UNIT: none are used */
	const char *name; /* linkage name, or a qualified one; NULL when the unit gave none */
	uint32_t own; /* where in the name the function's own begins, behind what qualifies it */
	struct ux_gsym_draft draft;
};

UX_VEC(ux_piece_vec, struct ux_piece);

ux_inline uint64_t ux_piece_end(const struct ux_piece *p)
{
	return p->start + p->size;
}

/*
 * One piece read back, for parts to be cut of it: thousands of others may stand in it, and it is
 * read once for all of them. Zeroed is empty.
 */
struct ux_piece_reader {
	const struct ux_piece *whole;
	struct ux_arena arena;
	struct ux_gsym_content content;
	uint32_t n_ranges; /* of its inlined calls together */
};

/* Reads whole, which must stay, unless that one was read last. */
enum ux_code ux_piece_read(struct ux_piece_reader *reader, const struct ux_piece *whole,
			   struct ux_error *err) ux_must;
void ux_piece_reader_deinit(struct ux_piece_reader *reader);

/*
 * The part [lo, hi) of the piece that was read, which it must lie in: rows and, with `calls`,
 * inlined calls cut to it, drafted into the arena.
 */
enum ux_code ux_piece_cut(const struct ux_piece_reader *reader, uint64_t lo, uint64_t hi,
			  bool calls, struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			  struct ux_piece *ret, struct ux_error *err) ux_must;

/*
 * The rows of `from`, which lies in [lo, hi), as those of the whole of it: in front of them and
 * behind them the line is unknown. Drafted into the arena.
 */
enum ux_code ux_piece_widen(const struct ux_piece *from, uint64_t lo, uint64_t hi,
			    struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			    struct ux_gsym_draft *ret, struct ux_error *err) ux_must;

/* What one unit gave. */
struct ux_unit_pieces {
	struct ux_piece *functions; /* in the reader's order */
	struct ux_piece *
		lines; /* rows that no function of the unit covers, for symbols: assembly, thunks */
	uint32_t n_functions;
	uint32_t n_lines;
	const char **names; /* by the numbers in inlines */
	uint32_t n_names;
	uint32_t n_files;
	struct ux_code_file *files;   /* by number in rows and call_file; 0 none, 1 nameless */
	struct ux_code_damage damage; /* units, tables and lists that were given up */
	uint8_t note;                 /* the reader's (ux_code_unit.note) */
};

/* All of them. The arenas own everything, the strings of the sections excepted. */
struct ux_collection {
	struct ux_unit_pieces *units; /* malloc'ed */
	size_t n_units;
	struct ux_arena *arenas; /* malloc'ed, one a thread */
	unsigned n_arenas;
	uint64_t bad_headers; /* units that cannot be found */
	struct ux_error reason;
};

/* Where the text of an extraction goes, and on how many threads it is made. */
struct ux_collect_options {
	const struct ux_code_symbol_vec
		*symbols; /* settled; lines outside of functions are kept for them */
	unsigned threads;
	const char *spill; /* NULL: pieces go into memory; else onto the disk of that folder */
	/* True for a range of which nothing but a function's name is needed; NULL: all is. */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
};

/* Bytes of units that are read in one wave, of `total`: a part of the whole, but not less than
 * keeps many threads busy. */
uint64_t ux_collect_wave_bytes(uint64_t total);

/*
 * Reads all units of the reader. The result does not depend on the number of threads. Damage costs
 * the unit it is in and is counted; fails for want of memory only, or when a wave does not come.
 */
enum ux_code ux_collect_units(const struct ux_code_reader *reader,
			      const struct ux_collect_options *options, struct ux_collection *ret,
			      struct ux_error *err) ux_must;
void ux_collection_free(struct ux_collection *collection);

#endif
