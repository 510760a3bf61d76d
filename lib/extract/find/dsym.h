/* SPDX-License-Identifier: Apache-2.0 */
/* dSYM bundles: folders in which dsymutil stores the DWARF of Mach-O files. The DWARF is at
 * X.dSYM/Contents/Resources/DWARF/NAME, a file with the UUID of the program. */
#ifndef UX_DSYM_H
#define UX_DSYM_H

#include "file.h"
#include "id.h"

enum {
	UX_DSYM_FILES_MAX = 64 /* files in a bundle, which has one for each binary of a program;
				   usually there is only one */
};

/*
 * Maps a debug file. path is a file, which is decompressed if needed (packed_file.h), or a bundle.
 * In a bundle, the file with one of exe's UUIDs is used. exe may be empty or of any format. If no
 * UUID matches, the only file of the bundle is mapped, so that the caller's comparison of the two
 * reports the mismatch. UX_ENOTFOUND: a bundle without files. UX_EINVAL: a bundle of several files,
 * none with a UUID of exe. Otherwise the codes of ux_file_map(), which refuses other folders.
 */
enum ux_code ux_dsym_map(const char *path, struct ux_bytes exe, struct ux_mapping *ret,
			 struct ux_error *err) ux_must;

/*
 * Searches for the bundle with this UUID beside the binary at path: PATH.dSYM, and for a binary
 * inside of an X.app, X.framework or a similar folder, X.app.dSYM beside that. Returns UX_OK with
 * nothing mapped when no bundle is found.
 */
enum ux_code ux_dsym_find(const struct ux_id *id, const char *path, struct ux_mapping *ret,
			  struct ux_error *err) ux_must;

#endif
