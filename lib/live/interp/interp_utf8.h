/* SPDX-License-Identifier: Apache-2.0 */
/* Writing characters as UTF-8. */
#ifndef UX_INTERP_UTF8_H
#define UX_INTERP_UTF8_H

#include "base.h"

enum {
	UX_UTF8_MOST = 4 /* bytes of a character */
};

/*
 * Writes one character and returns the place behind it. What cannot be in a C string of UTF-8 (NUL,
 * surrogates, more than 0x10ffff) becomes U+FFFD.
 */
static inline char *ux_utf8_put(char *to, uint32_t c)
{
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		*to++ = (char)c;
		return to;
	}
	unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t heads[] = {0, 0xc0, 0xe0, 0xf0};
	*to++ = (char)(heads[more] | c >> 6 * more);
	while (more-- > 0)
		*to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
	return to;
}

#endif
