/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression in pieces, by zlib, liblzma and libzstd. */
#include "unpack_stream.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
	PIECE = 64 << 10, /* compressed bytes of one read */
	GZIP_FRAME = 16,  /* added to the window's bits: zlib expects gzip's frame */
};

struct ux_unpack {
	enum ux_unpack_form form;
	ux_unpack_read_fn *read;
	void *ctx;
	struct ux_bytes in; /* compressed, not yet taken by the decoder */
	bool in_ends;       /* the source has ended */
	bool in_frame;      /* a frame has begun and not ended */
	bool ended;
	bool inflates; /* z is to be freed */
	uint64_t taken;
	z_stream z;
	lzma_stream xz;
	ZSTD_DStream *zstd;
	uint8_t piece[PIECE];
};

enum ux_unpack_form ux_unpack_form_of(struct ux_bytes head)
{
	static const struct {
		struct ux_bytes magic;
		enum ux_unpack_form form;
	} forms[] = {
		{{(const uint8_t *)"\x1f\x8b", 2}, UX_UNPACK_GZIP},
		{{(const uint8_t *)"\xfd"
				   "7zXZ\0",
		  6},
		 UX_UNPACK_XZ},
		{{(const uint8_t *)"\x28\xb5\x2f\xfd", 4}, UX_UNPACK_ZSTD},
	};
	for (size_t i = 0; i < ux_countof(forms); i++)
		if (ux_bytes_starts(head, forms[i].magic))
			return forms[i].form;
	return UX_UNPACK_NONE;
}

enum ux_code ux_unpack_from_bytes(void *ctx, void *to, size_t n, size_t *ret, struct ux_error *err)
{
	struct ux_bytes *left = ctx;
	(void)err;
	*ret = ux_min(n, left->size);
	if (*ret > 0)
		memcpy(to, left->data, *ret);
	*left = ux_bytes(left->data + *ret, left->size - *ret);
	return UX_OK;
}

void ux_unpack_close(struct ux_unpack *u)
{
	if (!u)
		return;
	if (u->inflates)
		(void)inflateEnd(&u->z);
	lzma_end(&u->xz);
	ZSTD_freeDStream(u->zstd);
	free(u);
}

static bool unpack_start(struct ux_unpack *u)
{
	switch (u->form) {
	case UX_UNPACK_DEFLATE:
	case UX_UNPACK_GZIP: {
		int bits = u->form == UX_UNPACK_GZIP ? MAX_WBITS + GZIP_FRAME : -MAX_WBITS;
		return u->inflates = inflateInit2(&u->z, bits) == Z_OK;
	}
	case UX_UNPACK_XZ:
		return lzma_stream_decoder(&u->xz, UX_UNPACK_XZ_MEMORY, LZMA_CONCATENATED) ==
		       LZMA_OK;
	case UX_UNPACK_ZSTD:
		u->zstd = ZSTD_createDStream();
		return u->zstd && !ZSTD_isError(ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax,
								       UX_UNPACK_ZSTD_WINDOW_LOG));
	case UX_UNPACK_NONE:
		break;
	}
	return true;
}

enum ux_code ux_unpack_open(struct ux_unpack **ret, enum ux_unpack_form form,
			    ux_unpack_read_fn *read, void *ctx, struct ux_error *err)
{
	struct ux_unpack *u = calloc(1, sizeof(*u));
	if (!u)
		return ux_error_nomem(err);
	u->form = form;
	u->read = read;
	u->ctx = ctx;
	if (!unpack_start(u)) {
		ux_unpack_close(u);
		return ux_error_nomem(err);
	}
	*ret = u;
	return UX_OK;
}

static enum ux_code unpack_fail(const struct ux_unpack *u, const char *what, struct ux_error *err)
{
	static const char *const names[] = {
		[UX_UNPACK_NONE] = "", [UX_UNPACK_DEFLATE] = "deflate", [UX_UNPACK_GZIP] = "gzip",
		[UX_UNPACK_XZ] = "xz", [UX_UNPACK_ZSTD] = "zstd",
	};
	return ux_error_at(err, UX_ECORRUPT, NULL, u->taken, "%s stream is %s", names[u->form],
			   what);
}

static enum ux_code unpack_too_much(const struct ux_unpack *u, struct ux_error *err)
{
	return ux_error_at(err, UX_ELIMIT, NULL, u->taken,
			   "its decoder would need too much memory");
}

/* Handles the end of a frame; raw deflate has only one. */
static enum ux_code unpack_frame_ended(struct ux_unpack *u, struct ux_error *err)
{
	u->in_frame = false;
	u->ended = u->form == UX_UNPACK_DEFLATE;
	if (u->form == UX_UNPACK_GZIP && inflateReset(&u->z) != Z_OK)
		return unpack_fail(u, "damaged", err);
	return UX_OK;
}

