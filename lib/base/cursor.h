/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursors, the only way to read untrusted bytes in this tree.
 *
 * A cursor walks one section. It latches its first failure: from then on every read returns 0 and
 * ux_cur_more() is false, so that loops end by themselves. A caller reads a whole record, then
 * calls ux_cur_status() once, and only then uses the values. Before that no value may be used as an
 * index, count or size.
 *
 * No function here calls another one out of line or stores the cursor's address, so that a local
 * cursor stays in registers. Only ux_cur_report() describes the failure.
 */
#ifndef UX_CURSOR_H
#define UX_CURSOR_H

#include "bytes.h"
#include "error.h"

struct ux_cur {
	const uint8_t *pos;
	const uint8_t *end;
	const uint8_t *start; /* first byte of this range */
	const uint8_t *prev;  /* start of the last value that was read */
	const char *section;  /* for messages; static or outliving the cursor */
	const char *what;     /* after a failure: the reason; NULL: bytes are missing */
	uint64_t base;        /* offset of start in its section */
	uint64_t need; /* after a failure because bytes are missing: how many were requested */
	bool swap;     /* the section's byte order is not the machine's */
	bool failed;
};

static inline struct ux_cur ux_cur_make(struct ux_bytes bytes, const char *section, bool swap)
{
	return (struct ux_cur){
		.pos = bytes.data,
		.end = bytes.data ? bytes.data + bytes.size : NULL,
		.start = bytes.data,
		.prev = bytes.data,
		.section = section,
		.swap = swap,
	};
}

ux_inline bool ux_cur_more(const struct ux_cur *c)
{
	return c->pos != c->end;
}

ux_inline size_t ux_cur_left(const struct ux_cur *c)
{
	if (c->end < c->pos) /* the invariant of every cursor; the compiler cannot see it */
		__builtin_unreachable();
	return (size_t)(c->end - c->pos);
}

/* Returns the offset of the next byte, or of the failure, in the section. */
ux_inline uint64_t ux_cur_off(const struct ux_cur *c)
{
	return c->base + (uint64_t)((c->failed ? c->prev : c->pos) - c->start);
}

/* Latches the failure that the last value read is invalid. `what` must be a string literal. */
ux_inline void ux_cur_bad(struct ux_cur *c, const char *what)
{
	if (c->failed)
		return;
	c->failed = true;
	c->what = what;
	c->pos = c->end;
}

/* Returns true when n bytes are left; else latches the failure that bytes are missing. */
ux_inline bool ux_cur_has(struct ux_cur *c, uint64_t n)
{
	if (ux_likely(n <= (uint64_t)(c->end - c->pos)))
		return true;
	if (!c->failed) {
		c->failed = true;
		c->prev = c->pos;
		c->need = n;
		c->pos = c->end;
	}
	return false;
}

/*
 * Fills err for a failed cursor and returns its code. It is out of line and takes a copy, so that
 * callers can keep their cursor in registers.
 */
enum ux_code ux_cur_report(struct ux_cur c, struct ux_error *err) ux_cold;

/* UX_OK, or UX_ECORRUPT with section, offset and reason in err. */
ux_inline enum ux_code ux_cur_status(const struct ux_cur *c, struct ux_error *err)
{
	return ux_likely(!c->failed) ? UX_OK : ux_cur_report(*c, err);
}

#define UX_CUR_FIXED(name, type, swapped)              \
	ux_inline type ux_cur_##name(struct ux_cur *c) \
	{                                              \
		type v;                                \
		if (!ux_cur_has(c, sizeof(v)))         \
			return 0;                      \
		memcpy(&v, c->pos, sizeof(v));         \
		c->prev = c->pos;                      \
		c->pos += sizeof(v);                   \
		return c->swap ? (swapped) : v;        \
	}
UX_CUR_FIXED(u8, uint8_t, v)
UX_CUR_FIXED(u16, uint16_t, __builtin_bswap16(v))
UX_CUR_FIXED(u32, uint32_t, __builtin_bswap32(v))
UX_CUR_FIXED(u64, uint64_t, __builtin_bswap64(v))
#undef UX_CUR_FIXED

