/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of archives: tar files. */
#ifndef TEST_MAKE_TAR_H
#define TEST_MAKE_TAR_H

#include "out.h"

#include <stdio.h>

/* Appends a member of a tar file (POSIX.1-1988). */
static inline void make_tar_add(struct ux_out *out, const char *name, char type, const char *link,
				struct ux_bytes content)
{
	char head[512] = {0};
	unsigned sum = 0;
	snprintf(head, 100, "%s", name);
	snprintf(head + 100, 8, "%07o", 0644U);
	snprintf(head + 124, 12, "%011o", (unsigned)content.size);
	snprintf(head + 136, 12, "%011o", 0U);
	memset(head + 148, ' ', 8);
	head[156] = type;
	snprintf(head + 157, 100, "%s", link);
	memcpy(head + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(head); i++)
		sum += (uint8_t)head[i];
	snprintf(head + 148, 8, "%06o", sum);
	ux_out_put(out, head, sizeof(head));
	ux_out_put(out, content.data, content.size);
	ux_out_align(out, 512);
}

static inline void make_tar_end(struct ux_out *out)
{
	static const char zeros[1024];
	ux_out_put(out, zeros, sizeof(zeros));
}

#endif
