/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dSYM bundles: folders in which dsymutil leaves the DWARF of Mach-O files, at
 * X.dSYM/Contents/Resources/DWARF/NAME, a file with the UUID of the program it is of.
 */
#ifndef UX_DSYM_H
#define UX_DSYM_H

#include "file.h"
#include "id.h"

enum {
	UX_DSYM_FILES_MOST = 64 /* in a bundle: one for each binary of a program, mostly one */
};

/*
 * Maps path: a file as it is, or what it holds when it is compressed (packed_file.h); of a bundle
 * the file that has a UUID of exe, which may be empty or of any format. When none has, the only
 * file in it: whoever compares the two says what is wrong. UX_ENOTFOUND: a bundle without files;
 * UX_EINVAL: one of several files, none of them exe's. The codes of ux_file_map(), which refuses
 * other folders.
 */
enum ux_code ux_dsym_map(const char *path, struct ux_bytes exe, struct ux_mapping *ret,
			 struct ux_error *err) ux_must;

/*
 * Looks for the bundle with the UUID id beside the binary at path: PATH.dSYM, and for a binary
 * inside of an X.app, X.framework or another such folder, X.app.dSYM beside that. UX_OK and nothing
 * mapped when there is none.
 */
enum ux_code ux_dsym_find(const struct ux_id *id, const char *path, struct ux_mapping *ret,
			  struct ux_error *err) ux_must;

#endif
