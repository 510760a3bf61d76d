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
	uint64_t place; /* the file, and above 32 bits the line: they are changed and compared at
			   once */
	struct ux_code_row *last; /* the last row */
	struct ux_code_row *end;  /* of the room for rows */
	bool backward;            /* a row was in front of the one before */
};

ux_inline uint64_t line_row_place(const struct ux_code_row *row)
{
	return row->file | (uint64_t)row->line << 32;
}

/* What DW_LNS_const_add_pc adds. */
ux_inline uint64_t line_const_pc(const struct ux_dwarf_line_header *h)
{
	return (255u - h->opcode_base) / h->line_range * (uint64_t)h->min_inst_length;
}

/*
 * Operands of one or two bytes. Which of the two is hardly to be foretold, so both are read without
 * a branch. False for a longer operand.
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
	uint32_t unused = 32 - 7 - 7 * two; /* bits in front of the number */
	*ret = (int32_t)(((low & 0x7f) | high << 7) << unused) >> unused;
	return line_short_skip(p);
}

/* --- 64 bytes of opcodes at once, dwarf_line_window.c ---------------------------------------- */

enum {
	LINE_WINDOW = 64,
	LINE_WINDOW_READ = LINE_WINDOW + 8, /* bytes that must be there */
	/* opcodes below it have their standard meaning in a window */
	LINE_WINDOW_BASE_MIN = DW_LNS_const_add_pc + 1,
};

/* True when the program can be run in windows on this processor. */
bool ux_dwarf_line_has_windows(const struct ux_dwarf_line_header *header);

/*
 * Runs opcodes of a program that has windows, whose sequence has begun, and appends their rows, as
 * long as there is room for LINE_WINDOW + 1 of them, and LINE_WINDOW_READ bytes are left. Returns
 * the place it stopped at: behind a row, in front of opcodes that are not usual, if not before.
 */
const uint8_t *ux_dwarf_line_run_windows(const struct ux_dwarf_line_header *header,
					 struct line_fast *fast,
					 const struct line_special *specials, const uint8_t *p,
					 const uint8_t *end);

#endif
