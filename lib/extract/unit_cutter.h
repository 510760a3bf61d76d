/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a unit of code into pieces: unit_cutter.c cuts its functions, unit_rows.c their rows and
 * unit_calls.c their inlined calls. claims.c avoids that copies of one function are cut again. */
#ifndef UX_UNIT_CUTTER_H
#define UX_UNIT_CUTTER_H

#include "code_budget.h"
#include "code_symbols.h"
#include "collect.h"

#include <stdatomic.h>

/*
 * Which function is told already: C++ has the same inline function in hundreds of units, and the
 * merge keeps the first unit's copy alone. To read the others' lines and inlined calls would be in
 * vain.
 *
 * Units are read in waves, one after the other; a wave sees what earlier ones claimed and nothing
 * of its own. So what is left unread does not depend on threads.
 */

enum {
	UX_WAVES_MOST = 16
};

/* One place a symbol: only what begins where a symbol does is claimed. */
struct ux_claims {
	const struct ux_code_symbol_vec *symbols;
	_Atomic uint64_t *places; /* the claiming unit and the size; 0: nobody */
	uint8_t *wave_of;         /* of each unit */
	size_t n_units;
};

/* False when memory is short. There are no units at first. */
bool ux_claims_init(struct ux_claims *claims, const struct ux_code_symbol_vec *symbols);
/* Makes wave_of that of n_units, more than before; the new ones are in wave 0. False when memory is
 * short. Nobody claims meanwhile. */
bool ux_claims_grow(struct ux_claims *claims, size_t n_units);
void ux_claims_deinit(struct ux_claims *claims);

/* Unit `unit` has rows for all of [start, start + size). Any thread. */
void ux_claims_add(struct ux_claims *claims, uint32_t unit, uint64_t start, uint32_t size);

/* Takes back what units of the wave have claimed. Nobody claims meanwhile. */
void ux_claims_forget(struct ux_claims *claims, uint8_t wave);

/* True when a unit of an earlier wave, and with a lower number, has claimed just that range. */
bool ux_claims_has(const struct ux_claims *claims, uint32_t unit, uint64_t start, uint64_t size);

UX_VEC(ux_gsym_row_vec, struct ux_gsym_row);
UX_VEC(ux_gsym_range_vec, struct ux_gsym_range);
UX_VEC(ux_number_vec, uint32_t);

/* An inlined call around the one at hand. */
struct ux_open_call {
	uint32_t index;    /* in the cutter's inlines */
	uint32_t children; /* how far its children so far reach */
};

UX_VEC(ux_open_call_vec, struct ux_open_call);

/* What the batch at hand may still cost. */
struct ux_cut_budgets {
	struct ux_budget steps;   /* rows, calls and ranges that are looked at */
	struct ux_budget overlap; /* pairs of calls that are compared */
	struct ux_budget kept;    /* rows, calls and ranges in pieces */
	struct ux_budget text;    /* bytes of directories that are put together */
	struct ux_budget pieces;  /* of the unit at hand alone */
};

/* One thread's working memory, kept from unit to unit. Zeroed is ready. */
struct ux_unit_cutter {
	struct ux_arena *arena;          /* where results go */
	const struct ux_code_unit *unit; /* the one at hand */
	struct ux_cut_budgets left;
	bool cut_short;       /* rows of the piece at hand were */
	uint64_t tables_seen; /* tables of the batch below this one have been counted */
	bool gaps_done;       /* gaps_of's are cut already */
	uint64_t gaps_of;     /* the table that gaps were cut of last */
	const struct ux_code_symbol_vec
		*symbols;         /* settled: lines outside of functions are kept for them */
	struct ux_claims *claims; /* what has rows is claimed there; NULL: nothing is */
	struct ux_gsym_row_vec rows;
	struct ux_code_inline_vec inlines;
	struct ux_gsym_range_vec ranges;
	struct ux_number_vec file_numbers; /* the unit's number -> ours + 1; 0: not met yet */
	struct ux_code_file_vec files;
	struct ux_open_call_vec open; /* from the outermost in; [0] is the function itself */
	bool overlap;                 /* siblings of the function at hand may overlap */
	struct ux_gsym_drafter drafter;
	struct ux_piece_vec functions;
	struct ux_piece_vec gaps;
	struct ux_code_last_dir last_dir;
};

