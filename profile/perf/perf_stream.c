/* SPDX-License-Identifier: Apache-2.0 */
/* Reads records by blocks. */
#include "perf_stream.h"

#include <errno.h>
#include <unistd.h>
#include <zstd.h>

static_assert(UX_PERF_BLOCK_BYTES > (int)UX_PERF_RECORD_MAX, "a block has room for each record");

/* --- blocks ----------------------------------------------------------------------------------- */

void ux_perf_block_release(struct ux_perf_block *b)
{
	assert(!b || b->users > 0);
	if (!b || --b->users > 0)
		return;
	--*b->live;
	free(b);
}

void ux_perf_stream_deinit(struct ux_perf_stream *s)
{
	ux_perf_block_release(s->block);
	s->block = NULL;
}

size_t ux_perf_stream_left(const struct ux_perf_stream *s)
{
	return s->block ? s->block->size - s->pos : 0;
}

/* Replaces the block by an empty one, to which the remaining bytes move. */
static enum ux_code perf_stream_renew(struct ux_perf_stream *s, struct ux_error *err)
{
	size_t left = ux_perf_stream_left(s);
	struct ux_perf_block *old = s->block;
	struct ux_perf_block *b = old;
	if (!old || old->users > 1) {
		b = malloc(sizeof(*b) + UX_PERF_BLOCK_BYTES);
		if (!b)
			return ux_error_nomem(err);
		*b = (struct ux_perf_block){.users = 1, .live = s->live};
		++*b->live;
	}
	if (left > 0)
		memmove(b->bytes, old->bytes + s->pos, left);
	b->size = left;
	if (b != old)
		ux_perf_block_release(old);
	s->block = b;
	s->pos = 0;
	return UX_OK;
}

/* Reads on until `want` bytes remain. UX_ENOTFOUND: there are fewer. */
static enum ux_code perf_stream_want(struct ux_perf_stream *s, size_t want, struct ux_error *err)
{
	assert(want <= UX_PERF_BLOCK_BYTES);
	while (ux_perf_stream_left(s) < want) {
		struct ux_perf_block *b = s->block;
		bool empty = b && b->users == 1 && b->size == s->pos && s->pos > 0;
		if (!b || empty || s->pos + want > UX_PERF_BLOCK_BYTES)
			UX_TRY(perf_stream_renew(s, err));
		size_t got = 0;
		b = s->block;
		UX_TRY(s->fill(s->ctx, b->bytes + b->size, UX_PERF_BLOCK_BYTES - b->size, &got,
			       err));
		if (got == 0)
			return UX_ENOTFOUND;
		b->size += got;
	}
	return UX_OK;
}

enum ux_code ux_perf_stream_next(struct ux_perf_stream *s, struct ux_perf_record *ret,
				 struct ux_error *err)
{
	UX_TRY(perf_stream_want(s, UX_PERF_RECORD_HEAD, err));
	struct ux_cur c =
		ux_cur_make(ux_bytes(s->block->bytes + s->pos, UX_PERF_RECORD_HEAD), NULL, s->swap);
	ret->type = ux_cur_u32(&c);
	ret->misc = ux_cur_u16(&c);
	size_t size = ux_cur_u16(&c);
	if (size < UX_PERF_RECORD_HEAD)
		return ux_error_at(err, UX_ECORRUPT, NULL, s->off,
				   "record has %zu bytes, fewer than its header", size);
	UX_TRY(perf_stream_want(s, size, err));
	ret->bytes = ux_bytes(s->block->bytes + s->pos, size);
	s->pos += size;
	s->off += size;
	return UX_OK;
}

enum ux_code ux_perf_stream_take(struct ux_perf_stream *s, uint8_t *room, uint64_t n,
				 uint64_t *ret_n, struct ux_error *err)
{
	*ret_n = 0;
	while (*ret_n < n) {
		enum ux_code code = perf_stream_want(s, 1, err);
		if (code == UX_ENOTFOUND)
			break;
		UX_TRY(code);
		size_t part = (size_t)ux_min(n - *ret_n, (uint64_t)ux_perf_stream_left(s));
		if (room)
			memcpy(room + *ret_n, s->block->bytes + s->pos, part);
		s->pos += part;
		s->off += part;
		*ret_n += part;
	}
	return UX_OK;
}

/* --- the file --------------------------------------------------------------------------------- */

enum ux_code ux_perf_file_fill(void *ctx, uint8_t *room, size_t n, size_t *ret_n,
			       struct ux_error *err)
{
	struct ux_perf_source *source = ctx;
	struct ux_bytes *head = &source->head;
	*ret_n = 0;
	if (head->size > 0) {
		*ret_n = ux_min(n, head->size);
		memcpy(room, head->data, *ret_n);
		*head = ux_bytes(head->data + *ret_n, head->size - *ret_n);
	} else if (source->fd >= 0) {
		ssize_t got = 0;
		do
			got = read(source->fd, room, n);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return ux_error_os(err, errno, "read");
		*ret_n = (size_t)got;
	}
	return UX_OK;
}

/* --- compressed records ----------------------------------------------------------------------- */

/* Largest window of the compressor, as a power of two: zstd's levels up to 20. */
#define WINDOW_LOG_MAX 25

/* Largest decompressed size of a recording: perf's own ratio is 3 to 50. */
#define EXPANSION_BYTES (UINT64_C(64) << 20)
#define EXPANSION_RATIO 128

void ux_perf_zstd_deinit(struct ux_perf_zstd *z)
{
	ZSTD_freeDStream(z->stream);
	*z = (struct ux_perf_zstd){0};
}

static enum ux_code perf_zstd_open(struct ux_perf_zstd *z, struct ux_error *err)
{
	z->stream = ZSTD_createDStream();
	if (!z->stream ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(z->stream, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
		return ux_error_nomem(err);
	return UX_OK;
}

enum ux_code ux_perf_zstd_fill(void *ctx, uint8_t *room, size_t n, size_t *ret_n,
			       struct ux_error *err)
{
	struct ux_perf_zstd *z = ctx;
	*ret_n = 0;
	if (!z->stream)
		UX_TRY(perf_zstd_open(z, err));
	ZSTD_inBuffer in = {.src = z->in.data, .size = z->in.size};
	ZSTD_outBuffer out = {.dst = room, .size = n};
	size_t before = 0;
	do {
		before = in.pos;
		size_t left = ZSTD_decompressStream(z->stream, &out, &in);
		if (ZSTD_isError(left))
			return ux_error_set(err, UX_ECORRUPT, "zstd: %s", ZSTD_getErrorName(left));
	} while (out.pos == 0 && in.pos > before);
	z->in = ux_bytes(z->in.data + in.pos, z->in.size - in.pos);
	z->read += in.pos;
	z->written += out.pos;
	if (z->written > EXPANSION_BYTES && z->written / EXPANSION_RATIO > z->read)
		return ux_error_set(err, UX_ELIMIT,
				    "compressed records inflate to more than %d times their size",
				    EXPANSION_RATIO);
	*ret_n = out.pos;
	return UX_OK;
}
