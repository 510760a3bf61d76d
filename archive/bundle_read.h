/* SPDX-License-Identifier: Apache-2.0 */
/* An archive of source files, as a stranger sent it, to a pack. */
#ifndef UX_BUNDLE_READ_H
#define UX_BUNDLE_READ_H

#include "archive_calls.h"
#include "source_pack.h"

enum {
	UX_BUNDLE_FILE_MOST = 64 << 20, /* bytes of one file */
	UX_BUNDLE_MEMBERS_MOST = 400000 /* with folders and links, which are passed over */
};

/* Is it a file that can be a bundle, by its first bytes? UX_EUNSUPPORTED says what it begins with.
 */
enum ux_code ux_bundle_check(struct ux_bytes file, struct ux_error *err) ux_must;

/*
 * Packs the regular files of a tar or zip archive, compressed by zstd, gzip, xz or not at all. A
 * member's name is a path from the root, with or without the slash in front. `most` bounds what the
 * files have together, however small they are packed. For one who can do nothing else (sandbox.h):
 * the archive is read by libarchive. UX_ECORRUPT: it breaks off, or a name leads above the root;
 * UX_ELIMIT; UX_ENOTFOUND: no file is in it.
 */
enum ux_code ux_bundle_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
			      uint64_t most, struct ux_source_packer *packer, struct ux_error *err)
	ux_must;

#endif
