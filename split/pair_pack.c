/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses and inflates debug sections (gABI, "Section Compression"). */
#include "pair_parts.h"

#include "cursor.h"

#include <libdeflate.h>
#include <zstd.h>

enum {
	ZLIB_LEVEL = 6,
	PACKED_MIN =
		64, /* bytes of a section that may get smaller with a header of 12 or 24 bytes */
};

/* Writes the packed form of bytes to out, which is empty. UX_ENOMEM. */
static enum ux_code pack_zlib(struct ux_out *out, struct ux_bytes bytes, struct ux_error *err)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(ZLIB_LEVEL);
	size_t max = c ? libdeflate_zlib_compress_bound(c, bytes.size) : 0;
	size_t before = out->size;
	uint8_t *room = c ? ux_out_room(out, max) : NULL;
	size_t n = room ? libdeflate_zlib_compress(c, bytes.data, bytes.size, room, max) : 0;
	libdeflate_free_compressor(c);
	if (n == 0)
		return ux_error_nomem(err);
	out->size = before + n;
	return UX_OK;
}

static enum ux_code pack_zstd(struct ux_out *out, struct ux_bytes bytes, struct ux_error *err)
{
	size_t max = ZSTD_compressBound(bytes.size), before = out->size;
	uint8_t *room = ux_out_room(out, max);
	size_t n = room ? ZSTD_compress(room, max, bytes.data, bytes.size, ZSTD_CLEVEL_DEFAULT) : 0;
	if (!room || ZSTD_isError(n))
		return ux_error_nomem(err);
	out->size = before + n;
	return UX_OK;
}

static void pack_put_header(struct ux_out *out, const struct ux_elf *elf, uint32_t type,
			    uint64_t size, uint64_t align)
{
	ux_out_u32(out, type);
	if (elf->is64)
		ux_out_u32(out, 0);
	ux_elf_put_word(out, elf, size);
	ux_elf_put_word(out, elf, align);
}

/* Sets the content without compression; it belongs to the input or to the image. */
static enum ux_code pack_inflate(const struct ux_elf_pair *pair,
				 const struct ux_elf_section *section,
				 struct ux_elf_section_record *record, uint64_t *left,
				 struct ux_elf_image *image, struct ux_bytes *ret,
				 struct ux_error *err)
{
	struct ux_section_bytes stored;
	struct ux_content content = {0};
	UX_TRY(ux_elf_section_bytes(&pair->elf, section, &stored, err));
	*ret = stored.raw;
	if (stored.packing != UX_PACKING_CHDR)
		return UX_OK;
	/* ch_addralign is the last word of the header. */
	struct ux_cur c = ux_cur_make(stored.raw, section->name, pair->elf.swap);
	ux_cur_skip(&c, pair->elf.is64 ? ELF64_CHDR_SIZE - 8 : ELF32_CHDR_SIZE - 4);
	uint64_t align = pair->elf.is64 ? ux_cur_u64(&c) : ux_cur_u32(&c);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(ux_content_load(&stored, *left, NULL, &content, err));
	if (!ux_image_buffers_append(&image->owned, content.owned)) {
		ux_content_free(&content);
		return ux_error_nomem(err);
	}
	*left -= content.bytes.size;
	*ret = content.bytes;
	record->flags &= ~(uint64_t)SHF_COMPRESSED;
	record->align = align;
	record->size = content.bytes.size;
	return UX_OK;
}

/* Packs a section unless it is packed, or would not become smaller. */
static enum ux_code pack_deflate(const struct ux_elf_pair *pair,
				 struct ux_elf_section_record *record, struct ux_elf_image *image,
				 struct ux_bytes *bytes, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {.swap = pair->elf.swap};
	bool zstd = pair->options.compress == UX_COMPRESS_ZSTD;
	if (bytes->size < PACKED_MIN)
		return UX_OK;
	pack_put_header(&out, &pair->elf, zstd ? ELFCOMPRESS_ZSTD : ELFCOMPRESS_ZLIB, bytes->size,
			record->align);
	UX_TRY(zstd ? pack_zstd(&out, *bytes, err) : pack_zlib(&out, *bytes, err));
	if (out.size >= bytes->size)
		return UX_OK;
	UX_TRY(ux_elf_image_own(image, &out, bytes, err));
	record->flags |= SHF_COMPRESSED;
	record->align = pair->elf.is64 ? 8 : 4;
	record->size = bytes->size;
	return UX_OK;
}

static bool pack_may_change(const struct ux_elf_section *s)
{
	return s->type != SHT_NOBITS && (s->flags & SHF_ALLOC) == 0 &&
	       ux_bytes_starts(ux_bytes_cstr(s->name), UX_STR(".debug_"));
}

enum ux_code ux_pair_pack(const struct ux_elf_pair *pair, const struct ux_elf_section *section,
			  struct ux_elf_section_record *record, uint64_t *left,
			  struct ux_elf_image *image, struct ux_bytes *ret, struct ux_error *err)
{
	if (pair->options.compress == UX_COMPRESS_KEEP || !pack_may_change(section))
		return ux_elf_section_raw(&pair->elf, section, ret, err);
	UX_TRY(pack_inflate(pair, section, record, left, image, ret, err));
	if (pair->options.compress == UX_COMPRESS_NONE)
		return UX_OK;
	return pack_deflate(pair, record, image, ret, err);
}
