/* SPDX-License-Identifier: Apache-2.0 */
/* Which Go made a binary: .go.buildinfo (debug/buildinfo/buildinfo.go), since 1.13. */
#ifndef UX_GOSYM_VERSION_H
#define UX_GOSYM_VERSION_H

#include "gosym_image.h"

enum {
	UX_GOSYM_VERSION_MOST = 128 /* bytes of the text with its NUL; more is cut off */
};

/*
 * The version as the binary has it ("go1.19.8", "go1.27-X:experiments"), from the build information
 * at `hint` (0: no hint) or wherever the image has it. Empty when there is none. Printable ASCII.
 */
void ux_gosym_version_read(const struct ux_gosym_image *image, uint64_t hint,
			   char ret[UX_GOSYM_VERSION_MOST]);

/* The 19 of "go1.19.8"; -1 for what has no such number. */
int ux_gosym_version_minor(const char *version);

#endif
