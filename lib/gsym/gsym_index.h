/* SPDX-License-Identifier: Apache-2.0 */
/* What makes single lookups in large functions short: their trees and line tables, cut up. */
#ifndef UX_GSYM_INDEX_H
#define UX_GSYM_INDEX_H

#include "gsym_reader.h"
#include "vec.h"

/* From `off` on, to the next span, the innermost call is `node`. */
struct gsym_index_span {
	uint32_t off;
	uint32_t node;
};

/* An inlined call; 0 and 1 of each function are the function itself. */
struct gsym_index_node {
	uint32_t parent;
	uint32_t name;
	uint32_t file; /* of the call, in the parent */
	uint32_t line;
	uint32_t start; /* of the first range */
};

/* A row that reading may begin behind. */
struct gsym_index_row {
	uint32_t off;
	uint32_t file;
	uint32_t line;
	uint32_t left; /* bytes of the line table behind the row's opcode */
};

/* Where the parts of one function are; offsets of all count from the function's start. */
struct gsym_index_function {
	int64_t line_min; /* MinDelta */
	uint32_t line_range;
	uint64_t line_end; /* in the GSYM file */
	uint32_t rows, n_rows;
	uint32_t spans, n_spans;
	uint32_t nodes;
};

UX_VEC(gsym_index_spans, struct gsym_index_span);
UX_VEC(gsym_index_nodes, struct gsym_index_node);
UX_VEC(gsym_index_rows, struct gsym_index_row);
UX_VEC(gsym_index_functions, struct gsym_index_function);

/* Immutable once built. */
struct ux_gsym_index {
	uint32_t *of; /* malloc'ed: a function's place in `functions` and 1, or 0 */
	struct gsym_index_functions functions;
	struct gsym_index_spans spans;
	struct gsym_index_nodes nodes;
	struct gsym_index_rows rows;
};

/*
 * Reads all of g, and from then on lookups of g use what was made: the same answers sooner. What is
 * small enough already, or damaged, is read as before. UX_ENOMEM leaves g as it was. Takes memory
 * about as large as the file, and the time of reading it once.
 */
enum ux_code ux_gsym_index_build(struct ux_gsym *g, struct ux_error *err) ux_must;
void ux_gsym_index_free(struct ux_gsym *g);

/*
 * The frames at off bytes behind the start of function i, as ux_gsym_lookup() gives them; false
 * when the function has no part in the index or a name in it is past its table.
 */
bool gsym_index_lookup(const struct ux_gsym *g, size_t i, uint64_t name, uint64_t off,
		       struct ux_frame *frames, size_t max, size_t *ret_n) ux_must;

#endif
