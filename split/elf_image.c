/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file that is being made. */
#include "elf_image.h"

#include "cursor.h"

/* --- the bytes -------------------------------------------------------------------------------- */

enum ux_code ux_elf_image_put(struct ux_elf_image *image, uint64_t off, struct ux_bytes bytes,
			      struct ux_error *err)
{
	assert(off >= image->size);
	if (bytes.size > 0 &&
	    !ux_image_spans_append(&image->spans, (struct ux_image_span){off, bytes}))
		return ux_error_nomem(err);
	image->size = off + bytes.size;
	return UX_OK;
}

enum ux_code ux_elf_image_own(struct ux_elf_image *image, struct ux_out *out, struct ux_bytes *ret,
			      struct ux_error *err)
{
	UX_TRY(ux_out_status(out, err));
	if (!ux_image_buffers_reserve(&image->owned, image->owned.size + 1))
		return ux_error_nomem(err);
	size_t size = 0;
	uint8_t *data = ux_out_steal(out, &size);
	if (data)
		(void)ux_image_buffers_append(&image->owned, data);
	*ret = ux_bytes(data, size);
	return UX_OK;
}

enum ux_code ux_elf_image_reserve(struct ux_elf_image *image, size_t n, uint8_t **ret,
				  struct ux_error *err)
{
	if (!ux_image_buffers_reserve(&image->owned, image->owned.size + 1))
		return ux_error_nomem(err);
	*ret = calloc(1, n);
	if (!*ret)
		return ux_error_nomem(err);
	(void)ux_image_buffers_append(&image->owned, *ret);
	return UX_OK;
}

static enum ux_code image_write_zeros(uint64_t n, ux_image_sink_fn *sink, void *ctx,
				      struct ux_error *err)
{
	static const uint8_t zeros[4096];
	while (n > 0) {
		size_t part = (size_t)ux_min(n, (uint64_t)sizeof(zeros));
		UX_TRY(sink(ctx, ux_bytes(zeros, part), err));
		n -= part;
	}
	return UX_OK;
}

enum ux_code ux_elf_image_write(const struct ux_elf_image *image, ux_image_sink_fn *sink, void *ctx,
				struct ux_error *err)
{
	uint64_t off = 0;
	for (size_t i = 0; i < image->spans.size; i++) {
		const struct ux_image_span *s = &image->spans.data[i];
		UX_TRY(image_write_zeros(s->off - off, sink, ctx, err));
		UX_TRY(sink(ctx, s->bytes, err));
		off = s->off + s->bytes.size;
	}
	return image_write_zeros(image->size - off, sink, ctx, err);
}

void ux_elf_image_deinit(struct ux_elf_image *image)
{
	for (size_t i = 0; i < image->owned.size; i++)
		free(image->owned.data[i]);
	ux_image_buffers_deinit(&image->owned);
	ux_image_spans_deinit(&image->spans);
	*image = (struct ux_elf_image){0};
}

/* --- records ---------------------------------------------------------------------------------- */

enum {
	TABLES_AT = EI_NIDENT + 2 + 2 + 4, /* e_entry, of one word, then both offsets */
};

static uint64_t image_word(struct ux_cur *c, const struct ux_elf *elf)
{
	return elf->is64 ? ux_cur_u64(c) : ux_cur_u32(c);
}

void ux_elf_tables_read(const struct ux_elf *elf, struct ux_elf_tables *ret)
{
	struct ux_cur c = ux_cur_make(elf->file, NULL, elf->swap);
	*ret = (struct ux_elf_tables){0};
	ux_cur_skip(&c, TABLES_AT);
	(void)image_word(&c, elf); /* e_entry */
	ret->segments_off = image_word(&c, elf);
	ret->sections_off = image_word(&c, elf);
	ux_cur_skip(&c, 4 + 2); /* e_flags, e_ehsize */
	ret->segment_size = ux_cur_u16(&c);
	ux_cur_skip(&c, 2); /* e_phnum */
	ret->section_size = ux_cur_u16(&c);
	ux_cur_skip(&c, 2); /* e_shnum */
	ret->names = ux_cur_u16(&c);
	if (ret->names == SHN_XINDEX && elf->n_sections > 0)
		ret->names = elf->sections[0].link;
}

