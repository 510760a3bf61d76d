/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compressed as a whole, and xz streams in memory. */
#include "packed_file.h"

#include "out.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

/* --- inflating an xz file in memory ----------------------------------------------------------- */

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
				   "xz stream needs a dictionary of more than %d MiB",
				   UX_XZ_MEMORY >> 20);
	if (status == LZMA_FORMAT_ERROR)
		return ux_error_at(err, UX_ECORRUPT, section, off, "not an xz stream");
	if (status == LZMA_OPTIONS_ERROR || status == LZMA_UNSUPPORTED_CHECK)
		return ux_error_at(err, UX_EUNSUPPORTED, section, off,
				   "xz stream uses an unknown filter or check");
	return ux_error_at(err, UX_ECORRUPT, section, off, "xz stream is %s",
			   status == LZMA_BUF_ERROR ? "cut off" : "damaged");
}

/* Doubles the size of the output, up to `max`, for the decoder to write to. */
static bool xz_more_room(struct ux_out *out, uint64_t max, lzma_stream *s)
{
	size_t room =
		(size_t)ux_min(ux_max((uint64_t)out->size, (uint64_t)FIRST_ROOM), max - out->size);
	uint8_t *p = ux_out_room(out, room);
	s->next_out = p;
	s->avail_out = p ? room : 0;
	return p != NULL;
}

static enum ux_code xz_decode(lzma_stream *s, const char *section, uint64_t max, struct ux_out *out,
			      struct ux_error *err)
{
	for (;;) {
		if (s->avail_out == 0 && out->size == max) {
			uint8_t one = 0; /* written to only when the output exceeds the limit */
			s->next_out = &one;
			s->avail_out = 1;
			lzma_ret end = lzma_code(s, LZMA_FINISH);
			if (s->avail_out == 0)
				return ux_error_at(
					err, UX_ELIMIT, section, UX_ERROR_NO_OFF,
					"xz stream inflates to more than %" PRIu64 " bytes", max);
			return end == LZMA_STREAM_END
				       ? UX_OK
				       : ux_xz_failure((int)end, section, s->total_in, err);
		}
		if (s->avail_out == 0 && !xz_more_room(out, max, s))
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

enum ux_code ux_xz_inflate(struct ux_bytes packed, const char *section, uint64_t max,
			   struct ux_content *ret, struct ux_error *err)
{
	ux_cleanup(lzma_end) lzma_stream s = LZMA_STREAM_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	lzma_ret r = lzma_stream_decoder(&s, UX_XZ_MEMORY, LZMA_CONCATENATED);
	if (r != LZMA_OK)
		return ux_xz_failure((int)r, section, s.total_in, err);
	s.next_in = packed.data;
	s.avail_in = packed.size;
	UX_TRY(xz_decode(&s, section, ux_min(max, (uint64_t)SIZE_MAX / 2), &out, err));
	*ret = (struct ux_content){.bytes = ux_out_bytes(&out)};
	ret->owned = ux_out_steal(&out, &ret->bytes.size);
	ret->bytes.data = ret->owned;
	return UX_OK;
}

/* --- files that are compressed as a whole ----------------------------------------------------- */

enum {
	FREE_SIZE = 64 << 20, /* decompressed size that is allowed for any file */
	FREE_RATIO =
		32, /* plus this many times the file's own size; modules compress 3 to 6 times */
	FIRST_RATIO = 4,
	PAGE = 4096,
};

/* Memory that grows without copying, up to `max` bytes. */
struct room {
	uint8_t *data;
	size_t cap;
	size_t size; /* bytes that were written */
	size_t max;
	const char *rule; /* the rule that limits it, for messages */
};

static void packed_room_free(struct room *r)
{
	if (r->data)
		munmap(r->data, r->cap);
	*r = (struct room){0};
}

static enum ux_code packed_too_large(const struct room *r, struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT, "inflates to more than %zu bytes%s", r->max, r->rule);
}

/* Grows the memory to `want` bytes in total, but not above `max`. */
static enum ux_code packed_room_grow(struct room *r, size_t want, struct ux_error *err)
{
	if (r->data && r->cap >= r->max)
		return packed_too_large(r, err);
	size_t cap = (ux_min(want, r->max) + PAGE - 1) / PAGE * PAGE;
	void *data = r->data ? mremap(r->data, r->cap, cap, MREMAP_MAYMOVE)
			     : mmap(NULL, cap, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return ux_error_os(err, errno, "cannot map %zu bytes", cap);
	r->data = data;
	r->cap = cap;
	return UX_OK;
}

static enum ux_code packed_broken(const char *format, const char *how, uint64_t off,
				  struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, NULL, off, "%s stream is %s", format, how);
}

static enum ux_code packed_xz(struct ux_bytes in, struct room *r, struct ux_error *err)
{
	ux_cleanup(lzma_end) lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&s, UX_XZ_MEMORY, LZMA_CONCATENATED);
	s.next_in = in.data;
	s.avail_in = in.size;
	while (code == LZMA_OK) {
		if (s.total_out == r->cap)
			UX_TRY(packed_room_grow(r, r->cap ? 2 * r->cap : FIRST_RATIO * in.size,
						err));
		s.next_out = r->data + s.total_out;
		s.avail_out = r->cap - (size_t)s.total_out;
		code = lzma_code(&s, LZMA_FINISH);
		r->size = (size_t)s.total_out;
	}
	return code == LZMA_STREAM_END ? UX_OK : ux_xz_failure((int)code, NULL, s.total_in, err);
}

