/* SPDX-License-Identifier: Apache-2.0 */
/* One unit's code and lines into pieces. */
#ifndef UX_UNIT_CUTTER_H
#define UX_UNIT_CUTTER_H

#include "claims.h"
#include "collect.h"
#include "inline_overlap.h"

UX_VEC(ux_gsym_row_vec, struct ux_gsym_row);
UX_VEC(ux_number_vec, uint32_t);
UX_VEC(ux_source_file_vec, struct ux_source_file);

/* An inlined call around the one at hand. */
struct ux_open_call {
	uint32_t index;    /* in the cutter's inlines */
	uint32_t children; /* how far its children so far reach */
};

UX_VEC(ux_open_call_vec, struct ux_open_call);

/* One thread's working memory, kept from unit to unit. Zeroed is ready. */
struct ux_unit_cutter {
	struct ux_arena *arena; /* where results go */
	uint64_t work_left; /* rows and inlined calls that this unit's pieces may still look at */
	bool starved;       /* some got neither, since the work was used up */
	bool gaps_done;     /* gaps_of's are cut already */
	uint64_t gaps_of;   /* offset of the line table that gaps were cut of last */
	const struct ux_code_symbol_vec
		*symbols;         /* settled: lines outside of functions are kept for them */
	struct ux_claims *claims; /* what has rows is claimed there; NULL: nothing is */
	struct ux_dwarf_code code;
	struct ux_dwarf_lines lines;
	struct ux_gsym_row_vec rows;
	struct ux_gsym_inline_vec inlines;
	struct ux_gsym_range_vec ranges;
	struct ux_number_vec file_numbers; /* line table's number + 1 -> ours + 1; 0: not met yet */
	struct ux_source_file_vec files;
	struct ux_open_call_vec open; /* from the outermost in; [0] is the function itself */
	bool overlap;                 /* siblings of the function at hand may overlap */
	struct ux_gsym_drafter drafter;
	struct ux_piece_vec functions;
	struct ux_piece_vec gaps;
	const char *last_dir; /* the directory text made last, and what from */
	struct ux_dwarf_path last_path;
};

enum {
	/* What a unit's pieces may cost for each row, range and inlined call of the unit, beside
	 * UX_CUT_WORK_FREE. Disjoint functions need 1, nested ones a little more; thousands of
	 * functions on one range would need thousands. */
	UX_CUT_WORK_EACH = 32,
	UX_CUT_WORK_FREE = 1 << 20,
};

/* Units of a batch may share a line table, whose gaps are cut once: this begins a batch. */
void ux_unit_cutter_begin(struct ux_unit_cutter *cutter);

/*
 * Cuts what code and lines hold into pieces of unit number `unit`: each range of each function a
 * piece, and each run of rows outside of them that a symbol begins in.
 */
enum ux_code ux_unit_cut(struct ux_unit_cutter *cutter, uint32_t unit,
			 const struct ux_dwarf_names *names, struct ux_unit_pieces *ret,
			 struct ux_error *err) ux_must;
void ux_unit_cutter_deinit(struct ux_unit_cutter *cutter);

#endif
