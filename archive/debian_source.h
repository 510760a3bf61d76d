/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source packages of Debian and what is derived from it: an archive of the files of one, as
 * "apt-get source --download-only" fetches them, becomes the source files that its programs were
 * compiled from.
 */
#ifndef UX_DEBIAN_SOURCE_H
#define UX_DEBIAN_SOURCE_H

#include "bundle.h"

enum {
	UX_DEBIAN_SOURCE_FILES_MAX = 64,     /* of one package */
	UX_DEBIAN_SOURCE_NAME = 400,         /* bytes of the name of one, with its NUL */
	UX_DEBIAN_PATCHES_MAX = 4096,        /* in one series; linux has about 150 */
	UX_DEBIAN_CHANGED_MAX = 50000,       /* files that the patches of one package name */
	UX_DEBIAN_SOURCE_MEMORY = 192 << 20, /* bytes of patches, and of files that they change */
};

/* Is it a tar whose first member is a .dsc? */
bool ux_debian_source_is(struct ux_bytes file);

/*
 * The folder that the files of a package are in, "/usr/src/NAME-VERSION", from the name of its
 * .dsc, which may have folders before it: the one that Ubuntu's compilers write into debug
 * information. The version is without its epoch, as in names of files. False: it is no such name,
 * or too long.
 */
bool ux_debian_source_root(const char *dsc, char root[UX_DEBIAN_SOURCE_NAME]) ux_must;

/*
 * Packs the files of a package under ux_debian_source_root(), with its patches applied: of format
 * "3.0 (quilt)" the series, of "1.0" the diff, as dpkg-source does when it unpacks. Left out are
 * files that a patch could not be applied to, files with bytes of zero and those of kinds that no
 * compiler reads. `most` bounds the bytes of what is packed. Codes: those of ux_bundle_unpack().
 * Source: dpkg-source(1), "Source package formats".
 */
enum ux_code ux_debian_source_unpack(const struct ux_archive_calls *calls, struct ux_bytes file,
				     uint64_t max, struct ux_source_packer *packer,
				     struct ux_error *err) ux_must;

#endif
