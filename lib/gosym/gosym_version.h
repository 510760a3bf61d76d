/* SPDX-License-Identifier: Apache-2.0 */
/* The version of Go that built a binary, from .go.buildinfo (debug/buildinfo/buildinfo.go), which
 * exists since 1.13. */
#ifndef UX_GOSYM_VERSION_H
#define UX_GOSYM_VERSION_H

#include "gosym_image.h"

enum {
	/* size of the version text with its NUL; longer ones are cut off */
	UX_GOSYM_VERSION_MAX = 128
};

/*
 * Reads the version as the binary stores it ("go1.19.8", "go1.27-X:experiments"), from the build
 * information at `hint` (0: no hint) or else from any in the image. It is printable ASCII, and
 * empty when none is found.
 */
void ux_gosym_version_read(const struct ux_gosym_image *image, uint64_t hint,
			   char ret[UX_GOSYM_VERSION_MAX]);

/* Returns the 19 of "go1.19.8"; -1 when the text has no such number. */
int ux_gosym_version_minor(const char *version);

#endif