/* Reads an unsigned integer of n bytes, 1 to 8; any other n is a failure. */
ux_inline uint64_t ux_cur_uint(struct ux_cur *c, unsigned n)
{
	switch (n) {
	case 1:
		return ux_cur_u8(c);
	case 2:
		return ux_cur_u16(c);
	case 4:
		return ux_cur_u32(c);
	case 8:
		return ux_cur_u64(c);
	default:
		break;
	}
	if (n == 0 || n > 8) {
		ux_cur_bad(c, "integer is not 1 to 8 bytes wide");
		return 0;
	}
	if (!ux_cur_has(c, n))
		return 0;
	uint64_t v = 0;
	bool big = c->swap == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	for (unsigned i = 0; i < n; i++)
		v |= (uint64_t)c->pos[i] << 8 * (big ? n - 1 - i : i);
	c->prev = c->pos;
	c->pos += n;
	return v;
}

ux_inline uint32_t ux_cur_u24(struct ux_cur *c)
{
	return (uint32_t)ux_cur_uint(c, 3);
}

/* Reads an unsigned LEB128. Padding with zeros is legal; bits past the 64th are a failure. */
ux_inline uint64_t ux_cur_uleb(struct ux_cur *c)
{
	const uint8_t *p = c->pos;
	if (ux_likely(p < c->end && *p < 0x80)) {
		c->prev = p;
		c->pos = p + 1;
		return *p;
	}
	uint64_t v = 0;
	for (unsigned shift = 0; p < c->end; shift += 7) {
		uint8_t byte = *p++;
		uint64_t bits = byte & 0x7f;
		if (shift < 64)
			v |= bits << shift;
		if (shift > 56 && (shift >= 64 ? bits : bits >> (64 - shift)) != 0) {
			c->prev = c->pos;
			ux_cur_bad(c, "ULEB128 does not fit 64 bits");
			return 0;
		}
		if (byte < 0x80) {
			c->prev = c->pos;
			c->pos = p;
			return v;
		}
	}
	(void)ux_cur_has(c, (uint64_t)(p - c->pos) + 1);
	return 0;
}

/*
 * Reads the unsigned LEB128 in the low bytes of v, when it has one or two. *ret_more: 1 when it has
 * two or more; *far gets a bit when it has more.
 */
ux_inline uint32_t ux_uleb_short(uint32_t v, unsigned *ret_more, uint32_t *far)
{
	const uint32_t more = v >> 7 & 1;
	*ret_more = more;
	*far |= v >> 15 & more;
	return (v & 0x7f) | (v >> 1 & 0x3f80 & -more);
}

/*
 * Reads an unsigned LEB128 from eight readable bytes, all in parallel. Returns its length; 0: more
 * than eight bytes.
 */
ux_inline unsigned ux_uleb_wide(const uint8_t *p, uint64_t *ret)
{
	uint64_t v = 0;
	memcpy(&v, p, sizeof(v));
	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		v = __builtin_bswap64(v);
	const uint64_t last =
		~v & 0x8080808080808080u; /* the lowest bit belongs to its last byte */
	if (ux_unlikely(last == 0))
		return 0;
	v &= last ^ (last - 1);
	v = (v & 0x007f007f007f007fu) | (v & 0x7f007f007f007f00u) >> 1;
	v = (v & 0x00003fff00003fffu) | (v & 0x3fff00003fff0000u) >> 2;
	*ret = (v & 0x000000000fffffffu) | (v & 0x0fffffff00000000u) >> 4;
	return ((unsigned)__builtin_ctzll(last) >> 3) + 1;
}

/* As ux_cur_uleb(), for numbers that usually have several bytes. */
ux_inline uint64_t ux_cur_uleb_wide(struct ux_cur *c)
{
	uint64_t v = 0;
	const unsigned n =
		ux_likely(c->end - c->pos >= (ptrdiff_t)sizeof(v)) ? ux_uleb_wide(c->pos, &v) : 0;
	if (ux_unlikely(n == 0))
		return ux_cur_uleb(c);
	c->prev = c->pos;
	c->pos += n;
	return v;
}

