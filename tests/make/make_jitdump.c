/* SPDX-License-Identifier: Apache-2.0 */
/* jitdumps for tests, record by record. */
#include "make_jitdump.h"

void make_jit_header(struct ux_out *out, uint32_t pad, uint64_t flags)
{
	ux_out_u32(out, 0x4a695444);
	ux_out_u32(out, 1);
	ux_out_u32(out, 40);
	ux_out_u32(out, 62);
	ux_out_u32(out, pad);
	ux_out_u32(out, 1234);
	ux_out_u64(out, 99);
	ux_out_u64(out, flags);
}

static size_t begin(struct ux_out *out, uint32_t id, uint64_t time)
{
	size_t at = out->size;
	ux_out_u32(out, id);
	ux_out_u32(out, 0);
	ux_out_u64(out, time);
	return at;
}

static void end(struct ux_out *out, size_t at)
{
	uint32_t size = (uint32_t)(out->size - at);
	ux_out_patch_u32(out, at + 4, size);
}

void make_jit_load(struct ux_out *out, struct make_jit_load load)
{
	size_t at = begin(out, 0, load.time);
	ux_out_u32(out, 1234);
	ux_out_u32(out, 1235);
	ux_out_u64(out, load.addr);
	ux_out_u64(out, load.addr);
	ux_out_u64(out, load.size);
	ux_out_u64(out, load.index);
	ux_out_cstr(out, load.name);
	ux_out_u8(out, 0);
	for (uint32_t i = 0; i < load.bytes; i++)
		ux_out_u8(out, 0xcc);
	end(out, at);
}

void make_jit_move(struct ux_out *out, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		   uint64_t index)
{
	size_t at = begin(out, 1, time);
	ux_out_u32(out, 1234);
	ux_out_u32(out, 1235);
	ux_out_u64(out, to);
	ux_out_u64(out, from);
	ux_out_u64(out, to);
	ux_out_u64(out, size);
	ux_out_u64(out, index);
	end(out, at);
}

void make_jit_debug(struct ux_out *out, uint64_t addr, const struct make_jit_row *rows, size_t n,
		    bool padded)
{
	size_t at = begin(out, 2, 0);
	ux_out_u64(out, addr);
	ux_out_u64(out, n);
	for (size_t i = 0; i < n; i++) {
		ux_out_u64(out, rows[i].addr);
		ux_out_u32(out, (uint32_t)rows[i].line);
		ux_out_u32(out, 1);
		ux_out_cstr(out, rows[i].file ? rows[i].file : "\xff");
		ux_out_u8(out, 0);
	}
	while (padded && (out->size - at) % 8 != 0)
		ux_out_u8(out, 0);
	end(out, at);
}

void make_jit_record(struct ux_out *out, uint32_t id, uint32_t size)
{
	size_t at = begin(out, id, 0);
	for (uint32_t i = 0; i < size; i++)
		ux_out_u8(out, 0);
	end(out, at);
}
