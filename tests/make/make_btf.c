/* SPDX-License-Identifier: Apache-2.0 */
/* BTF and the records of BPF programs for tests, piece by piece. */
#include "make_btf.h"

enum {
	HEADER = 24,
	KIND_FUNC = 12,
};

void make_btf_init(struct make_btf *m)
{
	*m = (struct make_btf){0};
	ux_out_u8(&m->strings, 0);
}

void make_btf_deinit(struct make_btf *m)
{
	ux_out_deinit(&m->types);
	ux_out_deinit(&m->strings);
	ux_out_deinit(&m->file);
}

uint32_t make_btf_string(struct make_btf *m, const char *s)
{
	uint32_t at = (uint32_t)m->strings.size;
	ux_out_put(&m->strings, s, strlen(s) + 1);
	return at;
}

uint32_t make_btf_type(struct make_btf *m, uint32_t name, uint32_t kind, uint32_t count,
		       uint32_t type, uint32_t behind)
{
	ux_out_u32(&m->types, name);
	ux_out_u32(&m->types, kind << 24 | count);
	ux_out_u32(&m->types, type);
	for (uint32_t i = 0; i < behind; i++)
		ux_out_u8(&m->types, 0);
	return ++m->n;
}

uint32_t make_btf_function(struct make_btf *m, const char *name)
{
	return make_btf_type(m, make_btf_string(m, name), KIND_FUNC, 0, 1, 0);
}

void make_btf_others(struct make_btf *m)
{
	/* For the kinds 1 to 19 except FUNC: members, and the bytes that they and the kind itself
	 * take. */
	static const struct {
		uint8_t kind, count, behind;
	} kinds[] = {{1, 0, 4},  {2, 0, 0},   {3, 0, 12}, {4, 3, 36}, {5, 2, 24}, {6, 4, 32},
		     {7, 0, 0},  {8, 0, 0},   {9, 0, 0},  {10, 0, 0}, {11, 0, 0}, {13, 2, 16},
		     {14, 0, 4}, {15, 1, 12}, {16, 0, 0}, {17, 0, 4}, {18, 0, 0}, {19, 2, 24}};
	uint32_t name = make_btf_string(m, "no_function");
	for (size_t i = 0; i < ux_countof(kinds); i++)
		make_btf_type(m, name, kinds[i].kind, kinds[i].count, 0, kinds[i].behind);
}

struct ux_bytes make_btf_finish(struct make_btf *m)
{
	ux_out_u16(&m->file, 0xeb9f);
	ux_out_u8(&m->file, 1);
	ux_out_u8(&m->file, 0);
	ux_out_u32(&m->file, HEADER);
	ux_out_u32(&m->file, 0);
	ux_out_u32(&m->file, (uint32_t)m->types.size);
	ux_out_u32(&m->file, (uint32_t)m->types.size);
	ux_out_u32(&m->file, (uint32_t)m->strings.size);
	ux_out_put(&m->file, m->types.data, m->types.size);
	ux_out_put(&m->file, m->strings.data, m->strings.size);
	return ux_out_bytes(&m->file);
}

void make_bpf_function(struct ux_out *out, uint32_t instruction, uint32_t type)
{
	ux_out_u32(out, instruction);
	ux_out_u32(out, type);
}

void make_bpf_line(struct ux_out *out, uint32_t instruction, uint32_t file, uint32_t line)
{
	ux_out_u32(out, instruction);
	ux_out_u32(out, file);
	ux_out_u32(out, 0);
	ux_out_u32(out, line << 10 | 5);
}
