/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads Zstandard's seekable format. */
#include "seek_frames.h"

#include "cursor.h"
#include "file.h"
#include "out.h"
#include "partition.h"

#include <zstd.h>

enum {
	TABLE_MAGIC = 0x184d2a5e, /* a skippable frame */
	TAIL_MAGIC = (int)0x8f92eab1,
	TABLE_HEAD = 8, /* magic and size */
	ENTRY = 8,      /* bytes for the compressed and decompressed size of a frame... */
	CHECKSUM = 4,   /* ...and its checksum, if the table has them */
	HAS_CHECKSUMS = 0x80,
	RESERVED = 0x7c,
	LEVEL = 3,
};

/* --- writing ---------------------------------------------------------------------------------- */

struct seek_writer {
	ZSTD_CCtx *ctx;
	int fd;
	uint64_t size;
	uint32_t n;
	struct ux_out entries;
	uint8_t *buf;
	size_t buf_size;
};

static void seek_writer_deinit(struct seek_writer *w)
{
	ZSTD_freeCCtx(w->ctx);
	ux_out_deinit(&w->entries);
	free(w->buf);
}

static enum ux_code seek_write(struct seek_writer *w, struct ux_bytes bytes, struct ux_error *err)
{
	w->size += bytes.size;
	return ux_file_write(w->fd, bytes, err);
}

/*
 * Writes a frame with a checksum in it, so that a flipped bit is found in each frame that is read.
 */
static enum ux_code seek_write_frame(struct seek_writer *w, struct ux_bytes content,
				     struct ux_error *err)
{
	assert(content.size > 0 && content.size <= UX_SEEK_FRAME);
	size_t n = ZSTD_compress2(w->ctx, w->buf, w->buf_size, content.data, content.size);
	if (ZSTD_isError(n))
		return ux_error_nomem(err); /* the buffer is large enough for everything else */
	w->n++;
	ux_out_u32(&w->entries, (uint32_t)n);
	ux_out_u32(&w->entries, (uint32_t)content.size);
	return seek_write(w, ux_bytes(w->buf, n), err);
}

static enum ux_code seek_write_table(struct seek_writer *w, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out table = {0};
	ux_out_u32(&table, TABLE_MAGIC);
	ux_out_u32(&table, (uint32_t)w->entries.size + UX_SEEK_TAIL);
	ux_out_put(&table, w->entries.data, w->entries.size);
	ux_out_u32(&table, w->n);
	ux_out_u8(&table, 0); /* the table needs no checksums: each frame has one */
	ux_out_u32(&table, (uint32_t)TAIL_MAGIC);
	UX_TRY(ux_out_status(&w->entries, err));
	UX_TRY(ux_out_status(&table, err));
	return seek_write(w, ux_out_bytes(&table), err);
}

