/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the images of memory with an interpreter in them. */
#ifndef UX_MAKE_INTERP_H
#define UX_MAKE_INTERP_H

#include "base.h"
#include "bytes.h"

enum {
	MAKE_INTERP_BASE = 0x10000, /* the address of an image's first byte */
};

/* Reads an image; ctx is a struct ux_bytes of it. */
static inline bool make_interp_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct ux_bytes *image = ctx;
	struct ux_bytes there;
	if (addr < MAKE_INTERP_BASE || !ux_bytes_sub(*image, addr - MAKE_INTERP_BASE, size, &there))
		return false;
	if (size > 0)
		memcpy(buf, there.data, size);
	return true;
}

#endif
