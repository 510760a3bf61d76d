/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompression in pieces: compressed bytes come from a function, and only the decoder's own window
 * is in memory.
 */
#ifndef UX_UNPACK_STREAM_H
#define UX_UNPACK_STREAM_H

#include "bytes.h"
#include "error.h"

/* Reads at most n bytes. *ret 0: the end. */
typedef enum ux_code ux_unpack_read_fn(void *ctx, void *to, size_t n, size_t *ret,
				       struct ux_error *err);

enum ux_unpack_form {
	UX_UNPACK_NONE,    /* not compressed */
	UX_UNPACK_DEFLATE, /* RFC 1951, without a frame; ends at its last block */
	UX_UNPACK_GZIP,    /* RFC 1952, xz and zstd: consecutive frames, to the end */
	UX_UNPACK_XZ,
	UX_UNPACK_ZSTD, /* RFC 8878 */
};

enum {
	UX_UNPACK_HEAD = 6, /* bytes that tell the form */
	/* bytes for decoders: the dictionary of xz -9 and the window of zstd --ultra */
	UX_UNPACK_XZ_MEMORY = 72 << 20,
	UX_UNPACK_ZSTD_WINDOW_LOG = 27,
};

/* Returns the form by the first bytes; UX_UNPACK_NONE: no known compression. */
enum ux_unpack_form ux_unpack_form_of(struct ux_bytes head);

struct ux_unpack;

/* *ret is freed by ux_unpack_close(). UX_ENOMEM. */
enum ux_code ux_unpack_open(struct ux_unpack **ret, enum ux_unpack_form form,
			    ux_unpack_read_fn *read, void *ctx, struct ux_error *err) ux_must;

/*
 * Reads n bytes, fewer only at the end. *ret 0: the end. UX_ECORRUPT: damaged or cut off;
 * UX_ELIMIT: the decoder would need too much memory; codes of the source.
 */
enum ux_code ux_unpack_read(struct ux_unpack *u, void *to, size_t n, size_t *ret,
			    struct ux_error *err) ux_must;

/* Reads from bytes in memory. ctx: a struct ux_bytes, which becomes the rest. */
ux_unpack_read_fn ux_unpack_from_bytes;

/* NULL is allowed. */
void ux_unpack_close(struct ux_unpack *u);

#endif
