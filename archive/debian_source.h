/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source packages of Debian and its derivatives: converts an archive of a package's files, as
 * "apt-get source --download-only" fetches them, to the source files that its programs were
 * compiled from.
 */
#ifndef UX_DEBIAN_SOURCE_H
#define UX_DEBIAN_SOURCE_H

#include "bundle.h"

enum {
	UX_DEBIAN_SOURCE_FILES_MAX = 64,     /* files of one package */
	UX_DEBIAN_SOURCE_NAME = 400,         /* bytes of a file's name, with its NUL */
	UX_DEBIAN_PATCHES_MAX = 4096,        /* patches in one series; linux has about 150 */
	UX_DEBIAN_CHANGED_MAX = 50000,       /* files that the patches of one package name */
	UX_DEBIAN_SOURCE_MEMORY = 192 << 20, /* bytes of patches, and of files that they change */
};

/* Returns whether the file is a tar whose first member is a .dsc. */
bool ux_debian_source_is(struct ux_bytes file);

/*
 * Sets the folder of a package's files, "/usr/src/NAME-VERSION", from the name of its .dsc, which
 * may have folders before it: Ubuntu's compilers write this folder into debug information. The
 * version is without its epoch, as in names of files. False: malformed or too long.
 */
bool ux_debian_source_root(const char *dsc, char root[UX_DEBIAN_SOURCE_NAME]) ux_must;

/*
 * Packs the files of a package under ux_debian_source_root(), with its patches applied: for format
 * "3.0 (quilt)" the series, for "1.0" the diff, as dpkg-source does when it unpacks. It leaves out
 * files that a patch could not be applied to, files with zero bytes in them, and kinds of files
 * that no compiler reads. `max` bounds the packed bytes. Codes of ux_bundle_unpack(). Source:
 * dpkg-source(1), "Source package formats".
 */
enum ux_code ux_debian_source_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
				     uint64_t max, struct ux_source_packer *packer,
				     struct ux_error *err) ux_must;

#endif
