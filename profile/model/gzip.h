/* SPDX-License-Identifier: Apache-2.0 */
/* Packing a profile as pprof's tools expect it. */
#ifndef UX_GZIP_H
#define UX_GZIP_H

#include "out.h"
#include "stream.h"

/* Appends the bytes as one gzip member (RFC 1952) without a name and time: same input, same bytes.
 */
enum ux_code ux_gzip_write(struct ux_bytes bytes, struct ux_out *out, struct ux_error *err) ux_must;

/*
 * Packs the bytes written to `plain` as one gzip member into another stream, piece by piece. If
 * unhex was built without ISA-L, all of it is in memory until the end. Zeroed = closed. It must not
 * move while it is open. Of one thread.
 */
struct ux_gzip {
	struct ux_stream plain; /* to write to */
	struct ux_stream *to;   /* owned by the caller */
	void *packer;           /* malloc'ed; NULL: `plain` is packed at the end */
};

/* UX_ENOMEM. It must be closed in either case. */
enum ux_code ux_gzip_open(struct ux_gzip *z, struct ux_stream *to, struct ux_error *err) ux_must;

/* Packs the rest. UX_ENOMEM, and the codes of the other stream's function. */
enum ux_code ux_gzip_finish(struct ux_gzip *z, struct ux_error *err) ux_must;

void ux_gzip_close(struct ux_gzip *z);

#endif
