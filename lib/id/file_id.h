/* SPDX-License-Identifier: Apache-2.0 */
/* File IDs: identities from the content, for files that bring none. */
#ifndef UX_FILE_ID_H
#define UX_FILE_ID_H

#include "id.h"

/*
 * The File ID of the OpenTelemetry profiler (htlhash; docs/formats/ids.md): the first 16 bytes of
 * SHA-256 over the first 4096 bytes, the last 4096 bytes and the size. Any file has one, an empty
 * one too. It reads two pages of the slice, whatever its size.
 */
struct ux_id ux_file_id(struct ux_bytes file);

/*
 * The File ID that the profiler gives a kernel or a kernel module: no hash of a file, but
 * FNV-1a-128 over the hexadecimal text of its GNU build ID. Without one (gnu is NULL or of another
 * type), or with one of less than 8 bytes, it is a constant.
 */
struct ux_id ux_file_id_of_kernel(const struct ux_id *gnu);

/* Halves exchanged: the profiler's name for the debug file of the kernel with File ID id. */
struct ux_id ux_file_id_swapped(const struct ux_id *id);

#endif
