/* SPDX-License-Identifier: Apache-2.0 */
/* An output that is passed on piece by piece, so that it is never in memory as a whole. */
#ifndef UX_STREAM_H
#define UX_STREAM_H

#include "out.h"

enum {
	UX_STREAM_PIECE = 1 << 16 /* bytes */
};

/* Takes the next bytes of an output. */
typedef enum ux_code ux_stream_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

/* Writers append to `out` and call ux_stream_pass() after each record. */
struct ux_stream {
	struct ux_out out;
	ux_stream_fn *write; /* NULL: everything stays in `out` */
	void *ctx;
};

static inline void ux_stream_deinit(struct ux_stream *s)
{
	ux_out_deinit(&s->out);
}

/* Passes everything on. Returns the codes of `write`; UX_ENOMEM. */
static inline enum ux_code ux_stream_flush(struct ux_stream *s, struct ux_error *err)
{
	UX_TRY(ux_out_status(&s->out, err));
	enum ux_code code = UX_OK;
	if (!s->write)
		return UX_OK;
	if (s->out.size > 0)
		code = s->write(s->ctx, ux_out_bytes(&s->out), err);
	ux_out_reset(&s->out);
	return code;
}

/* Passes the bytes on once they fill a piece. Codes of ux_stream_flush(). */
static inline enum ux_code ux_stream_pass(struct ux_stream *s, struct ux_error *err)
{
	return s->out.size < UX_STREAM_PIECE && !s->out.failed ? UX_OK : ux_stream_flush(s, err);
}

#endif
