/* SPDX-License-Identifier: Apache-2.0 */
/* The fast paths of line programs: their registers, and operands of one or two bytes. */
#ifndef UX_DWARF_LINE_FAST_H
#define UX_DWARF_LINE_FAST_H

#include "dwarf_line.h"

/* The address and line advance of a special opcode, in the form of struct line_fast. */
struct line_special {
	uint64_t pc;
	uint64_t place;
};

/*
 * The registers of the fast path. The previous row is the last one of the vector, since the
 * sequence has begun.
 */
struct line_fast {
	uint64_t pc;
	uint64_t place; /* file number, and the line above bit 32: both are changed and compared in
			   one operation */
	struct ux_code_row *last; /* the last row */
	struct ux_code_row *end;  /* end of the room for rows */
	bool backward;            /* a row had a lower pc than the row before it */
};

ux_inline uint64_t line_row_place(const struct ux_code_row *row)
{
	return row->file | (uint64_t)row->line << 32;
}

/* Returns the address advance of DW_LNS_const_add_pc. */
ux_inline uint64_t line_const_pc(const struct ux_dwarf_line_header *h)
{
	return (255u - h->opcode_base) / h->line_range * (uint64_t)h->min_inst_length;
}

/*
 * Operands of one or two bytes. The length is unpredictable, so both are read without a branch.
 * False for a longer operand.
 */
ux_inline bool line_short_skip(const uint8_t **p)
{
	*p += 1 + (**p >> 7);
	return ux_likely((*p)[-1] < 0x80);
}

ux_inline bool line_short_uleb(const uint8_t **p, uint32_t *ret)
{
	uint32_t low = (*p)[0], high = (*p)[1], two = low >> 7;
	*ret = (low & 0x7f) | (high << 7 & -two);
	return line_short_skip(p);
}

ux_inline bool line_short_sleb(const uint8_t **p, int32_t *ret)
{
	uint32_t low = (*p)[0], high = (*p)[1], two = low >> 7;
	uint32_t unused = 32 - 7 - 7 * two; /* bits above the number */
	*ret = (int32_t)(((low & 0x7f) | high << 7) << unused) >> unused;
	return line_short_skip(p);
}

/* --- windows of 64 bytes of opcodes, dwarf_line_window.c ------------------------------------- */

enum {
	LINE_WINDOW = 64,
	LINE_WINDOW_READ = LINE_WINDOW + 8, /* bytes that must be readable for a window */
	/* opcodes below it have their standard meaning in a window */
	LINE_WINDOW_BASE_MIN = DW_LNS_const_add_pc + 1,
};

/* Returns true when the program can be run in windows on this processor. */
bool ux_dwarf_line_has_windows(const struct ux_dwarf_line_header *header);

/*
 * Runs opcodes of a program that has windows, in a sequence that has begun, and appends their rows,
 * while there is room for LINE_WINDOW + 1 rows, and LINE_WINDOW_READ bytes are left. Returns the
 * position where it stopped: after a row, at the latest before an uncommon opcode.
 */
const uint8_t *ux_dwarf_line_run_windows(const struct ux_dwarf_line_header *header,
					 struct line_fast *fast,
					 const struct line_special *specials, const uint8_t *p,
					 const uint8_t *end);

#endif