static void packed_zstd_free(ZSTD_DCtx **d)
{
	ZSTD_freeDCtx(*d);
}

/* Decompresses one frame. If its header does not state the size, the memory grows as needed. */
static enum ux_code packed_zstd_frame(ZSTD_DCtx *d, struct ux_bytes frame, uint64_t off,
				      struct room *r, struct ux_error *err)
{
	unsigned long long claimed = ZSTD_getFrameContentSize(frame.data, frame.size);
	if (claimed == ZSTD_CONTENTSIZE_ERROR)
		return packed_broken("zstd", "damaged", off, err);
	size_t want =
		claimed == ZSTD_CONTENTSIZE_UNKNOWN ? FIRST_RATIO * frame.size : (size_t)claimed;
	if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed > r->max - r->size)
		return packed_too_large(r, err);
	want = ux_max(want, (size_t)1);
	for (;; want *= 2) {
		if (r->cap - r->size < want)
			UX_TRY(packed_room_grow(r, r->size + want, err));
		size_t n = ZSTD_decompressDCtx(d, r->data + r->size, r->cap - r->size, frame.data,
					       frame.size);
		if (!ZSTD_isError(n)) {
			r->size += n;
			return UX_OK;
		}
		if (ZSTD_getErrorCode(n) != ZSTD_error_dstSize_tooSmall ||
		    claimed != ZSTD_CONTENTSIZE_UNKNOWN)
			return packed_broken("zstd", "damaged", off, err);
	}
}

static enum ux_code packed_zstd(struct ux_bytes in, struct room *r, struct ux_error *err)
{
	ux_cleanup(packed_zstd_free) ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return ux_error_nomem(err);
	for (size_t at = 0; at < in.size;) {
		size_t n = ZSTD_findFrameCompressedSize(in.data + at, in.size - at);
		if (ZSTD_isError(n))
			return packed_broken("zstd", "damaged or cut off", at, err);
		UX_TRY(packed_zstd_frame(d, ux_bytes(in.data + at, n), at, r, err));
		at += n;
	}
	return UX_OK;
}

static void packed_gzip_free(struct libdeflate_decompressor **d)
{
	libdeflate_free_decompressor(*d);
}

/*
 * The last four bytes are the size of the last stream, modulo 4 GiB: used as a first guess of the
 * size.
 */
