/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for frame descriptions. */
#include "make_frames.h"

#include <lzma.h>

static void need(bool ok)
{
	if (!ok)
		abort();
}

void make_frames_init(struct make_frames *f, bool is64, bool big, uint64_t pc)
{
	*f = (struct make_frames){
		.pc = pc, .eh = true, .is64 = is64, .version = 1, .encoding = 0x1b};
	f->out.swap = big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void make_frames_deinit(struct make_frames *f)
{
	ux_out_deinit(&f->out);
}

/* A length that make_frames' entry_end() sets; returns where it is. */
static size_t entry_begin(struct make_frames *f)
{
	if (f->is_wide) {
		ux_out_u32(&f->out, UINT32_MAX);
		ux_out_u64(&f->out, 0);
	} else {
		ux_out_u32(&f->out, 0);
	}
	return f->out.size;
}

static void entry_end(struct make_frames *f, size_t begin)
{
	while ((f->out.size - begin + (f->is_wide ? 12 : 4)) % (f->is64 ? 8 : 4) != 0)
		ux_out_u8(&f->out, 0); /* DW_CFA_nop */
	bool big = f->out.swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	ux_out_patch_u32(&f->out, begin - (f->is_wide && !big ? 8 : 4),
			 (uint32_t)(f->out.size - begin));
}

static void put_word(struct make_frames *f, uint64_t v)
{
	ux_out_uint(&f->out, v, f->is64 ? 8 : 4);
}

/* In .eh_frame an ID has four bytes always. */
static void put_id(struct make_frames *f, uint64_t v)
{
	ux_out_uint(&f->out, v, f->is_wide && !f->eh ? 8 : 4);
}

/* A number in the form of the low half of the encoding. */
static void put_form(struct make_frames *f, uint64_t v)
{
	static const uint8_t sizes[16] = {0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8};
	unsigned form = f->eh ? f->encoding & 15 : 0;
	if (form == 0)
		put_word(f, v);
	else if (form == 1)
		ux_out_uleb(&f->out, v);
	else if (form == 9)
		ux_out_sleb(&f->out, (int64_t)v);
	else
		ux_out_uint(&f->out,
			    v & (sizes[form] == 8 ? UINT64_MAX : (1ull << 8 * sizes[form]) - 1),
			    sizes[form]);
}

void make_frames_cie(struct make_frames *f, const char *augmentation)
{
	struct ux_out *out = &f->out;
	f->cie = out->size;
	size_t begin = entry_begin(f);
	put_id(f, f->eh ? 0 : UINT64_MAX >> (f->is_wide ? 0 : 32));
	ux_out_u8(out, f->version);
	ux_out_put(out, augmentation, strlen(augmentation) + 1);
	if (strcmp(augmentation, "eh") == 0)
		put_word(f, 0);
	if (f->version >= 4) {
		ux_out_u8(out, f->is64 ? 8 : 4);
		ux_out_u8(out, 0);
	}
	ux_out_uleb(out, 1);
	ux_out_sleb(out, f->is64 ? -8 : -4);
	ux_out_u8(out, f->is64 ? 16 : 8); /* of x86-64 and i386 */
	struct ux_out data = {.swap = out->swap};
	for (const char *c = augmentation[0] == 'z' ? augmentation + 1 : ""; *c; c++) {
		if (*c == 'R' || *c == 'L' || *c == 'P')
			ux_out_u8(&data, *c == 'R' ? f->encoding : *c == 'P' ? 0x1b : 0xff);
		if (*c == 'P')
			ux_out_u32(&data, 0x1234);
	}
	ux_out_u8(out, (uint8_t)data.size); /* without "z" an instruction that does nothing */
	ux_out_put(out, data.data, data.size);
	ux_out_deinit(&data);
	ux_out_put(out, f->initial.data, f->initial.size);
	entry_end(f, begin);
}

void make_frames_fde(struct make_frames *f, uint64_t lo, uint64_t size)
{
	struct ux_out *out = &f->out;
	size_t begin = entry_begin(f);
	put_id(f, f->eh ? begin - f->cie : f->cie);
	uint64_t base = 0;
	if (f->eh && (f->encoding & 0x70) == 0x10)
		base = f->pc + out->size;
	else if (f->eh && (f->encoding & 0x70) == 0x30)
		base = f->data_pc;
	put_form(f, lo - base);
	put_form(f, size);
	ux_out_u8(out, 0);
	ux_out_put(out, f->instructions.data, f->instructions.size);
	entry_end(f, begin);
}

void make_frames_end(struct make_frames *f)
{
	ux_out_u32(&f->out, 0);
}

void make_xz(struct ux_out *out, struct ux_bytes content, uint32_t dictionary)
{
	lzma_options_lzma options;
	need(!lzma_lzma_preset(&options, 1));
	options.dict_size = dictionary;
	lzma_filter filters[] = {{.id = LZMA_FILTER_LZMA2, .options = &options},
				 {.id = LZMA_VLI_UNKNOWN}};
	size_t max = lzma_stream_buffer_bound(content.size), n = 0;
	uint8_t *p = malloc(max);
	need(p);
	need(lzma_stream_buffer_encode(filters, LZMA_CHECK_CRC32, NULL, content.data, content.size,
				       p, &n, max) == LZMA_OK);
	ux_out_put(out, p, n);
	free(p);
}
