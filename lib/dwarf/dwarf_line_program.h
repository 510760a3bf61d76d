/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs: what a table has behind its header. */
#ifndef UX_DWARF_LINE_PROGRAM_H
#define UX_DWARF_LINE_PROGRAM_H

#include "dwarf_line.h"

/* What the header fixes for the program. */
struct ux_dwarf_line_header {
	struct ux_dwarf_layout layout; /* of the unit; the table's own offset size */
	uint8_t min_inst_length;
	uint8_t max_ops;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	struct ux_bytes lengths; /* operands of each standard opcode */
};

/*
 * Runs the program, of which c is exactly the bytes, and appends its sequences and their rows in
 * the order they stand. Damage is the cursor's: the sequences before it are there. False when
 * memory is short.
 */
bool ux_dwarf_line_program_run(const struct ux_dwarf_line_header *header,
			       const struct ux_range_set *text, struct ux_cur *c,
			       struct ux_dwarf_lines *lines) ux_must;

#endif
