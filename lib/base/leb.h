/* SPDX-License-Identifier: Apache-2.0 */
/* Reading LEB128 numbers of up to 28 bits without a branch on their length. */
#ifndef UX_LEB_H
#define UX_LEB_H

#include "base.h"

/* Reads eight bytes, the least significant one first. */
ux_inline uint64_t ux_leb_window(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? v : __builtin_bswap64(v);
}

/*
 * Reads a ULEB128 of up to four bytes at *p, where eight bytes must be readable, and moves *p after
 * it. False, with *p unchanged, when it is longer.
 */
ux_inline bool ux_leb_short(const uint8_t **p, uint32_t *ret)
{
	uint64_t v = ux_leb_window(*p);
	uint32_t last = ~(uint32_t)v & 0x80808080; /* bit 7 of each byte that may be the last one */
	if (ux_unlikely(last == 0))
		return false;
	uint32_t bytes =
		(uint32_t)v & (last ^ (last - 1)); /* without the bytes after the last one */
	*ret = (bytes & 0x7f) | (bytes & 0x7f00) >> 1 | (bytes & 0x7f0000) >> 2 |
	       (bytes & 0x7f000000) >> 3;
	*p += (unsigned)__builtin_ctz(last) / 8 + 1;
	return true;
}

#endif
