/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects of a CPython: what they are called, where they come from. */
#include "python_code.h"

/* Where the instructions are: in the code object itself, or (before 3.11) in a bytes object. */
static void find_instrs(struct ux_python *p, uint64_t addr, const uint8_t *copy,
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

/* The qualified name where there is one. */
static uint32_t name_field(const struct ux_python_layout *l)
{
	return l->code_qualname != UX_PYTHON_NONE ? l->code_qualname : l->code_name;
}

/* What tells a code object from another one: they do not change. */
static void note_fields(const struct ux_python_layout *l, const uint8_t *copy,
			struct ux_python_code *ret)
{
	ret->first_line = (int32_t)ux_field_u32(copy, l->code_first_line);
	ret->fields[0] = ux_field_u64(copy, name_field(l));
	ret->fields[1] = ux_field_u64(copy, l->code_file);
	ret->fields[2] = ux_field_u64(copy, l->code_lines);
	ret->fields[3] = ux_field_u64(copy, l->object_type);
}

bool ux_python_code_holds(struct ux_python *p, uint64_t addr, const struct ux_python_code *code)
{
	uint8_t copy[UX_PYTHON_STRUCT_MOST];
	struct ux_python_code now;
	if (!ux_memory_read(&p->memory, addr, copy, p->layout.code_bytes))
		return false;
	note_fields(&p->layout, copy, &now);
	return now.first_line == code->first_line &&
	       memcmp(now.fields, code->fields, sizeof(now.fields)) == 0 &&
	       ux_python_text_mark(p, code->fields[0]) == code->mark;
}

enum ux_code ux_python_code_read(struct ux_python *p, uint64_t addr, struct ux_arena *a,
				 struct ux_python_code *ret, bool *ret_found, struct ux_error *err)
{
	const struct ux_python_layout *l = &p->layout;
	uint8_t copy[UX_PYTHON_STRUCT_MOST];
	*ret_found = false;
	*ret = (struct ux_python_code){.name = "", .file = ""};
	if (!ux_python_is(p, addr, UX_PYTHON_CODE) ||
	    !ux_memory_read(&p->memory, addr, copy, l->code_bytes))
		return UX_OK;
	note_fields(l, copy, ret);
	UX_TRY(ux_python_text(p, ret->fields[0], a, &ret->name, err));
	UX_TRY(ux_python_text(p, ret->fields[1], a, &ret->file, err));
	UX_TRY(ux_python_bytes(p, ret->fields[2], a, &ret->lines, err));
	ret->mark = ux_python_text_mark(p, ret->fields[0]);
	find_instrs(p, addr, copy, ret);
	*ret_found = ux_python_code_holds(p, addr, ret);
	return UX_OK;
}

uint32_t ux_python_code_line(struct ux_python *p, const struct ux_python_code *code, int64_t offset)
{
	if (offset < 0)
		return code->first_line > 0 ? (uint32_t)code->first_line : 0;
	if ((uint64_t)offset >= code->instrs_size || !ux_memory_spend(&p->memory, code->lines.size))
		return 0;
	return ux_python_line(p->layout.lines, code->lines, code->first_line, (uint64_t)offset);
}
