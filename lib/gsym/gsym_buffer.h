/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A buffer on the stack that collects small writes to a ux_out, so that bounds are checked once for
 * a group of writes and not for each byte.
 */
#ifndef UX_GSYM_BUFFER_H
#define UX_GSYM_BUFFER_H

#include "out.h"

enum {
	GSYM_BUFFER_SIZE = 1024,
	GSYM_BUFFER_SPARE =
		64 /* bytes that may be written between two gsym_buffer_reserve() calls */
};

struct gsym_buffer {
	uint8_t *pos;
	struct ux_out *out;
	uint8_t bytes[GSYM_BUFFER_SIZE + GSYM_BUFFER_SPARE];
};

ux_inline void gsym_buffer_start(struct gsym_buffer *buf, struct ux_out *out)
{
	buf->pos = buf->bytes;
	buf->out = out;
}

/* Writes the buffer's content to the ux_out. */
static inline void gsym_buffer_flush(struct gsym_buffer *buf)
{
	ux_out_put(buf->out, buf->bytes, (size_t)(buf->pos - buf->bytes));
	buf->pos = buf->bytes;
}

/* Makes room for GSYM_BUFFER_SPARE bytes. */
ux_inline void gsym_buffer_reserve(struct gsym_buffer *buf)
{
	if (ux_unlikely(buf->pos >= buf->bytes + GSYM_BUFFER_SIZE))
		gsym_buffer_flush(buf);
}

ux_inline void gsym_buffer_u8(struct gsym_buffer *buf, uint8_t v)
{
	*buf->pos++ = v;
}

ux_inline void gsym_buffer_u32(struct gsym_buffer *buf, uint32_t v)
{
	v = buf->out->swap ? __builtin_bswap32(v) : v;
	memcpy(buf->pos, &v, sizeof(v));
	buf->pos += sizeof(v);
}

ux_inline void gsym_buffer_uleb(struct gsym_buffer *buf, uint64_t v)
{
	buf->pos = ux_uleb_put(buf->pos, v);
}

/* Writes SLEB128, and returns the position after it. */
ux_inline uint8_t *gsym_sleb_put(uint8_t *p, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		*p++ = (uint8_t)((v & 0x7f) | 0x80);
	*p++ = (uint8_t)(v & 0x7f);
	return p;
}

ux_inline void gsym_buffer_sleb(struct gsym_buffer *buf, int64_t v)
{
	buf->pos = gsym_sleb_put(buf->pos, v);
}

#endif
