/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compressed as a whole, and xz streams in memory. */
#ifndef UX_PACKED_FILE_H
#define UX_PACKED_FILE_H

#include "section_content.h"
#include "file.h"

/* True when bytes begin as an xz file does. */
bool ux_xz_is(struct ux_bytes bytes);

enum {
	UX_XZ_MEMORY = 72 << 20, /* bytes for a decoder: xz -9 has a dictionary of 64 MiB */
};

/* The code and words for a failure of liblzma (an lzma_ret), `off` bytes into a section (NULL: the
 * file). */
enum ux_code ux_xz_failure(int status, const char *section, uint64_t off, struct ux_error *err);

/*
 * Inflates packed, one or several xz streams (the .xz file format, 1.1), by liblzma. UX_ELIMIT:
 * more than `most` bytes come out, or the dictionary is larger than `xz -9` makes it. UX_ECORRUPT:
 * not xz, damaged, or cut off. UX_EUNSUPPORTED: a filter or check that liblzma was built without.
 * section is for messages. *ret is set on success.
 */
enum ux_code ux_xz_inflate(struct ux_bytes packed, const char *section, uint64_t most,
			   struct ux_content *ret, struct ux_error *err) ux_must;

/* True for what begins as xz, zstd or gzip. */
bool ux_packed_is(struct ux_bytes file);

/*
 * Replaces a compressed file by its content, in memory that ux_file_unmap() releases; any other
 * file stays as it is. device, inode and time stay those of the file. Several streams one
 * behind the other are joined. UX_ELIMIT: more than 64 MiB and 32 times its size come out, or an xz
 * dictionary of over 64 MiB. UX_ECORRUPT: damaged or cut off, and the file is mapped as it was.
 * Source: The .xz File Format 1.1; RFC 8878; RFC 1952.
 */
enum ux_code ux_packed_open(struct ux_mapping *file, struct ux_error *err) ux_must;

#endif
