/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compressed as a whole: kernel modules and vmlinux as distributions ship them. */
#ifndef UX_PACKED_FILE_H
#define UX_PACKED_FILE_H

#include "file.h"

/* True for what begins as xz, zstd or gzip. */
bool ux_packed_is(struct ux_bytes file);

/*
 * Puts what a compressed file holds in its place, in memory that ux_file_unmap() gives back; any
 * other file stays as it is. device, inode and time stay those of the file. Several streams one
 * behind the other are joined. UX_ELIMIT: more than 64 MiB and 32 times its size come out, or an xz
 * dictionary of over 64 MiB. UX_ECORRUPT: damaged or cut off, and the file is mapped as it was.
 * Source: The .xz File Format 1.1; RFC 8878; RFC 1952.
 */
enum ux_code ux_packed_open(struct ux_mapping *file, struct ux_error *err) ux_must;

#endif
