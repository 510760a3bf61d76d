/* SPDX-License-Identifier: Apache-2.0 */
/* Inflating an xz file in memory. */
#include "unxz.h"

#include "out.h"

#include <lzma.h>

enum {
	FIRST_ROOM = 64 << 10,
};

bool ux_xz_is(struct ux_bytes bytes)
{
	return ux_bytes_starts(bytes, UX_STR("\xfd"
					     "7zXZ\0"));
}

enum ux_code ux_xz_failure(int status, const char *section, uint64_t off, struct ux_error *err)
{
	if (status == LZMA_MEM_ERROR)
		return ux_error_nomem(err);
	if (status == LZMA_MEMLIMIT_ERROR)
		return ux_error_at(err, UX_ELIMIT, section, off,
				   "xz stream asks for a dictionary of over %d MiB",
				   UX_XZ_MEMORY >> 20);
	if (status == LZMA_FORMAT_ERROR)
		return ux_error_at(err, UX_ECORRUPT, section, off, "is no xz stream");
	if (status == LZMA_OPTIONS_ERROR || status == LZMA_UNSUPPORTED_CHECK)
		return ux_error_at(err, UX_EUNSUPPORTED, section, off,
				   "xz stream uses a filter or check that is not known");
	return ux_error_at(err, UX_ECORRUPT, section, off, "xz stream is %s",
			   status == LZMA_BUF_ERROR ? "cut off" : "damaged");
}

/* Grows out by as much again, up to `most`, for the decoder to write to. */
static bool more_room(struct ux_out *out, uint64_t most, lzma_stream *s)
{
	size_t room =
		(size_t)ux_min(ux_max((uint64_t)out->size, (uint64_t)FIRST_ROOM), most - out->size);
	uint8_t *p = ux_out_room(out, room);
	s->next_out = p;
	s->avail_out = p ? room : 0;
	return p != NULL;
}

static enum ux_code decode(lzma_stream *s, const char *section, uint64_t most, struct ux_out *out,
			   struct ux_error *err)
{
	for (;;) {
		if (s->avail_out == 0 && out->size == most) {
			uint8_t one = 0; /* whether there is more */
			s->next_out = &one;
			s->avail_out = 1;
			lzma_ret end = lzma_code(s, LZMA_FINISH);
			if (s->avail_out == 0)
				return ux_error_at(err, UX_ELIMIT, section, UX_ERROR_NO_OFF,
						   "xz stream inflates to over %" PRIu64 " bytes",
						   most);
			return end == LZMA_STREAM_END
				       ? UX_OK
				       : ux_xz_failure((int)end, section, s->total_in, err);
		}
		if (s->avail_out == 0 && !more_room(out, most, s))
			return ux_error_nomem(err);
		lzma_ret r = lzma_code(s, LZMA_FINISH);
		if (r == LZMA_STREAM_END) {
			out->size -= s->avail_out;
			return UX_OK;
		}
		if (r != LZMA_OK)
			return ux_xz_failure((int)r, section, s->total_in, err);
	}
}

enum ux_code ux_xz_inflate(struct ux_bytes packed, const char *section, uint64_t most,
			   struct ux_elf_content *ret, struct ux_error *err)
{
	ux_cleanup(lzma_end) lzma_stream s = LZMA_STREAM_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	lzma_ret r = lzma_stream_decoder(&s, UX_XZ_MEMORY, LZMA_CONCATENATED);
	if (r != LZMA_OK)
		return ux_xz_failure((int)r, section, s.total_in, err);
	s.next_in = packed.data;
	s.avail_in = packed.size;
	UX_TRY(decode(&s, section, ux_min(most, (uint64_t)SIZE_MAX / 2), &out, err));
	*ret = (struct ux_elf_content){.bytes = ux_out_bytes(&out)};
	ret->owned = ux_out_steal(&out, &ret->bytes.size);
	ret->bytes.data = ret->owned;
	return UX_OK;
}
