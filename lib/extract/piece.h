/* SPDX-License-Identifier: Apache-2.0 */
/* A piece: one address range of one function, with its lines and inlined calls, on its way to a
 * record. */
#ifndef UX_PIECE_H
#define UX_PIECE_H

#include "arena.h"
#include "dwarf_code.h"
#include "dwarf_line.h"
#include "gsym_draft.h"
#include "vec.h"

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

#endif
