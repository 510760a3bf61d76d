/* SPDX-License-Identifier: Apache-2.0 */
/* Replies in the compact form: writing. */
#ifndef UX_WIRE_REPLY_H
#define UX_WIRE_REPLY_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "wire.h"

/*
 * The tables of one reply as they grow; zeroed is an empty one. In each of them 0 means "none" and
 * the first entry is 1. Failures are the buffers', and latched.
 */
struct ux_wire_reply {
	struct ux_out strings, files, frames, modules, addresses;
	uint32_t n_strings, n_files, n_frames, n_modules;
};

void ux_wire_reply_deinit(struct ux_wire_reply *r);

/* An empty one again, that keeps its memory. */
void ux_wire_reply_clear(struct ux_wire_reply *r);

/* Writes to p, which has room for 10 bytes; returns what is behind. */
ux_inline uint8_t *ux_wire_uleb(uint8_t *p, uint64_t v)
{
	for (; ux_unlikely(v >= 0x80); v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* Appends a string that has its number already. */
ux_inline void ux_wire_reply_copy(struct ux_wire_reply *r, struct ux_bytes text)
{
	uint8_t *p = ux_out_room(&r->strings, text.size + 1);
	if (p) {
		memcpy(p, text.data, text.size);
		p[text.size] = 0;
	}
}

/* A string without a NUL in it; "" has no entry. */
ux_inline uint32_t ux_wire_reply_string(struct ux_wire_reply *r, struct ux_bytes text)
{
	if (text.size == 0)
		return 0;
	ux_wire_reply_copy(r, text);
	return ++r->n_strings;
}

/* dir and base are strings. */
ux_inline uint32_t ux_wire_reply_file(struct ux_wire_reply *r, uint32_t dir, uint32_t base)
{
	ux_out_uleb(&r->files, dir);
	ux_out_uleb(&r->files, base);
	return ++r->n_files;
}

/* up: the frame that this one is inlined into, or 0. */
ux_inline uint32_t ux_wire_reply_frame(struct ux_wire_reply *r, uint32_t function, uint32_t file,
				       uint32_t line, uint32_t up)
{
	enum {
		MOST = 4 * 10
	};
	uint8_t *start = ux_out_room(&r->frames, MOST);
	r->n_frames++;
	if (!start)
		return r->n_frames;
	uint8_t *p = ux_wire_uleb(start, function);
	p = ux_wire_uleb(p, file);
	p = ux_wire_uleb(p, line);
	p = ux_wire_uleb(p, up ? r->n_frames - up : 0);
	r->frames.size -= MOST - (size_t)(p - start);
	return r->n_frames;
}

/* The innermost frame of the next address, or 0. */
ux_inline void ux_wire_reply_address(struct ux_wire_reply *r, uint32_t frame)
{
	enum {
		MOST = 10
	};
	uint8_t *start = ux_out_room(&r->addresses, MOST);
	if (start)
		r->addresses.size -= MOST - (size_t)(ux_wire_uleb(start, frame) - start);
}

/* The module that the last n addresses are of. status and quality: enum ux_module_status, enum
 * ux_quality. */
void ux_wire_reply_module(struct ux_wire_reply *r, unsigned status, unsigned quality,
			  struct ux_bytes reason, uint32_t retry_after_s, size_t n);

/* Bytes of all so far. */
size_t ux_wire_reply_size(const struct ux_wire_reply *r);

/* Appends the whole. */
void ux_wire_reply_write(const struct ux_wire_reply *r, struct ux_out *out);

#endif
