/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed sections, taken apart.
 *
 * Two forms (gABI, "Section Compression"; the older one is the GNU tools' own):
 *   SHF_COMPRESSED   Chdr in the file's class and byte order (32 bit: type, size, alignment, 4
 *                    bytes each; 64 bit: type and 4 unused bytes, size, alignment, 8 bytes each),
 *                    then a zlib or zstd stream
 *   .zdebug_*        "ZLIB", the inflated size as 8 big-endian bytes, then a zlib stream
 * Producers that join such sections leave several streams behind one header; they count as one.
 */
#include "elf_packed.h"

#include "cursor.h"

enum {
	/* What a byte can stand for at most: deflate codes 258 bytes in two bits at best; a zstd
	 * block of 128 KiB takes four bytes at least. A size beyond that is a lie, found before
	 * memory is asked for. */
	ZLIB_RATIO = 1032,
	ZSTD_RATIO = 32768,
};

static bool packed_is_gnu(struct ux_bytes raw, const struct ux_elf_section *section)
{
	return ux_bytes_starts(ux_bytes_cstr(section->name), UX_STR(".zdebug_")) &&
	       ux_bytes_starts(raw, UX_STR("ZLIB"));
}

bool ux_elf_section_compressed(const struct ux_elf *elf, const struct ux_elf_section *section)
{
	if (section->type == SHT_NOBITS || section->type == SHT_NULL)
		return false;
	if ((section->flags & SHF_COMPRESSED) != 0)
		return true;
	struct ux_bytes raw = UX_BYTES_NONE;
	return ux_elf_section_raw(elf, section, &raw, NULL) == UX_OK && packed_is_gnu(raw, section);
}

enum ux_code ux_elf_packed_read(const struct ux_elf *elf, const struct ux_elf_section *section,
				struct ux_bytes raw, struct ux_elf_packed *p, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(raw, section->name, elf->swap);
	*p = (struct ux_elf_packed){.name = section->name, .type = ELFCOMPRESS_ZLIB};
	if ((section->flags & SHF_COMPRESSED) == 0) {
		c.swap = __BYTE_ORDER__ != __ORDER_BIG_ENDIAN__;
		ux_cur_skip(&c, 4); /* "ZLIB", seen by old_form() */
		p->size = ux_cur_u64(&c);
	} else if (elf->is64) {
		p->type = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
		p->size = ux_cur_u64(&c);
		ux_cur_skip(&c, 8);
	} else {
		p->type = ux_cur_u32(&c);
		p->size = ux_cur_u32(&c);
		ux_cur_skip(&c, 4);
	}
	p->stream_off = ux_cur_off(&c);
	p->stream = ux_cur_take(&c, ux_cur_left(&c));
	return ux_cur_status(&c, err);
}

enum ux_code ux_elf_packed_check(const struct ux_elf_packed *p, uint64_t max_size,
				 struct ux_error *err)
{
	uint64_t ratio = 0;
	switch (p->type) {
	case ELFCOMPRESS_ZLIB:
		ratio = ZLIB_RATIO;
		break;
	case ELFCOMPRESS_ZSTD:
		ratio = ZSTD_RATIO;
		break;
	default:
		return ux_error_at(err, UX_EUNSUPPORTED, p->name, 0,
				   "compression type %" PRIu32 ", expected 1 (zlib) or 2 (zstd)",
				   p->type);
	}
	if (p->size / ratio > p->stream.size)
		return ux_error_at(err, UX_ECORRUPT, p->name, 0,
				   "claims to inflate %zu bytes to %" PRIu64
				   ", more than its format can",
				   p->stream.size, p->size);
	if (p->size > max_size || p->size > SIZE_MAX)
		return ux_error_at(err, UX_ELIMIT, p->name, 0,
				   "inflates to %" PRIu64 " bytes, at most %" PRIu64 " are allowed",
				   p->size, max_size);
	return UX_OK;
}

enum ux_code ux_elf_packed_wrong_size(const struct ux_elf_packed *p, const char *found,
				      struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, p->name, 0,
			   "inflates to %s than the %" PRIu64 " bytes of its header", found,
			   p->size);
}
