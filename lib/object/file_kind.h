/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files that hold no code that unhex reads, for messages. */
#ifndef UX_FILE_KIND_H
#define UX_FILE_KIND_H

#include "bytes.h"

/*
 * Returns what a file is by its first bytes, and what to do about it: "a ZIP archive (a wheel, a
 * jar, an apk); unpack it first". NULL: it is no format that is known here, or one that unhex
 * reads as code: it names core dumps, too. The text is static.
 */
const char *ux_file_kind(struct ux_bytes file);

#endif
