/* SPDX-License-Identifier: Apache-2.0 */
/* Small writes gathered on the stack on their way to a ux_out: a bound check a group, not a byte.
 */
#ifndef UX_GSYM_BUFFER_H
#define UX_GSYM_BUFFER_H

#include "out.h"

enum {
	PEN_SIZE = 1024,
	PEN_SPARE = 64 /* what may be written between two pen_flow() calls */
};

struct pen {
	uint8_t *pos;
	struct ux_out *out;
	uint8_t buf[PEN_SIZE + PEN_SPARE];
};

ux_inline void pen_start(struct pen *pen, struct ux_out *out)
{
	pen->pos = pen->buf;
	pen->out = out;
}

/* Hands over what was gathered. */
static inline void pen_lift(struct pen *pen)
{
	ux_out_put(pen->out, pen->buf, (size_t)(pen->pos - pen->buf));
	pen->pos = pen->buf;
}

/* Makes room for PEN_SPARE bytes. */
ux_inline void pen_flow(struct pen *pen)
{
	if (ux_unlikely(pen->pos >= pen->buf + PEN_SIZE))
		pen_lift(pen);
}

ux_inline void pen_u8(struct pen *pen, uint8_t v)
{
	*pen->pos++ = v;
}

ux_inline void pen_u32(struct pen *pen, uint32_t v)
{
	v = pen->out->swap ? __builtin_bswap32(v) : v;
	memcpy(pen->pos, &v, sizeof(v));
	pen->pos += sizeof(v);
}

ux_inline void pen_uleb(struct pen *pen, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*pen->pos++ = (uint8_t)(v | 0x80);
	*pen->pos++ = (uint8_t)v;
}

ux_inline void pen_sleb(struct pen *pen, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		*pen->pos++ = (uint8_t)((v & 0x7f) | 0x80);
	*pen->pos++ = (uint8_t)(v & 0x7f);
}

#endif
