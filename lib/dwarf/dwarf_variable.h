/* SPDX-License-Identifier: Apache-2.0 */
/* Where variables that have a place of their own are declared. */
#ifndef UX_DWARF_VARIABLE_H
#define UX_DWARF_VARIABLE_H

#include "dwarf_unit.h"

/* What an entry says of its declaration; 0: it does not say. */
struct ux_dwarf_declared {
	const struct ux_dwarf_unit *unit; /* whose line table has the file */
	uint64_t file;                    /* its number there */
	uint64_t line;
};

/*
 * Finds the variable of this unit whose storage begins at pc (DWARF 5, 4.1: DW_AT_location is one
 * DW_OP_addr or DW_OP_addrx, a constant may be added), also one that is local to a function.
 * What its definition does not
 * say, its specification does, in any of units. Ones that each thread has its own of are passed
 * over. UX_ENOTFOUND: it has none there; UX_ECORRUPT: its entries end in front of one.
 */
enum ux_code ux_dwarf_variable_find(const struct ux_dwarf_context *ctx,
				    const struct ux_dwarf_units *units, uint64_t pc,
				    struct ux_dwarf_declared *ret, struct ux_error *err) ux_must;

#endif
