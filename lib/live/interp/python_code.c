/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects of a CPython: names, files and line tables. */
#include "python_code.h"

#include "cursor.h"

enum {
	NO_LINE_DELTA = -128, /* in a LINETABLE: the instructions have no line */
	/* Codes of a LOCATIONS entry. */
	SHORT_LAST = 9,
	ONE_LINE_FIRST = 10,
	ONE_LINE_LAST = 12,
	NO_COLUMNS = 13,
	LONG = 14,
	NO_LOCATION = 15,
};

static uint32_t python_line_clamp(int64_t line)
{
	return line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
}

static uint32_t python_lnotab_line(struct ux_bytes table, int32_t first, uint64_t offset)
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
	return python_line_clamp(line);
}

static uint32_t python_linetable_line(struct ux_bytes table, int32_t first, uint64_t offset)
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
			return delta == NO_LINE_DELTA ? 0 : python_line_clamp(line);
	}
	return 0;
}

/* Reads a number with six bits in each byte, low bits first; bit 6 is set if more bytes follow.
 * Bits above the 32nd are dropped. */
static uint32_t python_varint_read(struct ux_cur *c)
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

static int64_t python_svarint_read(struct ux_cur *c)
{
	uint32_t v = python_varint_read(c);
	return (v & 1) != 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
}

/* Finds a line in a LOCATIONS table. An entry is a byte with bit 7 set, followed by bytes
 * without it. */
static uint32_t python_locations_line(struct ux_bytes table, int32_t first, uint64_t offset)
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
			line += python_svarint_read(&c);
		if (offset < end)
			return code == NO_LOCATION || c.failed ? 0 : python_line_clamp(line);
	}
	return 0;
}

uint32_t ux_python_line(enum ux_python_lines kind, struct ux_bytes table, int32_t first,
			uint64_t offset)
{
	switch (kind) {
	case UX_PYTHON_LNOTAB:
		return python_lnotab_line(table, first, offset);
	case UX_PYTHON_LINETABLE:
		return python_linetable_line(table, first, offset);
	case UX_PYTHON_LOCATIONS:
		return python_locations_line(table, first, offset);
	}
	return 0;
}

/* Finds the instructions, which are in the code object itself, or before 3.11 in a bytes object. */
static void python_code_read_instrs(struct ux_python *p, uint64_t addr, const uint8_t *copy,
				    struct ux_python_code *ret)
{
	const struct ux_python_layout *l = &p->layout;
	uint64_t size = 0;
	if (l->frame_unit == 0) {
		ret->instrs = addr + l->code_instrs;
		size = ux_field_u64(copy, l->var_size);
		ret->instrs_size = size <= UINT32_MAX ? size * 2 : 0;
		return;
	}
	uint64_t bytes = ux_field_u64(copy, l->code_instrs);
	if (ux_python_is(p, bytes, UX_PYTHON_BYTES) &&
	    ux_memory_read(&p->memory, bytes + l->var_size, &size, sizeof(size)))
		ret->instrs_size = size;
	ret->instrs = bytes + l->bytes_data;
}

/* Returns the offset of the qualified name, or before 3.11 of the name. */
static uint32_t python_code_name_field(const struct ux_python_layout *l)
{
	return l->code_qualname != UX_PYTHON_NONE ? l->code_qualname : l->code_name;
}

/* Reads the fields by which a code object is recognised; they never change. */
static void python_code_read_fields(const struct ux_python_layout *l, const uint8_t *copy,
				    struct ux_python_code *ret)
{
	ret->first_line = (int32_t)ux_field_u32(copy, l->code_first_line);
	ret->fields[0] = ux_field_u64(copy, python_code_name_field(l));
	ret->fields[1] = ux_field_u64(copy, l->code_file);
	ret->fields[2] = ux_field_u64(copy, l->code_lines);
	ret->fields[3] = ux_field_u64(copy, l->object_type);
}

bool ux_python_code_unchanged(struct ux_python *p, uint64_t addr, const struct ux_python_code *code)
{
	uint8_t copy[UX_PYTHON_STRUCT_MAX];
	struct ux_python_code now;
	if (!ux_memory_read(&p->memory, addr, copy, p->layout.code_bytes))
		return false;
	python_code_read_fields(&p->layout, copy, &now);
	return now.first_line == code->first_line &&
	       memcmp(now.fields, code->fields, sizeof(now.fields)) == 0 &&
	       ux_python_text_fingerprint(p, code->fields[0]) == code->fingerprint;
}

enum ux_code ux_python_code_read(struct ux_python *p, uint64_t addr, struct ux_arena *a,
				 struct ux_python_code *ret, bool *ret_found, struct ux_error *err)
{
	const struct ux_python_layout *l = &p->layout;
	uint8_t copy[UX_PYTHON_STRUCT_MAX];
	*ret_found = false;
	*ret = (struct ux_python_code){.name = "", .file = ""};
	if (!ux_python_is(p, addr, UX_PYTHON_CODE) ||
	    !ux_memory_read(&p->memory, addr, copy, l->code_bytes))
		return UX_OK;
	python_code_read_fields(l, copy, ret);
	UX_TRY(ux_python_text(p, ret->fields[0], a, &ret->name, err));
	UX_TRY(ux_python_text(p, ret->fields[1], a, &ret->file, err));
	UX_TRY(ux_python_bytes(p, ret->fields[2], a, &ret->lines, err));
	ret->fingerprint = ux_python_text_fingerprint(p, ret->fields[0]);
	python_code_read_instrs(p, addr, copy, ret);
	*ret_found = ux_python_code_unchanged(p, addr, ret);
	return UX_OK;
}

uint32_t ux_python_code_line(struct ux_python *p, const struct ux_python_code *code, int64_t offset)
{
	if (offset < 0)
		return code->first_line > 0 ? (uint32_t)code->first_line : 0;
	if ((uint64_t)offset >= code->instrs_size ||
	    !ux_memory_charge(&p->memory, code->lines.size))
		return 0;
	return ux_python_line(p->layout.lines, code->lines, code->first_line, (uint64_t)offset);
}
