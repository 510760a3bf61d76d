/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of code: what every reader of debug information gives, whatever format it reads. A unit has
 * functions with their address ranges, the calls inlined into them, and rows that map addresses to
 * source lines. Names and files are numbered within the unit.
 */
#ifndef UX_CODE_UNIT_H
#define UX_CODE_UNIT_H

#include "arena.h"
#include "code_budget.h"
#include "code_range.h"

/* From pc on, this file and line, until the next row of the sequence. */
struct ux_code_row {
	uint64_t pc;
	uint32_t file; /* as the unit numbers files */
	uint32_t line; /* 0: the producer says that there is none */
};

UX_VEC(ux_code_row_vec, struct ux_code_row);

/* A run of rows for [lo, hi), ascending, no two at one pc. */
struct ux_code_sequence {
	uint64_t lo;
	uint64_t hi;
	uint32_t first; /* row at lo */
	uint32_t count;
	uint64_t off; /* identifies the sequence: in DWARF, where its program begins */
};

UX_VEC(ux_code_sequence_vec, struct ux_code_sequence);

#define UX_CODE_NO_SEQUENCE UINT64_MAX
#define UX_CODE_NO_NAME     UINT32_MAX

/*
 * An inlined call. The calls of a function come in pre-order; depth is 1 for a call inlined into
 * the function itself, and a call's parent is the last one before it with depth - 1.
 */
struct ux_code_inline {
	uint32_t name;
	uint32_t call_file; /* where, in the parent, the call stands */
	uint32_t call_line;
	uint32_t depth;
	uint32_t range_first;
	uint32_t range_count; /* 0: the producer gave it none; its children have some */
};

UX_VEC(ux_code_inline_vec, struct ux_code_inline);

/* A function with code. Its ranges are in the producer's order: hot, cold, any. */
struct ux_code_function {
	uint64_t sequence; /* `off` of its own sequence, or UX_CODE_NO_SEQUENCE: any */
	uint32_t name;     /* or UX_CODE_NO_NAME */
	uint32_t range_first;
	uint32_t range_count; /* at least 1 */
	uint32_t inline_first;
	uint32_t inline_count;
	bool skipped; /* only its name and ranges are needed: its inlined calls were not read */
};

UX_VEC(ux_code_function_vec, struct ux_code_function);

/* A source file's path in parts, each NULL when there is none; the rightmost absolute part begins
 * the path. */
struct ux_code_path {
	const char *comp_dir;
	const char *dir;
	const char *name;
};

/* A source file: the path cut at its last slash. */
struct ux_code_file {
	const char *dir; /* "" when there is none */
	const char *base;
};

UX_VEC(ux_code_file_vec, struct ux_code_file);

/* The directory of a path that was made last, and what from: neighbours mostly share it. Zeroed is
 * none. */
struct ux_code_last_dir {
	struct ux_code_path from;
	const char *text;
};

/*
 * Joins compilation directory, directory and name (the rightmost absolute one begins the path;
 * nothing is normalized) and cuts at the last slash. Text is made in arena only where no part can
 * be used as it is, and is charged to the budget; what that refuses has the directory as it stands.
 * False when memory is short.
 */
bool ux_code_path_split(const struct ux_code_path *path, struct ux_arena *arena,
			struct ux_budget *budget, struct ux_code_last_dir *last,
			struct ux_code_file *ret);

/* Rows by address. Owned by a reader. */
struct ux_code_lines {
	const struct ux_code_row *rows;
	size_t n_rows;
	const struct ux_code_sequence *sequences; /* ascending, disjoint */
	size_t n_sequences;
	const struct ux_code_sequence *whole; /* those that overlap others, ascending off, with all
						 that they claim */
	size_t n_whole;
};

/*
 * The sequence with this `off` that holds pc, with all its rows, also those that another one has in
 * `sequences`: of functions folded into one, each knows its own lines that way. NULL when there is
 * none.
 */
const struct ux_code_sequence *ux_code_lines_sequence(const struct ux_code_lines *lines,
						      uint64_t off, uint64_t pc);

/* The index of the first sequence that ends behind pc: it holds pc, or is the next one. n_sequences
 * when there is none. */
size_t ux_code_lines_from(const struct ux_code_lines *lines, uint64_t pc);

/* The path of a file of the unit; false for a number that it does not have. */
typedef bool ux_code_path_fn(const void *ctx, uint32_t file, struct ux_code_path *ret);

#define UX_CODE_NO_TABLE UINT64_MAX

/* One unit as a reader gives it. All that it points to is the reader's, until it reads another. */
struct ux_code_unit {
	const struct ux_code_function *functions;
	size_t n_functions;
	const struct ux_code_inline *inlines;
	size_t n_inlines;
	const struct ux_range *ranges;
	size_t n_ranges;
	const char *const *names;
	const uint32_t *own; /* of each name: where the function's own begins, behind what
				qualifies it; NULL: at the front */
	size_t n_names;
	struct ux_code_lines lines;
	uint64_t table; /* identifies `lines`: units of one reader with the same one share them;
			   UX_CODE_NO_TABLE: the unit has none */
	ux_code_path_fn *path;
	const void *path_ctx;
	size_t n_files;      /* files are numbered up to this one, which is included */
	uint64_t size;       /* bytes of input that the unit is: work on it is bounded by them */
	const char *section; /* where it is, for messages */
	uint64_t off;
	uint8_t note; /* for the reader itself: kept with the results */
};

#endif
