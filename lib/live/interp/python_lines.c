/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of CPython's code objects. */
#include "python_lines.h"

#include "cursor.h"

enum {
	NO_LINE_DELTA = -128, /* of a LINETABLE */
	/* Codes of a LOCATIONS entry. */
	SHORT_LAST = 9,
	ONE_LINE_FIRST = 10,
	ONE_LINE_LAST = 12,
	NO_COLUMNS = 13,
	LONG = 14,
	NO_LOCATION = 15,
};

static uint32_t line_of(int64_t line)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

static uint32_t lnotab(struct ux_bytes table, int32_t first, uint64_t offset)
{
	struct ux_cur c = ux_cur_make(table, "co_lnotab", /* swap= */ false);
	int64_t line = first;
	uint64_t at = 0;
	while (ux_cur_left(&c) >= 2) {
		at += ux_cur_u8(&c);
		if (at > offset)
			break;
		line += (int8_t)ux_cur_u8(&c);
	}
	return line_of(line);
}

static uint32_t linetable(struct ux_bytes table, int32_t first, uint64_t offset)
{
	struct ux_cur c = ux_cur_make(table, "co_linetable", /* swap= */ false);
	int64_t line = first;
	uint64_t end = 0;
	while (ux_cur_left(&c) >= 2) {
		end += ux_cur_u8(&c);
		int8_t delta = (int8_t)ux_cur_u8(&c);
		if (delta != NO_LINE_DELTA)
			line += delta;
		if (offset < end)
			return delta == NO_LINE_DELTA ? 0 : line_of(line);
	}
	return 0;
}

/* Six bits a byte, low ones first; bit 6 says that there are more. Bits past the 32nd are lost. */
static uint32_t varint(struct ux_cur *c)
{
	uint32_t v = 0;
	uint8_t byte;
	unsigned shift = 0;
	do {
		byte = ux_cur_u8(c);
		if (shift < 32)
			v |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while ((byte & 0x40) != 0);
	return v;
}

static int64_t svarint(struct ux_cur *c)
{
	uint32_t v = varint(c);
	return (v & 1) != 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* An entry is a byte with bit 7, and bytes without it. */
static uint32_t locations(struct ux_bytes table, int32_t first, uint64_t offset)
{
	struct ux_cur c = ux_cur_make(table, "co_linetable", /* swap= */ false);
	int64_t line = first;
	uint64_t end = 0;
	while (ux_cur_more(&c)) {
		uint8_t head = ux_cur_u8(&c);
		if ((head & 0x80) == 0)
			continue;
		unsigned code = head >> 3 & 0xf;
		end += ((head & 7) + 1u) * 2;
		if (code >= ONE_LINE_FIRST && code <= ONE_LINE_LAST)
			line += code - ONE_LINE_FIRST;
		else if (code == NO_COLUMNS || code == LONG)
			line += svarint(&c);
		if (offset < end)
			return code == NO_LOCATION || c.failed ? 0 : line_of(line);
	}
	return 0;
}

uint32_t ux_python_line(enum ux_python_lines kind, struct ux_bytes table, int32_t first,
			uint64_t offset)
{
	switch (kind) {
	case UX_PYTHON_LNOTAB:
		return lnotab(table, first, offset);
	case UX_PYTHON_LINETABLE:
		return linetable(table, first, offset);
	case UX_PYTHON_LOCATIONS:
		return locations(table, first, offset);
	}
	return 0;
}
