/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contents of sections, inflated when they are compressed.
 *
 * Two forms (gABI, "Section Compression"; the older one is the GNU tools' own):
 *   SHF_COMPRESSED   Chdr in the file's class and byte order (32 bit: type, size, alignment, 4
 *                    bytes each; 64 bit: type and 4 unused bytes, size, alignment, 8 bytes each),
 *                    then a zlib or zstd stream
 *   .zdebug_*        "ZLIB", the inflated size as 8 big-endian bytes, then a zlib stream
 * Producers that join such sections leave several streams behind one header; they count as one.
 */
#include "elf_file.h"

#include "cursor.h"
#include "spill.h"

#include <libdeflate.h>
#include <zstd.h>

enum {
	/* What a byte can stand for at most: deflate codes 258 bytes in two bits at best; a zstd
	 * block of 128 KiB takes four bytes at least. A size beyond that is a lie, found before
	 * memory is asked for. */
	ZLIB_RATIO = 1032,
	ZSTD_RATIO = 32768,
};

/* A compressed section taken apart. */
struct packed {
	const char *name;
	uint32_t type; /* ELFCOMPRESS_* */
	uint64_t size; /* inflated, as the header claims */
	struct ux_bytes stream;
	uint64_t stream_off; /* in the section */
};

static bool old_form(struct ux_bytes raw, const struct ux_elf_section *section)
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
	return ux_elf_section_raw(elf, section, &raw, NULL) == UX_OK && old_form(raw, section);
}

static enum ux_code read_packed(const struct ux_elf *elf, const struct ux_elf_section *section,
				struct ux_bytes raw, struct packed *p, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(raw, section->name, elf->swap);
	*p = (struct packed){.name = section->name, .type = ELFCOMPRESS_ZLIB};
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

/* Refuses a size that the stream cannot have, then one that the caller does not want. */
static enum ux_code check_size(const struct packed *p, uint64_t max_size, struct ux_error *err)
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

static enum ux_code wrong_size(const struct packed *p, const char *found, struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, p->name, 0,
			   "inflates to %s than the %" PRIu64 " bytes of its header", found,
			   p->size);
}

static void free_inflater(struct libdeflate_decompressor **d)
{
	libdeflate_free_decompressor(*d);
}

/* Fills out with the streams one behind the other; they must end where out does. */
static enum ux_code inflate_zlib(const struct packed *p, uint8_t *out, struct ux_error *err)
{
	ux_cleanup(free_inflater) struct libdeflate_decompressor *d =
		libdeflate_alloc_decompressor();
	if (!d)
		return ux_error_nomem(err);
	struct ux_bytes in = p->stream;
	uint64_t left = p->size;
	do {
		size_t taken = 0, made = 0;
		enum libdeflate_result r = libdeflate_zlib_decompress_ex(
			d, in.data, in.size, out + (p->size - left), left, &taken, &made);
		if (r == LIBDEFLATE_INSUFFICIENT_SPACE)
			return wrong_size(p, "more", err);
		if (r != LIBDEFLATE_SUCCESS && left < p->size)
			return wrong_size(p, "less", err);
		if (r != LIBDEFLATE_SUCCESS)
			return ux_error_at(err, UX_ECORRUPT, p->name, p->stream_off,
					   "is no valid zlib stream");
		in = ux_bytes(in.data + taken, in.size - taken);
		left -= made;
	} while (in.size > 0);
	return left > 0 ? wrong_size(p, "less", err) : UX_OK;
}

static void free_zstd(ZSTD_DCtx **d)
{
	ZSTD_freeDCtx(*d);
}

static enum ux_code inflate_zstd(const struct packed *p, uint8_t *out, struct ux_error *err)
{
	ux_cleanup(free_zstd) ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return ux_error_nomem(err);
	size_t n = ZSTD_decompressDCtx(d, out, p->size, p->stream.data, p->stream.size);
	if (ZSTD_isError(n))
		return ux_error_at(err, UX_ECORRUPT, p->name, p->stream_off,
				   "is no valid zstd stream of %" PRIu64 " bytes: %s", p->size,
				   ZSTD_getErrorName(n));
	return n < p->size ? wrong_size(p, "less", err) : UX_OK;
}

uint64_t ux_elf_section_loaded_size(const struct ux_elf *elf, const struct ux_elf_section *section)
{
	struct ux_bytes raw = UX_BYTES_NONE;
	struct packed p;
	if (ux_elf_section_raw(elf, section, &raw, NULL) != UX_OK)
		return 0;
	if (!ux_elf_section_compressed(elf, section))
		return raw.size;
	return read_packed(elf, section, raw, &p, NULL) == UX_OK ? p.size : 0;
}

/* Memory for the inflated bytes. */
static enum ux_code make_room(struct ux_elf_content *content, size_t size, const char *spill,
			      struct ux_error *err)
{
	void *region = NULL;
	size = ux_max(size, (size_t)1);
	if (spill) {
		UX_TRY(ux_spill_map(spill, size, &region, err));
		content->spilled = true;
	} else {
		region = malloc(size);
		if (!region)
			return ux_error_nomem(err);
	}
	content->owned = region;
	content->bytes = ux_bytes(region, size);
	return UX_OK;
}

enum ux_code ux_elf_section_load(const struct ux_elf *elf, const struct ux_elf_section *section,
				 uint64_t max_size, const char *spill, struct ux_elf_content *ret,
				 struct ux_error *err)
{
	struct ux_bytes raw = UX_BYTES_NONE;
	UX_TRY(ux_elf_section_raw(elf, section, &raw, err));
	if (!ux_elf_section_compressed(elf, section)) {
		*ret = (struct ux_elf_content){.bytes = raw};
		return UX_OK;
	}
	struct packed p;
	UX_TRY(read_packed(elf, section, raw, &p, err));
	UX_TRY(check_size(&p, max_size, err));
	ux_cleanup(ux_elf_content_free) struct ux_elf_content made = {0};
	UX_TRY(make_room(&made, p.size, spill, err));
	UX_TRY(p.type == ELFCOMPRESS_ZLIB ? inflate_zlib(&p, made.owned, err)
					  : inflate_zstd(&p, made.owned, err));
	made.bytes.size = p.size;
	*ret = made;
	made = (struct ux_elf_content){0};
	return UX_OK;
}

enum ux_code ux_elf_section_load_copy(const struct ux_elf *elf,
				      const struct ux_elf_section *section, uint64_t max_size,
				      const char *spill, struct ux_elf_content *ret,
				      struct ux_error *err)
{
	struct ux_elf_content loaded = {0};
	UX_TRY(ux_elf_section_load(elf, section, max_size, spill, &loaded, err));
	if (!loaded.owned) {
		struct ux_bytes raw = loaded.bytes;
		UX_TRY(make_room(&loaded, raw.size, spill, err));
		if (raw.size > 0)
			memcpy(loaded.owned, raw.data, raw.size);
		loaded.bytes.size = raw.size;
	}
	*ret = loaded;
	return UX_OK;
}

void ux_elf_content_free(struct ux_elf_content *content)
{
	if (content->spilled)
		ux_spill_unmap(content->owned, ux_max(content->bytes.size, (size_t)1));
	else
		free(content->owned);
	*content = (struct ux_elf_content){0};
}
