/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for fat binaries. */
#include "make_fatbin.h"

#include <lz4.h>
#include <zstd.h>

enum {
	HEADER = 64,
};

size_t make_fatbin_begin(struct ux_out *out)
{
	ux_out_align(out, 8);
	size_t begin = out->size;
	ux_out_u32(out, 0xba55ed50);
	ux_out_u16(out, 1);
	ux_out_u16(out, 16);
	ux_out_u64(out, 0);
	return begin;
}

static void pack(struct ux_out *out, const struct make_fatbin_entry *e)
{
	size_t n = e->content.size, made = n;
	size_t room = ux_max(ZSTD_compressBound(n), (size_t)LZ4_compressBound((int)n));
	ux_cleanup(ux_free_ptr) char *data = malloc(room);
	if (!data)
		abort();
	if ((e->flags & UX_FATBIN_LZ4) != 0)
		made = (size_t)LZ4_compress_default((const char *)e->content.data, data, (int)n,
						    (int)room);
	else if ((e->flags & UX_FATBIN_ZSTD) != 0)
		made = ZSTD_compress(data, room, e->content.data, n, 19);
	else
		memcpy(data, e->content.data, n);
	ux_out_put(out, data, made);
}

void make_fatbin_add(struct ux_out *out, const struct make_fatbin_entry *e)
{
	bool packed = (e->flags & (UX_FATBIN_LZ4 | UX_FATBIN_ZSTD)) != 0;
	struct ux_out names = {0}, payload = {0};
	uint32_t name_size = e->name ? (uint32_t)strlen(e->name) : 0;
	if (e->name)
		ux_out_put(&names, e->name, name_size + 1);
	ux_out_align(&names, 8);
	size_t options = e->options ? HEADER + names.size : 0;
	if (e->options)
		ux_out_put(&names, e->options, strlen(e->options) + 1);
	ux_out_align(&names, 8);
	pack(&payload, e);
	size_t size = payload.size;
	ux_out_align(&payload, 8);
	ux_out_u16(out, e->kind ? e->kind : UX_FATBIN_CUBIN);
	ux_out_u16(out, 0x0101);
	ux_out_u32(out, (uint32_t)(HEADER + names.size));
	ux_out_u64(out, payload.size);
	ux_out_u32(out, packed ? (uint32_t)size : 0);
	ux_out_u32(out, (uint32_t)options);
	ux_out_u16(out, 8); /* version 1.8 */
	ux_out_u16(out, 1);
	ux_out_u32(out, e->arch);
	ux_out_u32(out, e->name ? HEADER : 0);
	ux_out_u32(out, name_size);
	ux_out_u64(out, e->flags | 0x11);
	ux_out_u64(out, 0);
	ux_out_u64(out, e->claimed ? e->claimed : packed ? e->content.size : 0);
	ux_out_put(out, names.data, names.size);
	ux_out_put(out, payload.data, payload.size);
	ux_out_deinit(&names);
	ux_out_deinit(&payload);
}

void make_fatbin_end(struct ux_out *out, size_t begin)
{
	ux_out_patch_u32(out, begin + 8, (uint32_t)(out->size - begin - 16));
}
