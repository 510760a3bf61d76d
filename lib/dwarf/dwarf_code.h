/* SPDX-License-Identifier: Apache-2.0 */
/* A unit's functions and what was inlined into them. */
#ifndef UX_DWARF_CODE_H
#define UX_DWARF_CODE_H

#include "dwarf_name.h"

enum {
	UX_DWARF_NEST_MOST = 512
}; /* open functions and inlined calls; real code stays under 60 */

/* A subprogram with code. Its ranges are those of the DIE: hot, cold, in any order. */
struct ux_dwarf_function {
	uint64_t sequence; /* its own one, for ux_dwarf_lines_sequence(); UX_DWARF_NO_SEQUENCE */
	uint32_t name;     /* number of ux_dwarf_names, or UX_DWARF_NO_NAME */
	uint32_t range_first;
	uint32_t range_count; /* at least 1 */
	uint32_t inline_first;
	uint32_t inline_count;
	bool told; /* ux_dwarf_code.is_told() said so: its inlined calls were not read */
};

/* An inlined call, in pre-order; depth 1 is inlined into the function itself. */
struct ux_dwarf_inline {
	uint32_t name;
	uint32_t function;  /* index of the function it stands in */
	uint32_t call_file; /* as the unit's line table numbers files; 0 before DWARF 5: none */
	uint32_t call_line;
	uint32_t depth;
	uint32_t range_first;
	uint32_t range_count; /* 0: the producer gave it none; its children have some */
};

UX_VEC(ux_dwarf_function_vec, struct ux_dwarf_function);
UX_VEC(ux_dwarf_inline_vec, struct ux_dwarf_inline);

/* Of one unit; memory is kept from one to the next. Zeroed is empty. */
struct ux_dwarf_code {
	struct ux_dwarf_function_vec functions; /* in the order of their DIEs */
	struct ux_dwarf_inline_vec inlines;     /* each function's are contiguous */
	struct ux_dwarf_range_vec ranges;
	/* Asked about each function of one range: true when nobody wants more of it than its name
	 * and range. NULL: everything is wanted. */
	bool (*is_told)(void *ctx, const struct ux_dwarf_range *range);
	void *is_told_ctx;
	uint64_t bytes;      /* of the unit in .debug_info */
	uint64_t bad_ranges; /* range lists that were cut short, kept as far as they went */
};

/*
 * Walks the unit's DIEs, replacing what is in code. Functions whose ranges all lie outside text are
 * dropped with everything in them. UX_ECORRUPT: the entries make no sense from err's offset on;
 * what was read before is kept.
 */
enum ux_code ux_dwarf_code_read(const struct ux_dwarf_context *ctx,
				const struct ux_dwarf_text *text, struct ux_dwarf_names *names,
				struct ux_dwarf_code *code, struct ux_error *err) ux_must;
void ux_dwarf_code_deinit(struct ux_dwarf_code *code);

#endif
