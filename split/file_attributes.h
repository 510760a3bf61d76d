/* SPDX-License-Identifier: Apache-2.0 */
/* What a file has besides its content: owner, mode, times, extended attributes. */
#ifndef UX_FILE_ATTRIBUTES_H
#define UX_FILE_ATTRIBUTES_H

#include "error.h"

#include <sys/stat.h>

/*
 * Gives the file `to` everything that `from`, whose stat is st, has: owner, group, mode (with the
 * bits that set a user), extended attributes (with access lists and capabilities), and the times of
 * the last access and change of content. Attributes that the file system of `to` does not know are
 * left out. UX_EDENIED: the process may not set one of them.
 */
enum ux_code ux_file_attributes_copy(int from, const struct stat *st, int to, struct ux_error *err)
	ux_must;

/*
 * The same for a debug file: owner, group and times, and of the mode the bits for reading and
 * writing.
 */
enum ux_code ux_file_attributes_copy_plain(const struct stat *st, int to, struct ux_error *err)
	ux_must;

#endif