/*
 * What pieces may cost (code_budget.h). Honest functions are disjoint or nested, so that the sum of
 * what they hold is about what the unit holds; thousands of functions on one range, or of units on
 * one line table, would hold it thousands of times.
 */
enum {
	/* The first batch's free allowance. */
	UX_CUT_STEPS_FREE = 1 << 24,
	UX_CUT_OVERLAP_FREE = 1 << 25,
	UX_CUT_KEPT_FREE = 1 << 20,
	UX_CUT_TEXT_FREE = 1 << 22,

	/* Steps: for each row, call and range of a unit, and for each byte of it. */
	UX_CUT_STEPS_EACH = 16,
	UX_CUT_STEPS_BYTE = 64,
	/* Pairs of calls that are compared, since one claims what another has: for each call and
	 * each byte. A function of thousands of calls needs millions. */
	UX_CUT_OVERLAP_EACH = 256,
	UX_CUT_OVERLAP_BYTE = 128,
	/* Rows, calls and ranges kept. */
	UX_CUT_KEPT_EACH = 4,
	UX_CUT_KEPT_RANGE = 1,
	UX_CUT_KEPT_BYTE = 4,
	/* Bytes of directories: for each file of a line table, and for each byte of the unit. */
	UX_CUT_TEXT_EACH = 128,
	UX_CUT_TEXT_BYTE = 16,
	/* Rows of a line table that count for a byte of the unit. */
	UX_CUT_ROWS_PER_BYTE = 32,
	/* Ranges of functions for a byte of their unit; with a section for each basic block and
	 * nothing but names and lines real units come to 0.22. */
	UX_CUT_PIECES_PER_BYTES = 2,
	UX_CUT_PIECES_FREE = 16,
};

/* Units of a batch may share a line table, whose gaps are cut once, and share the budgets: this
 * begins a batch, the first or another. */
void ux_unit_cutter_begin(struct ux_unit_cutter *cutter, bool first);

/*
 * Cuts the unit with this number into pieces: each range of each function a piece, and each run of
 * rows outside of them that a symbol begins in. What is over the budgets is left out, as damage.
 */
enum ux_code ux_unit_cut(struct ux_unit_cutter *cutter, uint32_t number,
			 const struct ux_code_unit *unit, struct ux_unit_pieces *ret,
			 struct ux_error *err) ux_must;
void ux_unit_cutter_deinit(struct ux_unit_cutter *cutter);

/* --- the cutter's parts; each returns false when memory is short --------------------------------
 */

/* Begins a unit's files: none is numbered yet. */
bool ux_unit_files_begin(struct ux_unit_cutter *c);

/* Our number of a file of the unit; makes one when it is new. 0: there is no such file. */
bool ux_unit_file_number(struct ux_unit_cutter *c, uint32_t file, uint32_t *ret);

/* Adds the sequence's rows of [from, hi) to c->rows, with offsets from lo; from lies in the
 * sequence. */
bool ux_unit_rows_add(struct ux_unit_cutter *c, const struct ux_code_sequence *s, uint64_t lo,
		      uint64_t from, uint64_t hi);

/*
 * The rows of f's range [lo, hi) into c->rows. Where the table has nothing, in front of, between or
 * behind its sequences, a row of line 0 says so. Where sequences overlap, the one that began first
 * keeps what it has, unless f says which is its own.
 */
bool ux_unit_rows_cut(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		      uint64_t hi);

/*
 * The calls inlined into function f in [lo, hi) into c->inlines and c->ranges. What leaves its
 * parent is cut to it; what has nothing left is dropped with everything inlined into it.
 */
bool ux_unit_calls_cut(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		       uint64_t hi);

#endif
