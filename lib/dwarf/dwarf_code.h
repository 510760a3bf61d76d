/* SPDX-License-Identifier: Apache-2.0 */
/* What a unit defines: functions, the calls inlined into them, and variables by address. */
#ifndef UX_DWARF_CODE_H
#define UX_DWARF_CODE_H

#include "dwarf_name.h"

enum {
	UX_DWARF_NEST_MOST = 512
}; /* open functions and inlined calls; real code stays under 60 */

UX_VEC(ux_dwarf_owner_vec, uint32_t);

/* Of one unit; memory is kept from one to the next. Zeroed is empty. */
struct ux_dwarf_code {
	struct ux_code_function_vec functions; /* in the order of their DIEs */
	struct ux_code_inline_vec inlines;     /* each function's are contiguous */
	struct ux_dwarf_owner_vec owners;      /* of each inlined call: the index of its function */
	struct ux_range_vec ranges;
	/* Asked about each function of one range: true when nobody wants more of it than its name
	 * and range. NULL: everything is wanted. */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
	uint64_t bytes;      /* of the unit in .debug_info */
	uint64_t bad_ranges; /* range lists that were cut short, kept as far as they went */
};

/*
 * Walks the unit's DIEs, replacing what is in code. Functions whose ranges all lie outside text are
 * dropped with everything in them. UX_ECORRUPT: the entries make no sense from err's offset on;
 * what was read before is kept.
 */
enum ux_code ux_dwarf_code_read(const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
				struct ux_dwarf_names *names, struct ux_dwarf_code *code,
				struct ux_error *err) ux_must;
void ux_dwarf_code_deinit(struct ux_dwarf_code *code);

/* Where a variable is declared; NULL and 0 where that is unknown. */
struct ux_dwarf_declared {
	const struct ux_dwarf_unit *unit; /* whose line table has the file */
	uint64_t file;                    /* its number there */
	uint64_t line;
};

/*
 * Finds the variable of this unit whose storage begins at pc (DWARF 5, 4.1: DW_AT_location is one
 * DW_OP_addr or DW_OP_addrx, a constant may be added), also one that is local to a function. What
 * its definition lacks is taken from its specification, in any of units. Thread-local variables are
 * passed over. UX_ENOTFOUND: it has none there; UX_ECORRUPT: its entries end in front of one.
 */
enum ux_code ux_dwarf_variable_find(const struct ux_dwarf_context *ctx,
				    const struct ux_dwarf_units *units, uint64_t pc,
				    struct ux_dwarf_declared *ret, struct ux_error *err) ux_must;

#endif
