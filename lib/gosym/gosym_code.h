/* SPDX-License-Identifier: Apache-2.0 */
/* A function's lines, and the calls inlined into it by the ranges of their code. */
#ifndef UX_GOSYM_CODE_H
#define UX_GOSYM_CODE_H

#include "gosym_function.h"
#include "gosym_steps.h"

/* From off bytes behind the function's start on. */
struct ux_gosym_row {
	uint32_t off;
	uint32_t line; /* 0: not known */
	uint32_t file; /* offset of the name in the table of files; UX_GOSYM_NOWHERE: not known */
};

/* Half-open, in bytes from the function's start. */
struct ux_gosym_range {
	uint32_t lo;
	uint32_t hi;
};

/* In pre-order, depth 1 for what is inlined into the function itself. Ranges are ascending, not
 * touching, each in one of the parent's, and in no sibling's. */
struct ux_gosym_inline {
	const char *name;
	uint32_t call_file; /* offset, as a row's */
	uint32_t call_line;
	uint32_t depth;
	uint32_t range_first;
	uint32_t range_count;
};

UX_VEC(ux_gosym_row_vec, struct ux_gosym_row);
UX_VEC(ux_gosym_range_vec, struct ux_gosym_range);
UX_VEC(ux_gosym_inline_vec, struct ux_gosym_inline);

/* A call while it is put into its place. */
struct ux_gosym_node {
	uint32_t index;     /* in the inline tree */
	int32_t file, line; /* of the call */
	uint32_t parent;
	uint32_t depth;
	uint32_t first_child, last_child, next; /* in the order of their code */
	uint32_t last_part, n_parts;
	const char *name;
	bool hidden;
};

struct ux_gosym_part {
	uint32_t node;
	struct ux_gosym_range range;
};

UX_VEC(ux_gosym_node_vec, struct ux_gosym_node);
UX_VEC(ux_gosym_part_vec, struct ux_gosym_part);

enum {
	UX_GOSYM_DEPTH_MOST = 128, /* real ones go to 20 */
	/* Ranges of all calls of a function: for each step of its program, and some. Real ones come
	 * to 3 a step. */
	UX_GOSYM_PARTS_EACH = 16,
	UX_GOSYM_PARTS_FREE = 4096,
};

/* One function, with the memory of those before. Zeroed is empty. */
struct ux_gosym_code {
	uint32_t size;      /* bytes that the compiler made, without padding */
	const char *damage; /* what of the function is damaged and left out; NULL: nothing is */
	struct ux_gosym_row_vec rows;
	struct ux_gosym_inline_vec inlines;
	struct ux_gosym_range_vec ranges;
	struct ux_gosym_step_vec lines, files, calls;
	struct ux_gosym_node_vec nodes;
	struct ux_gosym_part_vec parts;
};

/*
 * Reads what f's programs say. Frames that the compiler made up (wrappers of methods) and that were
 * inlined are left out as Go's own tracebacks leave them out: what stands in them is called from
 * where they are called. Damage is told in code->damage and costs the lines behind it, or all
 * inlined calls. Fails for want of memory only.
 */
enum ux_code ux_gosym_code_read(const struct ux_gosym *g, const struct ux_gosym_function *f,
				struct ux_gosym_code *code, struct ux_error *err) ux_must;
void ux_gosym_code_deinit(struct ux_gosym_code *code);

#endif
