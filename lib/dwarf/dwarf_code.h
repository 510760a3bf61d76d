/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a unit's definitions: functions, the calls inlined into them, and variables by address.
 */
#ifndef UX_DWARF_CODE_H
#define UX_DWARF_CODE_H

#include "dwarf_line.h"
#include "dwarf_name.h"

enum {
	UX_DWARF_NEST_MAX = 512
}; /* most nested functions and inlined calls; real code has fewer than 60 */

UX_VEC(ux_dwarf_owner_vec, uint32_t);

/* The code of one unit. The buffers are reused from unit to unit. A zeroed struct is empty. */
struct ux_dwarf_code {
	struct ux_code_function_vec functions; /* in the order of their DIEs */
	struct ux_code_inline_vec inlines;     /* the calls of each function are contiguous */
	struct ux_dwarf_owner_vec owners; /* for each inlined call, the index of its function */
	struct ux_range_vec ranges;
	/* With columns (ux_dwarf_sections): the `call_file` of a call is the index of a place. */
	struct ux_dwarf_place_vec places;
	bool columns; /* set by the caller */
	/*
	 * Called for each function with one range: returns true when only its name and range are
	 * needed. NULL: everything is needed.
	 */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
	uint64_t bytes;      /* size of the unit in .debug_info */
	uint64_t bad_ranges; /* number of range lists that are incomplete; the part before the
				damage is used */
};

/*
 * Walks the unit's DIEs and replaces the content of code. Functions with all ranges outside of text
 * are dropped with everything in them. UX_ECORRUPT: the DIEs are malformed from err's offset on;
 * the functions read before are kept.
 */
enum ux_code ux_dwarf_code_read(const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
				struct ux_dwarf_names *names, struct ux_dwarf_code *code,
				struct ux_error *err) ux_must;
void ux_dwarf_code_deinit(struct ux_dwarf_code *code);

/* Where a variable is declared. Unknown fields are NULL or 0. */
struct ux_dwarf_declared {
	const struct ux_dwarf_unit *unit; /* the unit whose line table contains the file */
	uint64_t file;                    /* its number in that line table */
	uint64_t line;
};

/*
 * Finds the variable of this unit whose storage begins at pc (DWARF 5, 4.1: DW_AT_location is one
 * DW_OP_addr or DW_OP_addrx, optionally plus a constant); it may be local to a function. Attributes
 * that its definition lacks are taken from its specification, in any of the units. Thread-local
 * variables are ignored. UX_ENOTFOUND: the unit has no variable there. UX_ECORRUPT: the DIEs are
 * malformed before one was found.
 */
enum ux_code ux_dwarf_variable_find(const struct ux_dwarf_context *ctx,
				    const struct ux_dwarf_units *units, uint64_t pc,
				    struct ux_dwarf_declared *ret, struct ux_error *err) ux_must;

#endif