enum ux_code ux_seek_frames_write(struct ux_bytes content, int fd, uint64_t *ret_size,
				  struct ux_error *err)
{
	ux_cleanup(seek_writer_deinit) struct seek_writer w = {
		.ctx = ZSTD_createCCtx(), .fd = fd, .buf_size = ZSTD_compressBound(UX_SEEK_FRAME)};
	w.buf = malloc(w.buf_size);
	if (!w.ctx || !w.buf)
		return ux_error_nomem(err);
	(void)!ZSTD_CCtx_setParameter(w.ctx, ZSTD_c_compressionLevel, LEVEL);
	(void)!ZSTD_CCtx_setParameter(w.ctx, ZSTD_c_checksumFlag, 1);
	for (size_t at = 0; at < content.size; at += UX_SEEK_FRAME) {
		size_t n = ux_min(content.size - at, (size_t)UX_SEEK_FRAME);
		UX_TRY(seek_write_frame(&w, ux_bytes(content.data + at, n), err));
	}
	UX_TRY(seek_write_table(&w, err));
	*ret_size = w.size;
	return UX_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The last bytes of the table: number of frames, flags, magic. */
struct seek_tail {
	uint32_t n;
	unsigned entry; /* bytes of an entry */
};

static bool seek_tail_read(struct ux_bytes tail, struct seek_tail *ret)
{
	if (tail.size < UX_SEEK_TAIL)
		return false;
	struct ux_cur c = ux_cur_make(ux_bytes(tail.data + tail.size - UX_SEEK_TAIL, UX_SEEK_TAIL),
				      NULL, false);
	ret->n = ux_cur_u32(&c);
	unsigned flags = ux_cur_u8(&c);
	ret->entry = ENTRY + ((flags & HAS_CHECKSUMS) != 0 ? CHECKSUM : 0);
	return ux_cur_u32(&c) == (uint32_t)TAIL_MAGIC && (flags & RESERVED) == 0;
}

uint64_t ux_seek_table_bytes(struct ux_bytes tail)
{
	struct seek_tail t;
	return seek_tail_read(tail, &t) ? TABLE_HEAD + (uint64_t)t.n * t.entry + UX_SEEK_TAIL : 0;
}

static enum ux_code seek_entries_read(struct ux_cur *c, const struct seek_tail *t,
				      uint64_t packed_size, struct ux_seek_table *ret,
				      struct ux_error *err)
{
	assert(t->n <= UX_SEEK_FRAMES_MAX);
	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t packed = ux_cur_u32(c), content = ux_cur_u32(c);
		ux_cur_skip(c, t->entry - ENTRY);
		if (packed > packed_size - ret->packed[i])
			ux_cur_bad(c, "the frames are larger than the file");
		if (content > UX_SEEK_FRAME_MAX)
			return ux_error_set(err, UX_ELIMIT,
					    "frame %" PRIu32 " holds %" PRIu32
					    " bytes, at most %d expected",
					    i, content, UX_SEEK_FRAME_MAX);
		UX_TRY(ux_cur_status(c, err));
		ret->packed[i + 1] = ret->packed[i] + packed;
		ret->content[i + 1] = ret->content[i] + content;
	}
	ret->n = t->n;
	if (ret->packed[t->n] != packed_size)
		ux_cur_bad(c, "unexpected bytes between frames");
	return ux_cur_status(c, err);
}

enum ux_code ux_seek_table_read(struct ux_bytes tail, uint64_t file_size, struct ux_seek_table *ret,
				struct ux_error *err)
{
	struct seek_tail t;
	uint64_t size = ux_seek_table_bytes(tail);
	*ret = (struct ux_seek_table){0};
	if (size == 0 || size > tail.size || size > file_size || !seek_tail_read(tail, &t))
		return ux_error_set(err, UX_ECORRUPT,
				    "the file does not end with a table of frames");
	if (t.n > UX_SEEK_FRAMES_MAX)
		return ux_error_set(err, UX_ELIMIT,
				    "there are %" PRIu32 " frames, at most %d expected", t.n,
				    UX_SEEK_FRAMES_MAX);
	struct ux_cur c =
		ux_cur_make(ux_bytes(tail.data + tail.size - size, (size_t)size), NULL, false);
	if (ux_cur_u32(&c) != TABLE_MAGIC)
		ux_cur_bad(&c, "the table is not in a skippable frame");
	if (ux_cur_u32(&c) != size - TABLE_HEAD)
		ux_cur_bad(&c, "the skippable frame and its table differ in size");
	UX_TRY(ux_cur_status(&c, err));
	ret->packed = calloc((size_t)t.n + 1, sizeof(*ret->packed));
	ret->content = calloc((size_t)t.n + 1, sizeof(*ret->content));
	enum ux_code code = ret->packed && ret->content
				    ? seek_entries_read(&c, &t, file_size - size, ret, err)
				    : ux_error_nomem(err);
	if (code != UX_OK)
		ux_seek_table_deinit(ret);
	return code;
}

void ux_seek_table_deinit(struct ux_seek_table *t)
{
	free(t->packed);
	free(t->content);
	*t = (struct ux_seek_table){0};
}

uint32_t ux_seek_table_find(const struct ux_seek_table *t, uint64_t off)
{
	return (uint32_t)ux_partition_point(i, 0, t->n, t->content[i + 1] <= off);
}

enum ux_code ux_seek_frame_unpack(struct ux_bytes frame, uint8_t *to, size_t size,
				  struct ux_error *err)
{
	assert(size <= UX_SEEK_FRAME_MAX);
	size_t n = ZSTD_decompress(to, size, frame.data, frame.size);
	if (!ZSTD_isError(n) && n == size)
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT, "a frame cannot be decompressed: %s",
			    ZSTD_isError(n) ? ZSTD_getErrorName(n) : "size does not match");
}
