/* SPDX-License-Identifier: Apache-2.0 */
/* A growing output buffer. It latches its first failure. */
#ifndef UX_OUT_H
#define UX_OUT_H

#include "bytes.h"
#include "error.h"

/* A limit on the memory of several buffers together. */
struct ux_out_quota {
	/*
	 * Asks whether the buffers may have `bytes` bytes from now on. Any code but UX_OK is kept
	 * in `code`, and makes the buffer that wanted to grow fail; the owner keeps the message.
	 * With `try` nothing fails: the buffer goes on with less. Called before a buffer grows,
	 * which is rare.
	 */
	enum ux_code (*may)(struct ux_out_quota *q, size_t bytes, bool try);
	size_t bytes; /* capacity of all buffers */
	enum ux_code code;
};

/*
 * Owns data, which is malloc'ed. Zeroed is a valid empty buffer in the machine's byte order. With
 * `counting` no bytes are stored and only size grows, so that the same code can compute the size of
 * its output first.
 */
struct ux_out {
	uint8_t *data;
	size_t size;
	size_t cap;
	bool swap; /* write integers in the other byte order */
	bool counting;
	bool failed; /* out of memory: everything that is written afterwards is lost */
	struct ux_out_quota *quota; /* NULL: memory is the only limit */
};

void ux_out_deinit(struct ux_out *out);

/* Clears the content and the failure, but keeps the allocated memory. */
void ux_out_reset(struct ux_out *out);

/* Moves the bytes out; the caller frees them. NULL when empty. */
uint8_t *ux_out_steal(struct ux_out *out, size_t *ret_size);

/*
 * Gives an empty buffer without memory cap bytes that were malloc'ed, and owns them then. False:
 * its quota does not allow it.
 */
bool ux_out_adopt(struct ux_out *out, uint8_t *data, size_t cap) ux_must;

/*
 * Returns UX_ENOMEM when the buffer has failed, or the code of its quota, whose owner has the
 * message.
 */
enum ux_code ux_out_status(const struct ux_out *out, struct ux_error *err) ux_must;

static inline struct ux_bytes ux_out_bytes(const struct ux_out *out)
{
	return ux_bytes(out->data, out->size);
}

/* Makes room for n more bytes; false once failed. */
bool ux_out_grow(struct ux_out *out, size_t n);

/* Takes room for n more bytes in one step, if memory and the quota allow it; never fails. */
void ux_out_reserve(struct ux_out *out, size_t n);

/* Returns room for n bytes that the caller fills; NULL when counting or failed. */
ux_inline uint8_t *ux_out_room(struct ux_out *out, size_t n)
{
	if (ux_unlikely(out->cap - out->size < n || out->counting) && !ux_out_grow(out, n))
		return NULL;
	uint8_t *p = out->data + out->size;
	out->size += n;
	return p;
}

ux_inline void ux_out_put(struct ux_out *out, const void *data, size_t n)
{
	uint8_t *p = n ? ux_out_room(out, n) : NULL; /* memcpy() must not be given the NULL of a
							buffer that has not grown yet */
	if (p)
		memcpy(p, data, n);
}

ux_inline void ux_out_u8(struct ux_out *out, uint8_t v)
{
	ux_out_put(out, &v, sizeof(v));
}

ux_inline void ux_out_u16(struct ux_out *out, uint16_t v)
{
	v = out->swap ? __builtin_bswap16(v) : v;
	ux_out_put(out, &v, sizeof(v));
}

ux_inline void ux_out_u32(struct ux_out *out, uint32_t v)
{
	v = out->swap ? __builtin_bswap32(v) : v;
	ux_out_put(out, &v, sizeof(v));
}

ux_inline void ux_out_u64(struct ux_out *out, uint64_t v)
{
	v = out->swap ? __builtin_bswap64(v) : v;
	ux_out_put(out, &v, sizeof(v));
}

/* Writes an unsigned integer of n = 1, 2, 4 or 8 bytes. */
void ux_out_uint(struct ux_out *out, uint64_t v, unsigned n);

ux_inline void ux_out_uleb(struct ux_out *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		ux_out_u8(out, (uint8_t)(v | 0x80));
	ux_out_u8(out, (uint8_t)v);
}

enum {
	UX_ULEB_MAX = 10 /* most bytes of an LEB128 of 64 bits */
};

/*
 * Writes an unsigned LEB128 to p, which has room for UX_ULEB_MAX bytes, and returns the position
 * after it. Numbers below 2^14 are written without a branch on their width, which a processor
 * cannot predict.
 */
ux_inline uint8_t *ux_uleb_put(uint8_t *p, uint64_t v)
{
	for (; ux_unlikely(v >= 1 << 14); v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	const bool two = v >= 0x80;
	p[0] = (uint8_t)((v & 0x7f) | (unsigned)two << 7);
	p[1] = (uint8_t)(v >> 7);
	return p + 1 + two;
}

ux_inline void ux_out_sleb(struct ux_out *out, int64_t v)
{
	while (v < -64 || v > 63) {
		ux_out_u8(out, (uint8_t)((v & 0x7f) | 0x80));
		v >>= 7;
	}
	ux_out_u8(out, (uint8_t)(v & 0x7f));
}

/* Writes the text without its NUL; ux_out_u8(out, 0) adds one. */
void ux_out_cstr(struct ux_out *out, const char *s);
void ux_out_fmt(struct ux_out *out, const char *fmt, ...) ux_printf(2, 3);

/* Writes dir and base joined by one '/'. If dir is empty, writes only base. */
void ux_out_path(struct ux_out *out, struct ux_bytes dir, struct ux_bytes base);

/* Writes zero bytes until the size is a multiple of n (a power of two). */
void ux_out_align(struct ux_out *out, size_t n);

/* Overwrites four bytes that were written at off. */
void ux_out_patch_u32(struct ux_out *out, size_t off, uint32_t v);

#endif
