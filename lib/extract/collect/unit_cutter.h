/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a unit of code into pieces: unit_cutter.c cuts its functions, unit_rows.c their rows and
 * unit_calls.c their inlined calls. claims.c avoids cutting copies of one function again. */
#ifndef UX_UNIT_CUTTER_H
#define UX_UNIT_CUTTER_H

#include "code_budget.h"
#include "code_symbols.h"
#include "collect.h"

#include <stdatomic.h>

/*
 * Claims record which functions have already been read. A C++ inline function is in hundreds of
 * units, and the merge keeps only the copy of the first unit, so reading the rows and inlined calls
 * of the other copies is wasted work.
 *
 * Of all claims on a function, the claim of the lowest unit counts. A unit respects only claims of
 * units below a number, all of which have ended before (wave_queue.h). So the choice of skipped
 * copies does not depend on the timing of threads.
 */

/* One entry for each symbol: only functions that begin at a symbol are claimed. */
struct ux_claims {
	const struct ux_code_symbol_index *symbols;
	/* the unit that has the claim, and the function's size; 0: not claimed */
	_Atomic uint64_t *slots;
};

/* Returns false when memory is short. */
bool ux_claims_init(struct ux_claims *claims, const struct ux_code_symbol_index *symbols);
/* Removes all claims. No thread may use them during the call. */
void ux_claims_clear(struct ux_claims *claims);
void ux_claims_deinit(struct ux_claims *claims);

/* Claims [start, start + size) for a unit that has rows for all of it. Any thread may call this. */
void ux_claims_add(struct ux_claims *claims, uint32_t unit, uint64_t start, uint32_t size);

/* Returns true when exactly this range was claimed by one of the units below number `claimants`,
 * which must have ended. */
bool ux_claims_has(const struct ux_claims *claims, uint32_t claimants, uint64_t start,
		   uint64_t size);

UX_VEC(ux_gsym_row_vec, struct ux_gsym_row);
UX_VEC(ux_gsym_range_vec, struct ux_gsym_range);
UX_VEC(ux_number_vec, uint32_t);
UX_VEC(ux_word_vec, uint64_t);

/* An inlined call that contains the current one. */
struct ux_open_call {
	uint32_t index;    /* index in the cutter's inlines */
	uint32_t children; /* end of its children so far */
};

UX_VEC(ux_open_call_vec, struct ux_open_call);

/* The rest of the budgets of the current batch. */
struct ux_cut_budgets {
	struct ux_budget steps;   /* rows, calls and ranges that are visited */
	struct ux_budget overlap; /* pairs of calls that are compared */
	struct ux_budget kept;    /* rows, calls and ranges that are copied into pieces */
	struct ux_budget text;    /* bytes of directory names that are composed */
	struct ux_budget pieces;  /* pieces of the current unit only */
};

/* The state of one thread. The buffers are reused from unit to unit. Zeroed is ready for use. */
struct ux_unit_cutter {
	struct ux_arena *arena;          /* holds the results */
	const struct ux_code_unit *unit; /* the current unit */
	struct ux_cut_budgets left;
	bool cut_short; /* rows of the current piece were left out, because a budget was used up */
	uint64_t tables_seen; /* line tables of this batch at lower offsets than this have been
				 added to the budgets */
	bool gaps_done;       /* the gaps of the table gaps_of have been cut */
	uint64_t gaps_of;     /* the table with the gaps that were cut last */
	/* rows outside of functions are kept for these symbols */
	const struct ux_code_symbol_index *symbols;
	struct ux_claims *claims; /* functions with rows are claimed here; NULL: no claims */
	struct ux_gsym_row_vec rows;
	struct ux_code_inline_vec inlines;
	struct ux_gsym_range_vec ranges;
	/* maps the unit's number to ours + 1; 0: not numbered yet */
	struct ux_number_vec file_numbers;
	struct ux_code_file_vec files;
	struct ux_open_call_vec open; /* from outer to inner; [0] is the function itself */
	bool overlap;                 /* siblings in the current function may overlap */
	struct ux_word_vec maps;      /* bits of the bytes that the calls of each depth cover */
	struct ux_gsym_drafter drafter;
	struct ux_piece_vec functions;
	struct ux_piece_vec gaps;
	struct ux_code_last_dir last_dir;
};

/*
 * Budgets for pieces (code_budget.h). In real files functions are disjoint or nested, so that all
 * pieces together hold about as much as the unit does. In a hostile file thousands of functions
 * with the same range, or thousands of units with the same line table, would hold it thousands of
 * times.
 */
