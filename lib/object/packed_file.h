/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are compressed as a whole, and xz streams in memory. */
#ifndef UX_PACKED_FILE_H
#define UX_PACKED_FILE_H

#include "file.h"
#include "section_content.h"

/* Returns true when bytes begin with the magic of an xz file. */
bool ux_xz_is(struct ux_bytes bytes);

enum {
	UX_XZ_MEMORY = 72 << 20, /* memory limit of a decoder: xz -9 has a dictionary of 64 MiB */
};

/* Describes a failure of liblzma (an lzma_ret), `off` bytes into a section (NULL: the file). */
enum ux_code ux_xz_failure(int status, const char *section, uint64_t off, struct ux_error *err);

/*
 * Decompresses `packed`, one or several xz streams (the .xz file format, 1.1), with liblzma.
 * UX_ELIMIT: the result exceeds `max` bytes, or the dictionary is larger than with `xz -9`.
 * UX_ECORRUPT: not xz, damaged, or cut off. UX_EUNSUPPORTED: a filter or check that liblzma was
 * built without. section is for messages. *ret is set on success.
 */
enum ux_code ux_xz_inflate(struct ux_bytes packed, const char *section, uint64_t max,
			   struct ux_content *ret, struct ux_error *err) ux_must;

/* Returns true for a file that begins with the magic of xz, zstd or gzip. */
bool ux_packed_is(struct ux_bytes file);

/*
 * Decompresses a gzip file or zstd frames (several of either are joined) into memory that
 * ux_file_unmap() releases. UX_ELIMIT: the content exceeds `max` bytes. UX_ECORRUPT: damaged or
 * truncated, or the magic of neither.
 */
enum ux_code ux_packed_inflate(struct ux_bytes packed, size_t max, struct ux_mapping *ret,
			       struct ux_error *err) ux_must;

/*
 * Replaces the mapping of a compressed file by its decompressed content, in memory that
 * ux_file_unmap() releases. Any other file is unchanged. Device, inode and time remain the file's.
 * Concatenated streams are joined. UX_ELIMIT: the content exceeds 64 MiB plus 32 times the size of
 * the file, or an xz dictionary exceeds 64 MiB. UX_ECORRUPT: the file is damaged or truncated; it
 * then stays mapped as it was. Source: The .xz File Format 1.1; RFC 8878; RFC 1952.
 */
enum ux_code ux_packed_open(struct ux_mapping *file, struct ux_error *err) ux_must;

#endif