/* Reads a signed LEB128. Padding with the sign is legal; bits past the 64th are a failure. */
ux_inline int64_t ux_cur_sleb(struct ux_cur *c)
{
	const uint8_t *p = c->pos;
	uint64_t v = 0;
	for (unsigned shift = 0; p < c->end; shift += 7) {
		uint8_t byte = *p++;
		uint64_t bits = byte & 0x7f;
		if (shift < 64)
			v |= bits << shift;
		/* Past bit 63 only copies of the sign are allowed. */
		if (shift == 63 ? bits != 0 && bits != 0x7f
				: shift > 63 && bits != ((v >> 63) != 0 ? 0x7f : 0)) {
			c->prev = c->pos;
			ux_cur_bad(c, "SLEB128 does not fit 64 bits");
			return 0;
		}
		if (byte < 0x80) {
			if (shift < 57 && (byte & 0x40) != 0)
				v |= ~(uint64_t)0 << (shift + 7);
			c->prev = c->pos;
			c->pos = p;
			return (int64_t)v;
		}
	}
	(void)ux_cur_has(c, (uint64_t)(p - c->pos) + 1);
	return 0;
}

/*
 * Moves past n bytes; the caller has checked that they are left. After a failure it does nothing,
 * so that the offset of the failure is kept.
 */
ux_inline void ux_cur_pass(struct ux_cur *c, uint64_t n)
{
	if (ux_unlikely(c->failed))
		return;
	c->prev = c->pos;
	c->pos += n;
}

/* Moves past n bytes. */
ux_inline void ux_cur_skip(struct ux_cur *c, uint64_t n)
{
	if (ux_cur_has(c, n))
		ux_cur_pass(c, n);
}

/* Takes the next n bytes; empty on failure. */
ux_inline struct ux_bytes ux_cur_take(struct ux_cur *c, uint64_t n)
{
	if (!ux_cur_has(c, n))
		return UX_BYTES_NONE;
	struct ux_bytes taken = ux_bytes(c->pos, (size_t)n);
	ux_cur_pass(c, n);
	return taken;
}

/* Returns a cursor for the next n bytes. Its offsets still count from the section's start. */
ux_inline struct ux_cur ux_cur_sub(struct ux_cur *c, uint64_t n)
{
	struct ux_cur sub = *c;
	if (!ux_cur_has(c, n) || c->failed) {
		sub = *c;
		sub.start = sub.pos;
		sub.base = ux_cur_off(c);
		sub.prev = sub.start;
		return sub;
	}
	sub.base = c->base + (uint64_t)(c->pos - c->start);
	sub.start = sub.prev = c->pos;
	sub.end = c->pos + n;
	ux_cur_pass(c, n);
	return sub;
}

/* Reads text up to a NUL, which the slice excludes. A missing NUL is a failure. */
ux_inline struct ux_bytes ux_cur_str(struct ux_cur *c)
{
	size_t left = ux_cur_left(c);
	const uint8_t *nul = left ? memchr(c->pos, 0, left) : NULL;
	if (!nul) {
		(void)ux_cur_has(c, (uint64_t)left + 1);
		return UX_BYTES_NONE;
	}
	c->prev = c->pos;
	c->pos = nul + 1;
	return ux_bytes(c->prev, (size_t)(nul - c->prev));
}

/* Moves to a multiple of n (a power of two) counted from the start of this range. */
ux_inline void ux_cur_align(struct ux_cur *c, size_t n)
{
	ux_cur_skip(c, -(size_t)(c->pos - c->start) & (n - 1));
}

/* Moves to off bytes from the start of this range; past the end is a failure. */
ux_inline void ux_cur_seek(struct ux_cur *c, uint64_t off)
{
	if (c->failed)
		return;
	c->pos = c->start;
	if (off > 0) /* the cursor of an empty slice may have a NULL pointer, which must not be
			added to */
		ux_cur_skip(c, off);
}

#endif