static size_t packed_gzip_guess(struct ux_bytes in)
{
	uint32_t claimed = 0;
	if (in.size >= 4)
		for (size_t i = 0; i < 4; i++)
			claimed |= (uint32_t)in.data[in.size - 4 + i] << 8 * i;
	return ux_max((size_t)claimed, FIRST_RATIO * in.size);
}

static enum ux_code packed_gzip(struct ux_bytes in, struct room *r, struct ux_error *err)
{
	ux_cleanup(packed_gzip_free) struct libdeflate_decompressor *d =
		libdeflate_alloc_decompressor();
	if (!d)
		return ux_error_nomem(err);
	UX_TRY(packed_room_grow(r, packed_gzip_guess(in), err));
	for (size_t at = 0; at < in.size;) {
		size_t taken = 0, made = 0;
		enum libdeflate_result code = libdeflate_gzip_decompress_ex(
			d, in.data + at, in.size - at, r->data + r->size, r->cap - r->size, &taken,
			&made);
		if (code == LIBDEFLATE_INSUFFICIENT_SPACE) {
			UX_TRY(packed_room_grow(r, 2 * r->cap, err));
			continue;
		}
		if (code != LIBDEFLATE_SUCCESS)
			return packed_broken("gzip", "damaged or cut off", at, err);
		at += taken;
		r->size += made;
	}
	return UX_OK;
}

static const struct {
	struct ux_bytes magic;
	enum ux_code (*unpack)(struct ux_bytes in, struct room *r, struct ux_error *err);
} formats[] = {
	{{(const uint8_t *)"\xfd"
			   "7zXZ\0",
	  6},
	 packed_xz},
	{{(const uint8_t *)"\x28\xb5\x2f\xfd", 4}, packed_zstd},
	{{(const uint8_t *)"\x1f\x8b\x08", 3}, packed_gzip},
};

bool ux_packed_is(struct ux_bytes file)
{
	for (size_t i = 0; i < ux_countof(formats); i++)
		if (ux_bytes_starts(file, formats[i].magic))
			return true;
	return false;
}

/*
 * Unmaps the memory after the content, since ux_file_unmap() only unmaps the pages of the content's
 * size.
 */
static struct ux_bytes packed_room_steal(struct room *r)
{
	size_t used = (r->size + PAGE - 1) / PAGE * PAGE;
	if (r->cap > used)
		munmap(r->data + used, r->cap - used);
	struct ux_bytes bytes = ux_bytes(used > 0 ? r->data : NULL, r->size);
	*r = (struct room){0};
	return bytes;
}

enum ux_code ux_packed_open(struct ux_mapping *file, struct ux_error *err)
{
	ux_cleanup(packed_room_free) struct room r = {
		.max = (size_t)FREE_SIZE + FREE_RATIO * file->bytes.size,
		.rule = ", more than 64 MiB and 32 times its size"};
	for (size_t i = 0; i < ux_countof(formats); i++) {
		if (!ux_bytes_starts(file->bytes, formats[i].magic))
			continue;
		UX_TRY(formats[i].unpack(file->bytes, &r, err));
		struct ux_mapping unpacked = *file;
		unpacked.bytes = packed_room_steal(&r);
		unpacked.unpacked = true;
		ux_file_unmap(file);
		*file = unpacked;
		return UX_OK;
	}
	return UX_OK;
}

enum ux_code ux_packed_inflate(struct ux_bytes packed, size_t max, struct ux_mapping *ret,
			       struct ux_error *err)
{
	ux_cleanup(packed_room_free) struct room r = {.max = max, .rule = ""};
	for (size_t i = 0; i < ux_countof(formats); i++) {
		if (formats[i].unpack == packed_xz || !ux_bytes_starts(packed, formats[i].magic))
			continue;
		UX_TRY(formats[i].unpack(packed, &r, err));
		if (r.size > max) /* memory has whole pages */
			return packed_too_large(&r, err);
		*ret = (struct ux_mapping){.bytes = packed_room_steal(&r)};
		return UX_OK;
	}
	return ux_error_set(err, UX_ECORRUPT, "neither gzip nor zstd");
}
