/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compressed as a whole. */
#include "packed_file.h"

#include "unxz.h"

#include <errno.h>
#include <libdeflate.h>
#include <lzma.h>
#include <sys/mman.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	FREE_SIZE = 64 << 20, /* bytes that any file may inflate to */
	FREE_RATIO = 32,      /* and this many times its own: modules take 3 to 6 */
	FIRST_RATIO = 4,
	PAGE = 4096,
};

/* Memory that grows without being copied, up to `most`. */
struct room {
	uint8_t *data;
	size_t cap;
	size_t size; /* bytes that are written */
	size_t most;
};

static void room_free(struct room *r)
{
	if (r->data)
		munmap(r->data, r->cap);
	*r = (struct room){0};
}

static enum ux_code too_large(const struct room *r, struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT,
			    "inflates to over %zu bytes, more than 64 MiB and 32 times its size",
			    r->most);
}

/* Room for `want` bytes, cut at most, in all. */
static enum ux_code room_grow(struct room *r, size_t want, struct ux_error *err)
{
	if (r->data && r->cap >= r->most)
		return too_large(r, err);
	size_t cap = (ux_min(want, r->most) + PAGE - 1) / PAGE * PAGE;
	void *data = r->data ? mremap(r->data, r->cap, cap, MREMAP_MAYMOVE)
			     : mmap(NULL, cap, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (data == MAP_FAILED)
		return ux_error_os(err, errno, "cannot map %zu bytes", cap);
	r->data = data;
	r->cap = cap;
	return UX_OK;
}

static enum ux_code broken(const char *format, const char *how, uint64_t off, struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, NULL, off, "%s stream is %s", format, how);
}

static enum ux_code unpack_xz(struct ux_bytes in, struct room *r, struct ux_error *err)
{
	ux_cleanup(lzma_end) lzma_stream s = LZMA_STREAM_INIT;
	lzma_ret code = lzma_stream_decoder(&s, UX_XZ_MEMORY, LZMA_CONCATENATED);
	s.next_in = in.data;
	s.avail_in = in.size;
	while (code == LZMA_OK) {
		if (s.total_out == r->cap)
			UX_TRY(room_grow(r, r->cap ? 2 * r->cap : FIRST_RATIO * in.size, err));
		s.next_out = r->data + s.total_out;
		s.avail_out = r->cap - (size_t)s.total_out;
		code = lzma_code(&s, LZMA_FINISH);
		r->size = (size_t)s.total_out;
	}
	return code == LZMA_STREAM_END ? UX_OK : ux_xz_failure((int)code, NULL, s.total_in, err);
}

static void free_zstd(ZSTD_DCtx **d)
{
	ZSTD_freeDCtx(*d);
}

/* One frame, of a size that its header may tell, else found by trying. */
static enum ux_code unpack_frame(ZSTD_DCtx *d, struct ux_bytes frame, uint64_t off, struct room *r,
				 struct ux_error *err)
{
	unsigned long long told = ZSTD_getFrameContentSize(frame.data, frame.size);
	if (told == ZSTD_CONTENTSIZE_ERROR)
		return broken("zstd", "damaged", off, err);
	size_t want = told == ZSTD_CONTENTSIZE_UNKNOWN ? FIRST_RATIO * frame.size : (size_t)told;
	if (told != ZSTD_CONTENTSIZE_UNKNOWN && told > r->most - r->size)
		return too_large(r, err);
	want = ux_max(want, (size_t)1);
	for (;; want *= 2) {
		if (r->cap - r->size < want)
			UX_TRY(room_grow(r, r->size + want, err));
		size_t n = ZSTD_decompressDCtx(d, r->data + r->size, r->cap - r->size, frame.data,
					       frame.size);
		if (!ZSTD_isError(n)) {
			r->size += n;
			return UX_OK;
		}
		if (ZSTD_getErrorCode(n) != ZSTD_error_dstSize_tooSmall ||
		    told != ZSTD_CONTENTSIZE_UNKNOWN)
			return broken("zstd", "damaged", off, err);
	}
}

static enum ux_code unpack_zstd(struct ux_bytes in, struct room *r, struct ux_error *err)
{
	ux_cleanup(free_zstd) ZSTD_DCtx *d = ZSTD_createDCtx();
	if (!d)
		return ux_error_nomem(err);
	for (size_t at = 0; at < in.size;) {
		size_t n = ZSTD_findFrameCompressedSize(in.data + at, in.size - at);
		if (ZSTD_isError(n))
			return broken("zstd", "damaged or cut off", at, err);
		UX_TRY(unpack_frame(d, ux_bytes(in.data + at, n), at, r, err));
		at += n;
	}
	return UX_OK;
}

static void free_inflater(struct libdeflate_decompressor **d)
{
	libdeflate_free_decompressor(*d);
}

/* The last four bytes tell the size of the last stream, if it is under 4 GiB and nobody lies. */
static size_t guess_gzip(struct ux_bytes in)
{
	uint32_t told = 0;
	if (in.size >= 4)
		for (size_t i = 0; i < 4; i++)
			told |= (uint32_t)in.data[in.size - 4 + i] << 8 * i;
	return ux_max((size_t)told, FIRST_RATIO * in.size);
}

static enum ux_code unpack_gzip(struct ux_bytes in, struct room *r, struct ux_error *err)
{
	ux_cleanup(free_inflater) struct libdeflate_decompressor *d =
		libdeflate_alloc_decompressor();
	if (!d)
		return ux_error_nomem(err);
	UX_TRY(room_grow(r, guess_gzip(in), err));
	for (size_t at = 0; at < in.size;) {
		size_t taken = 0, made = 0;
		enum libdeflate_result code = libdeflate_gzip_decompress_ex(
			d, in.data + at, in.size - at, r->data + r->size, r->cap - r->size, &taken,
			&made);
		if (code == LIBDEFLATE_INSUFFICIENT_SPACE) {
			UX_TRY(room_grow(r, 2 * r->cap, err));
			continue;
		}
		if (code != LIBDEFLATE_SUCCESS)
			return broken("gzip", "damaged or cut off", at, err);
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
	 unpack_xz},
	{{(const uint8_t *)"\x28\xb5\x2f\xfd", 4}, unpack_zstd},
	{{(const uint8_t *)"\x1f\x8b\x08", 3}, unpack_gzip},
};

bool ux_packed_is(struct ux_bytes file)
{
	for (size_t i = 0; i < ux_countof(formats); i++)
		if (ux_bytes_starts(file, formats[i].magic))
			return true;
	return false;
}

/* Gives back what lies behind the bytes; ux_file_unmap() takes the pages of their size. */
static struct ux_bytes room_take(struct room *r)
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
	ux_cleanup(room_free) struct room r = {0};
	r.most = (size_t)FREE_SIZE + FREE_RATIO * file->bytes.size;
	for (size_t i = 0; i < ux_countof(formats); i++) {
		if (!ux_bytes_starts(file->bytes, formats[i].magic))
			continue;
		UX_TRY(formats[i].unpack(file->bytes, &r, err));
		struct ux_mapping unpacked = *file;
		unpacked.bytes = room_take(&r);
		ux_file_unmap(file);
		*file = unpacked;
		return UX_OK;
	}
	return UX_OK;
}