enum {
	/* The allowance of the first batch, whatever its size. */
	UX_CUT_STEPS_FREE = 1 << 24,
	UX_CUT_OVERLAP_FREE = 1 << 25,
	UX_CUT_KEPT_FREE = 1 << 20,
	UX_CUT_TEXT_FREE = 1 << 22,

	/* Steps for each row, call and range of a unit, and for each byte of it. */
	UX_CUT_STEPS_EACH = 16,
	UX_CUT_STEPS_BYTE = 64,
	/* Pairs of calls that are compared because their ranges may overlap: for each call and each
	 * byte. A function with thousands of calls needs millions. */
	UX_CUT_OVERLAP_EACH = 256,
	UX_CUT_OVERLAP_BYTE = 128,
	/* Rows, calls and ranges that are kept. */
	UX_CUT_KEPT_EACH = 4,
	UX_CUT_KEPT_RANGE = 1,
	UX_CUT_KEPT_BYTE = 4,
	/*
	 * Bytes of directory names: for each file of a line table, and for each byte of the unit.
	 */
	UX_CUT_TEXT_EACH = 128,
	UX_CUT_TEXT_BYTE = 16,
	/* UX_CUT_ROWS_PER_BYTE: rows of a line table that get the full allowance, for each byte of
	 * the unit. Further rows may be visited UX_CUT_STEPS_REST times, and kept once: the unit of
	 * an assembler file with 10,000 rows has 42 bytes. Decoding a table repeatedly has a budget
	 * of its own (code_reader.h). */
	UX_CUT_ROWS_PER_BYTE = 32,
	UX_CUT_STEPS_REST = 2,
	/* Ranges of functions: one for each this many bytes of their unit. Real units have at most
	 * 0.22 ranges per byte: units with only names and lines, and a section for each basic
	 * block. */
	UX_CUT_PIECES_PER_BYTES = 2,
	UX_CUT_PIECES_FREE = 16,
};

/* Begins a batch; first: it is the first one. The units of a batch share the budgets, and may share
 * a line table, whose gaps are cut only once. */
void ux_unit_cutter_begin(struct ux_unit_cutter *cutter, bool first);

/*
 * Cuts the unit with this number into pieces: one for each range of each function, and one for each
 * run of rows outside of functions in which a symbol begins. Parts over the budgets are left out
 * and counted as damage.
 */
enum ux_code ux_unit_cut(struct ux_unit_cutter *cutter, uint32_t number,
			 const struct ux_code_unit *unit, struct ux_unit_pieces *ret,
			 struct ux_error *err) ux_must;
void ux_unit_cutter_deinit(struct ux_unit_cutter *cutter);

/* The parts of the cutter. Each returns false when memory is short. */

/* Resets the numbers of files for a new unit. */
bool ux_unit_files_begin(struct ux_unit_cutter *c);

/* Sets *ret to our number for a file of the unit, which is assigned when the file is new. 0: no
 * such file. */
bool ux_unit_file_number(struct ux_unit_cutter *c, uint32_t file, uint32_t *ret);

/* Does the same, without a call for a file that has its number. */
ux_inline bool ux_unit_file_find(struct ux_unit_cutter *c, uint32_t file, uint32_t *ret)
{
	uint32_t known = file < c->file_numbers.size ? c->file_numbers.data[file] : 0;
	if (ux_unlikely(known == 0))
		return ux_unit_file_number(c, file, ret);
	*ret = known - 1;
	return true;
}

/* Adds the sequence's rows of [from, hi) to c->rows, with offsets relative to lo. `from` must lie
 * in the sequence. */
bool ux_unit_rows_add(struct ux_unit_cutter *c, const struct ux_code_sequence *s, uint64_t lo,
		      uint64_t from, uint64_t hi);

/*
 * Puts the rows of f's range [lo, hi) into c->rows. Where no sequence of the table covers the
 * range, a row with line 0 is added. If sequences overlap, the rows of the sequence that begins
 * first are used, unless f has a sequence of its own.
 */
bool ux_unit_rows_cut(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		      uint64_t hi);

/*
 * Puts the calls that are inlined into function f in [lo, hi) into c->inlines and c->ranges. Calls
 * are cut to their parents' ranges; a call with nothing left is dropped with all calls inlined into
 * it.
 */
bool ux_unit_calls_cut(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		       uint64_t hi);

#endif
