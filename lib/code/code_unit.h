/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of code: the result of every reader of debug information, whatever its format. A unit has
 * functions with their address ranges, the calls that are inlined into them, and rows that map
 * addresses to source lines. Names and files are numbered within the unit.
 */
#ifndef UX_CODE_UNIT_H
#define UX_CODE_UNIT_H

#include "arena.h"
#include "code_budget.h"
#include "code_range.h"

/*
 * A row of a line table: from pc up to the next row of the sequence, the code comes from this file
 * and line.
 */
struct ux_code_row {
	uint64_t pc;
	uint32_t file; /* number of the file in its unit */
	uint32_t line; /* 0: the producer marked the code as having no line */
};

UX_VEC(ux_code_row_vec, struct ux_code_row);

/* A sequence of rows for [lo, hi), in ascending order, no two at the same pc. */
struct ux_code_sequence {
	uint64_t lo;
	uint64_t hi;
	uint32_t first; /* index of the row at lo */
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
	uint32_t call_file; /* file and line of the call in the parent */
	uint32_t call_line;
	uint32_t depth;
	uint32_t range_first;
	uint32_t range_count; /* 0: the producer gave it no range, but its children have some */
};

UX_VEC(ux_code_inline_vec, struct ux_code_inline);

/* A function with code. Its ranges are in the producer's order, for example hot, then cold. */
struct ux_code_function {
	uint64_t sequence; /* `off` of the function's sequence, or UX_CODE_NO_SEQUENCE when it may
			      be any */
	uint32_t name;     /* or UX_CODE_NO_NAME */
	uint32_t range_first;
	uint32_t range_count; /* at least 1 */
	uint32_t inline_first;
	uint32_t inline_count;
	bool skipped; /* only its name and ranges are needed: its inlined calls were not read */
};

UX_VEC(ux_code_function_vec, struct ux_code_function);

/*
 * The parts of a source file's path; a missing part is NULL. The path begins with the rightmost
 * absolute part.
 */
struct ux_code_path {
	const char *comp_dir;
	const char *dir;
	const char *name;
};

/* A source file: the path cut at its last slash. */
struct ux_code_file {
	const char *dir; /* "" when the path has no slash */
	const char *base;
	uint16_t column; /* see struct ux_code_unit; 0: unknown */
};

UX_VEC(ux_code_file_vec, struct ux_code_file);

/*
 * The last directory that was joined, and the parts it was made from: consecutive files usually
 * have the same. Zeroed is none.
 */
struct ux_code_last_dir {
	struct ux_code_path from;
	const char *text;
};

/*
 * Joins compilation directory, directory and name, and cuts the path at its last slash. The path
 * begins with the rightmost part that is absolute; nothing is normalized. A new text is made in
 * arena only if no part can be used unchanged; it is charged to the budget. When the budget refuses
 * it, the directory part is used alone. False when memory is short.
 */
bool ux_code_path_split(const struct ux_code_path *path, struct ux_arena *arena,
			struct ux_budget *budget, struct ux_code_last_dir *last,
			struct ux_code_file *ret);

/* The rows of a line table, by address. Owned by the reader. */
struct ux_code_lines {
	const struct ux_code_row *rows;
	size_t n_rows;
	const struct ux_code_sequence *sequences; /* ascending, disjoint */
	size_t n_sequences;
	const struct ux_code_sequence *whole; /* The sequences that overlap others, in ascending
						 order of `off`, each with its full range. */
	size_t n_whole;
};

/*
 * Returns the sequence with this `off` that contains pc, with all its rows, including rows of
 * ranges that `sequences` assigns to another sequence. This way each of several functions that were
 * folded into one gets its own lines. NULL when no sequence fits.
 */
const struct ux_code_sequence *ux_code_lines_sequence(const struct ux_code_lines *lines,
						      uint64_t off, uint64_t pc);

/*
 * Returns the index of the first sequence that ends after pc: it contains pc, or is the next one.
 * n_sequences when none does.
 */
size_t ux_code_lines_from(const struct ux_code_lines *lines, uint64_t pc);

/*
 * Sets *ret to the path of a file of the unit, and *ret_column, which is 0, to the column. False
 * when the unit has no file with that number. When columns are read, a number stands for a file and
 * a column in it, so that no other part of an extraction has to handle columns.
 */
typedef bool ux_code_path_fn(const void *ctx, uint32_t file, struct ux_code_path *ret,
			     uint16_t *ret_column);

/* The column of each file of a GSYM. */
UX_VEC(ux_column_vec, uint16_t);

#define UX_CODE_NO_TABLE UINT64_MAX

/*
 * One unit as a reader returns it. All data belongs to the reader and is valid until it reads
 * another unit.
 */
struct ux_code_unit {
	const struct ux_code_function *functions;
	size_t n_functions;
	const struct ux_code_inline *inlines;
	size_t n_inlines;
	const struct ux_range *ranges;
	size_t n_ranges;
	const char *const *names;
	const uint32_t *own; /* For each name, the offset at which the function's own name begins,
				after its qualification. NULL: all begin at 0. */
	size_t n_names;
	struct ux_code_lines lines;
	uint64_t table; /* Identifies `lines`: units of one reader with the same number share them.
			   UX_CODE_NO_TABLE: the unit has no lines. */
	ux_code_path_fn *path;
	const void *path_ctx;
	size_t n_files;      /* the highest number of a file */
	uint64_t size;       /* bytes of input of the unit; they bound the work on it */
	const char *section; /* section and offset of the unit, for messages */
	uint64_t off;
	uint8_t note; /* private to the reader; stored with the results */
};

#endif
