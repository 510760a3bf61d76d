/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses entries, which are stored, an LZ4 block without a frame, or zstd frames. */
#include "fatbin_unpack.h"

#include <lz4.h>
#include <zstd.h>

static enum ux_code refuse(const struct ux_fatbin_entry *e, enum ux_code code, const char *what,
			   struct ux_error *err)
{
	return ux_error_at(err, code, NULL, e->off,
			   "entry of %zu packed bytes %s; unpacked it has %" PRIu64 " bytes",
			   e->payload.size, what, e->size);
}

static bool unpack_lz4(const struct ux_fatbin_entry *e, uint8_t *out)
{
	if (e->payload.size > LZ4_MAX_INPUT_SIZE || e->size > LZ4_MAX_INPUT_SIZE)
		return false;
	int made = LZ4_decompress_safe((const char *)e->payload.data, (char *)out,
				       (int)e->payload.size, (int)e->size);
	return made >= 0 && (uint64_t)made == e->size;
}

static bool unpack_zstd(const struct ux_fatbin_entry *e, uint8_t *out)
{
	size_t made = ZSTD_decompress(out, e->size, e->payload.data, e->payload.size);
	return !ZSTD_isError(made) && made == e->size;
}

static void unpack_free(uint8_t **out)
{
	ux_spill_free(*out);
}

enum ux_code ux_fatbin_unpack(const struct ux_fatbin_entry *entry, struct ux_spill *spill,
			      struct ux_fatbin_content *ret, struct ux_error *err)
{
	bool lz4 = (entry->flags & UX_FATBIN_LZ4) != 0, zstd = (entry->flags & UX_FATBIN_ZSTD) != 0;
	*ret = (struct ux_fatbin_content){0};
	if ((entry->flags & UX_FATBIN_OBSCURED) != 0)
		return refuse(entry, UX_EUNSUPPORTED, "is obfuscated by its compiler", err);
	ret->bytes = entry->payload;
	if (!lz4 && !zstd)
		return UX_OK;
	ret->bytes = UX_BYTES_NONE;
	if (lz4 && zstd)
		return refuse(entry, UX_EUNSUPPORTED, "is marked as both LZ4 and zstd", err);
	if (entry->size > UX_FATBIN_FREE + UX_FATBIN_RATIO * (uint64_t)entry->payload.size)
		return refuse(entry, UX_ELIMIT, "states an impossible size", err);
	if (entry->size < UX_FATBIN_SPILL_MIN)
		spill = NULL;
	ux_cleanup(unpack_free) uint8_t *out =
		ux_spill_realloc(spill, NULL, entry->size > 0 ? entry->size : 1);
	if (!out)
		return ux_error_nomem(err);
	if (!(lz4 ? unpack_lz4(entry, out) : unpack_zstd(entry, out)))
		return refuse(entry, UX_ECORRUPT,
			      lz4 ? "has damaged LZ4 data" : "has damaged zstd data", err);
	ret->bytes = ux_bytes(out, entry->size);
	ret->owned = ux_take(&out);
	return UX_OK;
}

void ux_fatbin_content_free(struct ux_fatbin_content *content)
{
	ux_spill_free(content->owned);
	*content = (struct ux_fatbin_content){0};
}