static enum ux_code unpack_inflate(struct ux_unpack *u, uint8_t *to, size_t n, size_t *ret,
				   struct ux_error *err)
{
	u->z.next_in = (Bytef *)(uintptr_t)u->in.data;
	u->z.avail_in = (uInt)u->in.size; /* at most PIECE */
	u->z.next_out = to;
	u->z.avail_out = (uInt)n;
	int r = inflate(&u->z, Z_NO_FLUSH);
	u->taken += u->in.size - u->z.avail_in;
	u->in = ux_bytes(u->z.next_in, u->z.avail_in);
	*ret = n - u->z.avail_out;
	if (r == Z_STREAM_END)
		return unpack_frame_ended(u, err);
	if (r == Z_MEM_ERROR)
		return ux_error_nomem(err);
	return r == Z_OK || r == Z_BUF_ERROR ? UX_OK : unpack_fail(u, "damaged", err);
}

static enum ux_code unpack_xz(struct ux_unpack *u, uint8_t *to, size_t n, size_t *ret,
			      struct ux_error *err)
{
	u->xz.next_in = u->in.data;
	u->xz.avail_in = u->in.size;
	u->xz.next_out = to;
	u->xz.avail_out = n;
	lzma_ret r = lzma_code(&u->xz, u->in_ends ? LZMA_FINISH : LZMA_RUN);
	u->taken += u->in.size - u->xz.avail_in;
	u->in = ux_bytes(u->xz.next_in, u->xz.avail_in);
	*ret = n - u->xz.avail_out;
	u->ended = r == LZMA_STREAM_END;
	u->in_frame = !u->ended;
	if (r == LZMA_MEM_ERROR)
		return ux_error_nomem(err);
	if (r == LZMA_MEMLIMIT_ERROR)
		return unpack_too_much(u, err);
	if (r == LZMA_BUF_ERROR && u->in_ends)
		return unpack_fail(u, "cut off", err);
	return r == LZMA_OK || r == LZMA_STREAM_END || r == LZMA_BUF_ERROR
		       ? UX_OK
		       : unpack_fail(u, "damaged", err);
}

static enum ux_code unpack_zstd(struct ux_unpack *u, uint8_t *to, size_t n, size_t *ret,
				struct ux_error *err)
{
	ZSTD_inBuffer in = {u->in.data, u->in.size, 0};
	ZSTD_outBuffer out = {to, n, 0};
	size_t r = ZSTD_decompressStream(u->zstd, &out, &in);
	u->taken += in.pos;
	u->in = ux_bytes(u->in.data + in.pos, u->in.size - in.pos);
	*ret = out.pos;
	if (!ZSTD_isError(r)) {
		u->in_frame = r != 0;
		return UX_OK;
	}
	if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation)
		return ux_error_nomem(err);
	return ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge
		       ? unpack_too_much(u, err)
		       : unpack_fail(u, "damaged", err);
}

static enum ux_code unpack_copy(struct ux_unpack *u, uint8_t *to, size_t n, size_t *ret)
{
	*ret = ux_min(n, u->in.size);
	memcpy(to, u->in.data, *ret);
	u->in = ux_bytes(u->in.data + *ret, u->in.size - *ret);
	return UX_OK;
}

/* Runs the decoder on the bytes that are there. */
static enum ux_code unpack_step(struct ux_unpack *u, uint8_t *to, size_t n, size_t *ret,
				struct ux_error *err)
{
	switch (u->form) {
	case UX_UNPACK_DEFLATE:
	case UX_UNPACK_GZIP:
		u->in_frame = true;
		return unpack_inflate(u, to, n, ret, err);
	case UX_UNPACK_XZ:
		return unpack_xz(u, to, n, ret, err);
	case UX_UNPACK_ZSTD:
		return unpack_zstd(u, to, n, ret, err);
	case UX_UNPACK_NONE:
		break;
	}
	return unpack_copy(u, to, n, ret);
}

static enum ux_code unpack_fill(struct ux_unpack *u, struct ux_error *err)
{
	size_t n = 0;
	UX_TRY(u->read(u->ctx, u->piece, sizeof(u->piece), &n, err));
	u->in = ux_bytes(u->piece, n);
	u->in_ends = n == 0;
	return UX_OK;
}

enum ux_code ux_unpack_read(struct ux_unpack *u, void *to, size_t n, size_t *ret,
			    struct ux_error *err)
{
	*ret = 0;
	while (*ret < n && !u->ended) {
		size_t made = 0;
		const bool waits = u->in.size == 0 && !u->in_ends;
		/* a decoder may have output left that needs no input */
		if (u->in.size > 0 || u->in_frame || (u->in_ends && u->form == UX_UNPACK_XZ))
			UX_TRY(unpack_step(u, (uint8_t *)to + *ret, ux_min(n - *ret, (size_t)PIECE),
					   &made, err));
		*ret += made;
		if (made > 0 || u->ended || u->in.size > 0)
			continue;
		if (waits) {
			UX_TRY(unpack_fill(u, err));
			continue;
		}
		if (!u->in_ends)
			continue;
		if (u->in_frame || u->form == UX_UNPACK_DEFLATE ||
		    (u->form != UX_UNPACK_NONE && u->taken == 0))
			return unpack_fail(u, "cut off", err);
		u->ended = true;
	}
	return UX_OK;
}
