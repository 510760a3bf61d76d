/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files that contain no code for unhex, for messages. */
#ifndef UX_FILE_KIND_H
#define UX_FILE_KIND_H

#include "bytes.h"

/*
 * Returns the kind of a file by its first bytes, and what to do about it: "a ZIP archive (a wheel,
 * a jar, an apk); unpack it first". It names core dumps, too. NULL: the format is unknown here, or
 * unhex reads it as code. The text is static.
 */
const char *ux_file_kind(struct ux_bytes file);

#endif
