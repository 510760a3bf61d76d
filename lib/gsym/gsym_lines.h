/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a line table block, one after the other. */
#ifndef UX_GSYM_LINES_H
#define UX_GSYM_LINES_H

#include "cursor.h"
#include "gsym_format.h"

/* After gsym_lines_next() said true, off, line and file are the row's; line may pass 32 bits in
 * corrupt tables. */
struct gsym_lines {
	struct ux_cur c;
	int64_t min;      /* MinDelta */
	uint32_t range;   /* line deltas of special opcodes, 252 standing for more */
	uint32_t inverse; /* of range, in 1/65536, rounded up */
	uint64_t off;     /* bytes from the function's start */
	uint64_t line;
	uint64_t file;
};

/* Exact for every opcode: the rounding adds less than 252 * 252 / 65536 < 1. */
ux_inline uint32_t gsym_lines_inverse(uint32_t range)
{
	return (1u << 16) / range + 1;
}

/* Reads the block's head. A failure is the cursor's. */
ux_inline struct gsym_lines gsym_lines_start(struct ux_cur block)
{
	struct gsym_lines l = {.c = block, .file = 1, .range = 1, .inverse = 1 << 16};
	l.min = ux_cur_sleb(&l.c);
	int64_t max = ux_cur_sleb(&l.c);
	if (max < l.min)
		ux_cur_bad(&l.c, "MaxDelta is below MinDelta");
	l.line = ux_cur_uleb(&l.c);
	/* A wider range never advances the address, as 252 does not. */
	uint64_t wide = (uint64_t)max - (uint64_t)l.min;
	l.range = wide > GSYM_LINE_SPECIAL_MOST ? GSYM_LINE_SPECIAL_MOST + 1 : (uint32_t)wide + 1;
	l.inverse = gsym_lines_inverse(l.range);
	return l;
}

/* The next row; false behind the last one or when the cursor failed. */
ux_inline bool gsym_lines_next(struct gsym_lines *l)
{
	for (;;) {
		uint32_t op = ux_cur_u8(&l->c);
		if (ux_likely(op >= GSYM_LINE_SPECIAL)) {
			op -= GSYM_LINE_SPECIAL;
			uint32_t pc = op * l->inverse >> 16;
			l->off += pc;
			l->line += (uint64_t)l->min + (op - pc * l->range);
			return true;
		}
		if (op == GSYM_LINE_ADVANCE_LINE) {
			l->line += (uint64_t)ux_cur_sleb(&l->c);
		} else if (op == GSYM_LINE_SET_FILE) {
			l->file = ux_cur_uleb(&l->c);
		} else if (op == GSYM_LINE_ADVANCE_PC) {
			l->off += ux_cur_uleb(&l->c);
			return !l->c.failed;
		} else {
			return false; /* the end, which a failed cursor reads too */
		}
	}
}

#endif
