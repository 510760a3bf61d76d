/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of sections, inflated when they are compressed. */
#include "elf_file.h"

#include "elf_packed.h"
#include "spill.h"

#include <libdeflate.h>
#include <zstd.h>

static void content_zlib_free(struct libdeflate_decompressor **d)
{
	libdeflate_free_decompressor(*d);
}

/* Fills out with the streams one behind the other; they must end where out does. */
static enum ux_code content_inflate_zlib(const struct ux_elf_packed *p, uint8_t *out,
					 struct ux_error *err)
{
	ux_cleanup(content_zlib_free) struct libdeflate_decompressor *d =
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
			return ux_elf_packed_wrong_size(p, "more", err);
		if (r != LIBDEFLATE_SUCCESS && left < p->size)
			return ux_elf_packed_wrong_size(p, "less", err);
		if (r != LIBDEFLATE_SUCCESS)
			return ux_error_at(err, UX_ECORRUPT, p->name, p->stream_off,
					   "is no valid zlib stream");
		in = ux_bytes(in.data + taken, in.size - taken);
		left -= made;
	} while (in.size > 0);
	return left > 0 ? ux_elf_packed_wrong_size(p, "less", err) : UX_OK;
}

static void content_zstd_free(ZSTD_DCtx **d)
{
	ZSTD_freeDCtx(*d);
}

static enum ux_code content_inflate_zstd(const struct ux_elf_packed *p, uint8_t *out,
					 struct ux_error *err)
{
	ux_cleanup(content_zstd_free) ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return ux_error_nomem(err);
	size_t n = ZSTD_decompressDCtx(d, out, p->size, p->stream.data, p->stream.size);
	if (ZSTD_isError(n))
		return ux_error_at(err, UX_ECORRUPT, p->name, p->stream_off,
				   "is no valid zstd stream of %" PRIu64 " bytes: %s", p->size,
				   ZSTD_getErrorName(n));
	return n < p->size ? ux_elf_packed_wrong_size(p, "less", err) : UX_OK;
}

uint64_t ux_elf_section_loaded_size(const struct ux_elf *elf, const struct ux_elf_section *section)
{
	struct ux_bytes raw = UX_BYTES_NONE;
	struct ux_elf_packed p;
	if (ux_elf_section_raw(elf, section, &raw, NULL) != UX_OK)
		return 0;
	if (!ux_elf_section_compressed(elf, section))
		return raw.size;
	return ux_elf_packed_read(elf, section, raw, &p, NULL) == UX_OK ? p.size : 0;
}

/* Memory for the inflated bytes. */
static enum ux_code content_allocate(struct ux_elf_content *content, size_t size, const char *spill,
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
	struct ux_elf_packed p;
	UX_TRY(ux_elf_packed_read(elf, section, raw, &p, err));
	UX_TRY(ux_elf_packed_check(&p, max_size, err));
	ux_cleanup(ux_elf_content_free) struct ux_elf_content made = {0};
	UX_TRY(content_allocate(&made, p.size, spill, err));
	UX_TRY(p.type == ELFCOMPRESS_ZLIB ? content_inflate_zlib(&p, made.owned, err)
					  : content_inflate_zstd(&p, made.owned, err));
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
		UX_TRY(content_allocate(&loaded, raw.size, spill, err));
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