struct ux_elf_section_record ux_elf_section_record_read(const struct ux_elf *elf,
							const struct ux_elf_tables *t, uint32_t i)
{
	struct ux_bytes bytes = UX_BYTES_NONE;
	bool inside = ux_bytes_sub(elf->file, t->sections_off + (uint64_t)i * t->section_size,
				   t->section_size, &bytes);
	struct ux_cur c = ux_cur_make(inside ? bytes : UX_BYTES_NONE, NULL, elf->swap);
	struct ux_elf_section_record r = {.name = ux_cur_u32(&c)};
	r.type = ux_cur_u32(&c);
	r.flags = image_word(&c, elf);
	r.addr = image_word(&c, elf);
	r.off = image_word(&c, elf);
	r.size = image_word(&c, elf);
	r.link = ux_cur_u32(&c);
	r.info = ux_cur_u32(&c);
	r.align = image_word(&c, elf);
	r.entsize = image_word(&c, elf);
	return r;
}

static void image_put_section(struct ux_out *out, const struct ux_elf *elf,
			      const struct ux_elf_section_record *r)
{
	ux_out_u32(out, r->name);
	ux_out_u32(out, r->type);
	ux_elf_put_word(out, elf, r->flags);
	ux_elf_put_word(out, elf, r->addr);
	ux_elf_put_word(out, elf, r->off);
	ux_elf_put_word(out, elf, r->size);
	ux_out_u32(out, r->link);
	ux_out_u32(out, r->info);
	ux_elf_put_word(out, elf, r->align);
	ux_elf_put_word(out, elf, r->entsize);
}

uint64_t ux_elf_image_align(uint64_t off, uint64_t align)
{
	const uint64_t max = 4096;
	if (align < 2 || (align & (align - 1)) != 0)
		return off;
	uint64_t mask = ux_min(align, max) - 1;
	return (off + mask) & ~mask;
}

/* Writes the input's header, with the fields of the tables replaced. */
static void image_put_header(struct ux_out *out, const struct ux_elf *elf,
			     const struct ux_elf_tables *t, uint64_t sections_off,
			     size_t n_sections)
{
	const uint8_t *old = elf->file.data;
	size_t word = elf->is64 ? 8 : 4, fixed = TABLES_AT + word, flags = fixed + 2 * word;
	ux_out_put(out, old, fixed);
	ux_elf_put_word(out, elf, t->segments_off);
	ux_elf_put_word(out, elf, sections_off);
	ux_out_put(out, old + flags, 4 + 2 + 2 + 2); /* e_flags, e_ehsize, e_phentsize, e_phnum */
	ux_out_u16(out, (uint16_t)(elf->is64 ? ELF64_SHDR_SIZE : ELF32_SHDR_SIZE));
	ux_out_u16(out, (uint16_t)(n_sections < SHN_LORESERVE ? n_sections : 0));
	ux_out_u16(out, (uint16_t)(t->names < SHN_LORESERVE ? t->names : SHN_XINDEX));
}

enum ux_code ux_elf_image_finish(struct ux_elf_image *image, const struct ux_elf *elf,
				 const struct ux_elf_tables *tables,
				 struct ux_elf_section_records *records, uint8_t *header,
				 struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out head = {.swap = elf->swap};
	ux_cleanup(ux_out_deinit) struct ux_out table = {.swap = elf->swap};
	uint64_t off = ux_elf_image_align(image->size, elf->is64 ? 8 : 4);
	struct ux_bytes bytes;
	records->data[0].size = records->size < SHN_LORESERVE ? 0 : records->size;
	records->data[0].link = tables->names < SHN_LORESERVE ? 0 : tables->names;
	for (size_t i = 0; i < records->size; i++)
		image_put_section(&table, elf, &records->data[i]);
	UX_TRY(ux_elf_image_own(image, &table, &bytes, err));
	UX_TRY(ux_elf_image_put(image, off, bytes, err));
	if (!elf->is64 && image->size > UINT32_MAX)
		return ux_error_set(err, UX_ELIMIT, "a 32-bit file would exceed 4 GiB");
	image_put_header(&head, elf, tables, off, records->size);
	UX_TRY(ux_out_status(&head, err));
	memcpy(header, head.data, head.size);
	return UX_OK;
}
