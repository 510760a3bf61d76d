/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units of code: what every reader of debug information gives, whatever format it reads. A unit has
 * functions with their address ranges, the calls inlined into them, and rows that map addresses to
 * source lines. Names and files are numbered within the unit.
 */
#ifndef UX_CODE_UNIT_H
#define UX_CODE_UNIT_H

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

#endif
