/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of bytes as records, which stay in memory as long as they are used. The bytes come from
 * the file, or from the decompressor.
 */
#ifndef UX_PERF_STREAM_H
#define UX_PERF_STREAM_H

#include "perf_data.h"
#include "perf_event.h"

/* Bytes from one read. Freed by the last user. */
struct ux_perf_block {
	size_t users; /* the stream, and each waiting record */
	size_t size;
	size_t *live; /* blocks in memory: one counter for all streams */
	uint8_t bytes[];
};

enum {
	UX_PERF_BLOCK_BYTES = 1 << 19, /* capacity; more than the largest record */
};

void ux_perf_block_release(struct ux_perf_block *b);

/* Fills room with 1 to n bytes; *ret_n = 0: there are none at this time. */
typedef enum ux_code ux_perf_fill_fn(void *ctx, uint8_t *room, size_t n, size_t *ret_n,
				     struct ux_error *err);

/* Zeroed except for fill, ctx and live. */
struct ux_perf_stream {
	ux_perf_fill_fn *fill;
	void *ctx;
	size_t *live;
	struct ux_perf_block *block; /* newest block */
	size_t pos;                  /* position of the next record in it */
	uint64_t off;                /* position in the stream of the next record */
	bool swap;
};

void ux_perf_stream_deinit(struct ux_perf_stream *s);

/*
 * Returns the next record. It is valid until the next call; a caller that adds itself to the users
 * of s->block keeps it longer. UX_ENOTFOUND, with err unchanged: no record is complete;
 * ux_perf_stream_left() bytes of the next one are there. UX_ECORRUPT: its size is impossible.
 * UX_EIO, UX_ENOMEM.
 */
enum ux_code ux_perf_stream_next(struct ux_perf_stream *s, struct ux_perf_record *ret,
				 struct ux_error *err) ux_must;
size_t ux_perf_stream_left(const struct ux_perf_stream *s);

/* Takes up to n bytes of the stream; fewer at its end. room NULL: skips them. */
enum ux_code ux_perf_stream_take(struct ux_perf_stream *s, uint8_t *room, uint64_t n,
				 uint64_t *ret_n, struct ux_error *err) ux_must;

/* --- the file --------------------------------------------------------------------------------- */

/* A ux_perf_fill_fn for a file; ctx is a struct ux_perf_source whose head is used up. */
enum ux_code ux_perf_file_fill(void *ctx, uint8_t *room, size_t n, size_t *ret_n,
			       struct ux_error *err) ux_must;

/* --- compressed records ----------------------------------------------------------------------- */

/* A zstd stream that continues across the records of a file. Zeroed: at its start. */
struct ux_perf_zstd {
	void *stream;       /* ZSTD_DStream */
	struct ux_bytes in; /* rest of the current record */
	uint64_t read;      /* bytes of input so far */
	uint64_t written;   /* bytes of output so far */
};

void ux_perf_zstd_deinit(struct ux_perf_zstd *z);

/* A ux_perf_fill_fn; ctx is a struct ux_perf_zstd. UX_ECORRUPT, UX_ELIMIT, UX_ENOMEM. */
enum ux_code ux_perf_zstd_fill(void *ctx, uint8_t *room, size_t n, size_t *ret_n,
			       struct ux_error *err) ux_must;

#endif
