/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by the files of the merge: overlapping pieces are made disjoint
 * (merge_flatten.c), functions get their names, in parts by address (merge_functions.c), and
 * symbols get the addresses that no function covers (merge.c).
 */
#ifndef UX_MERGE_H
#define UX_MERGE_H

#include "misplaced.h"
#include "pack.h"

/* --- making pieces disjoint ------------------------------------------------------------------- */

/* The state for cutting pieces, set by ux_merger_init(). One thread at a time. */
struct ux_merger {
	struct ux_arena *arena; /* holds the drafts of parts */
	struct ux_gsym_drafter drafter;
	/* Remaining number of inlined calls and ranges that may be visited. When it is used up,
	 * only rows are cut, and entries inside of functions get no names of their own. */
	uint64_t call_work;
};

/* share: the merger gets 1/share of the budget for inlined calls. */
void ux_merger_init(struct ux_merger *m, struct ux_arena *arena, unsigned share);
void ux_merger_deinit(struct ux_merger *m);

/* Makes the part [lo, hi) of p, without inlined calls when the budget for them is used up. */
enum ux_code ux_merger_cut(struct ux_merger *m, struct ux_piece_reader *reader,
			   const struct ux_piece *p, uint64_t lo, uint64_t hi, struct ux_piece *ret,
			   struct ux_error *err) ux_must;

/*
 * Sorts by start, and then longer pieces first. Of equal ranges the one that is used comes first:
 * the range of the first unit with rows. GNU ld points the debug information of all dropped copies
 * of a COMDAT function at the copy it kept, which is in the first object file.
 */
void ux_pieces_sort(struct ux_piece_vec *pieces);

/* The two lists that a unit has (collect.h). */
enum ux_unit_list {
	UX_UNIT_FUNCTIONS,
	UX_UNIT_LINES,
};

/* Appends the given list of all units, in their order; UX_ENOMEM. */
enum ux_code ux_pieces_gather(const struct ux_collection *collection, enum ux_unit_list which,
			      struct ux_piece_vec *ret, struct ux_error *err) ux_must;

/* Appends the piece; UX_ENOMEM. */
enum ux_code ux_pieces_add(struct ux_piece_vec *pieces, const struct ux_piece *piece,
			   struct ux_error *err) ux_must;

/* Appends disjoint parts of sorted pieces to ret: each address belongs to the piece that begins
 * last or, if two have one start, to the shorter one. Of pieces with equal ranges the first one is
 * used. */
enum ux_code ux_merger_flatten(struct ux_merger *m, const struct ux_piece *sorted, size_t n,
			       struct ux_piece_vec *ret, struct ux_error *err) ux_must;

/* --- functions -------------------------------------------------------------------------------- */

/* Functions with consecutive starts. Parts are made by several threads. */
struct ux_function_part {
	size_t first, end; /* indexes in ux_merge_functions.sorted */
	struct ux_merge_arenas *memory;
	struct ux_merger merger;
	struct ux_piece_vec named; /* functions with entries inside of them; sorted */
	struct ux_piece_vec flat;  /* disjoint; not used when `disjoint` is set */
	uint64_t reach;            /* largest end of a piece in `named`; 0: none */
	bool disjoint;             /* the pieces of `named` are disjoint already */
};

/* The functions of all units. */
struct ux_merge_functions {
	const struct ux_code_symbol_vec *symbols;
	struct ux_spill *spill;
	/* functions in the order of units; freed after the parts were named */
	struct ux_piece_vec sorted;
	struct ux_function_part parts[UX_FUNCTION_PARTS];
	size_t n_parts;
	unsigned share; /* each part has 1/share of each budget */
	struct ux_symbol_names names;
};

/* Collects the functions of all units, sorts them and divides them into parts, which depend on the
 * functions alone. Call ux_merge_functions_deinit() also after a failure. */
enum ux_code ux_merge_functions_open(struct ux_merge_functions *f,
				     const struct ux_merge_input *input,
				     struct ux_merge_memory *memory, struct ux_error *err) ux_must;
void ux_merge_functions_deinit(struct ux_merge_functions *f);

/* Names the functions of a part and makes them disjoint. Several threads, once for each part. */
enum ux_code ux_merge_functions_name(struct ux_merge_functions *f, size_t part,
				     struct ux_error *err) ux_must;

/* Makes overlapping parts disjoint, after all were named. */
enum ux_code ux_merge_functions_join(struct ux_merge_functions *f, struct ux_error *err) ux_must;

/* Returns the disjoint pieces of a part, sorted; the pieces of the next part follow them. */
const struct ux_piece_vec *ux_merge_functions_of(const struct ux_merge_functions *f, size_t part);

#endif
