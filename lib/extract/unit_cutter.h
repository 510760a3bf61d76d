/* SPDX-License-Identifier: Apache-2.0 */
/* One unit's code and lines into pieces. */
#ifndef UX_UNIT_CUTTER_H
#define UX_UNIT_CUTTER_H

#include "claims.h"
#include "collect.h"
#include "inline_overlap.h"

UX_VEC(ux_gsym_row_vec, struct ux_gsym_row);
UX_VEC(ux_number_vec, uint32_t);

/* An inlined call around the one at hand. */
struct ux_open_call {
	uint32_t index;    /* in the cutter's inlines */
	uint32_t children; /* how far its children so far reach */
};

UX_VEC(ux_open_call_vec, struct ux_open_call);

/* What is left of the bounds below. */
struct ux_cut_bounds {
	uint64_t steps;
	uint64_t overlap;
	uint64_t kept;
	uint64_t text;
};

/* One thread's working memory, kept from unit to unit. Zeroed is ready. */
struct ux_unit_cutter {
	struct ux_arena *arena;    /* where results go */
	struct ux_cut_bounds left; /* of what this batch may still cost */
	uint64_t pieces_left;      /* of this unit */
	bool starved;              /* something of the unit was left out for a bound */
	bool cut_short;            /* rows of the piece at hand were */
	uint64_t
		lines_seen; /* tables of the batch that begin below this offset have been counted */
	bool gaps_done;     /* gaps_of's are cut already */
	uint64_t gaps_of;   /* offset of the line table that gaps were cut of last */
	const struct ux_code_symbol_vec
		*symbols;         /* settled: lines outside of functions are kept for them */
	struct ux_claims *claims; /* what has rows is claimed there; NULL: nothing is */
	struct ux_dwarf_code code;
	struct ux_dwarf_lines lines;
	struct ux_gsym_row_vec rows;
	struct ux_code_inline_vec inlines;
	struct ux_gsym_range_vec ranges;
	struct ux_number_vec file_numbers; /* line table's number + 1 -> ours + 1; 0: not met yet */
	struct ux_code_file_vec files;
	struct ux_open_call_vec open; /* from the outermost in; [0] is the function itself */
	bool overlap;                 /* siblings of the function at hand may overlap */
	struct ux_gsym_drafter drafter;
	struct ux_piece_vec functions;
	struct ux_piece_vec gaps;
	const char *last_dir; /* the directory text made last, and what from */
	struct ux_code_path last_path;
};

/*
 * What pieces may cost. Honest functions are disjoint or nested, so that the sum of what they hold
 * is about what the unit holds; thousands of functions on one range, or of units on one line table,
 * would hold it thousands of times.
 */
enum {
	/* What the first batch has beside, so that small modules are free in what they do. */
	UX_CUT_STEPS_FREE = 1 << 24,
	UX_CUT_OVERLAP_FREE = 1 << 25,
	UX_CUT_KEPT_FREE = 1 << 20,
	UX_CUT_TEXT_FREE = 1 << 22,

	/* Rows, calls and ranges looked at: for each of those of a unit, and for each byte of it.
	 */
	UX_CUT_STEPS_EACH = 16,
	UX_CUT_STEPS_BYTE = 64,
	/* Pairs of calls that are compared, since one claims what another has. A function of
	 * thousands of calls needs millions. */
	UX_CUT_OVERLAP_EACH = 256,
	UX_CUT_OVERLAP_BYTE = 128,
	/* Rows, calls and ranges kept. */
	UX_CUT_KEPT_EACH = 4,
	UX_CUT_KEPT_RANGE = 1,
	UX_CUT_KEPT_BYTE = 4,
	/* Bytes of directories that are put together: for each file of a line table. */
	UX_CUT_TEXT_EACH = 128,
	UX_CUT_TEXT_BYTE = 16,
	/* Rows of a line table that count for a byte of the unit. */
	UX_CUT_ROWS_PER_BYTE = 32,
	/* Ranges of functions for a byte of their unit; with a section for each basic block and
	 * nothing but names and lines real units come to 0.22. */
	UX_CUT_PIECES_PER_BYTES = 2,
	UX_CUT_PIECES_FREE = 16,
};

/* Units of a batch may share a line table, whose gaps are cut once, and share the bounds: this
 * begins a batch, the first or another. */
void ux_unit_cutter_begin(struct ux_unit_cutter *cutter, bool first);

/*
 * Cuts what code and lines hold into pieces of unit number `unit`: each range of each function a
 * piece, and each run of rows outside of them that a symbol begins in.
 */
enum ux_code ux_unit_cut(struct ux_unit_cutter *cutter, uint32_t unit,
			 const struct ux_dwarf_names *names, struct ux_unit_pieces *ret,
			 struct ux_error *err) ux_must;
void ux_unit_cutter_deinit(struct ux_unit_cutter *cutter);

#endif
