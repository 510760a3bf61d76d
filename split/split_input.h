/* SPDX-License-Identifier: Apache-2.0 */
/* The file that is split, and its attributes. */
#ifndef UX_SPLIT_INPUT_H
#define UX_SPLIT_INPUT_H

#include "error.h"
#include "file.h"

#include <sys/stat.h>

/* Zeroed except fd, which is -1: nothing is open. */
struct ux_split_input {
	int fd;
	char *real; /* malloc'ed: its path without links */
	struct stat st;
	struct ux_mapping file;
};

#define UX_SPLIT_INPUT_INIT ((struct ux_split_input){.fd = -1})

/* Opens and maps a regular file. UX_ENOTFOUND, UX_EINVAL, UX_EDENIED, UX_EIO, UX_ENOMEM. */
enum ux_code ux_split_input_open(struct ux_split_input *in, const char *path, struct ux_error *err)
	ux_must;
void ux_split_input_close(struct ux_split_input *in);

/* Reports UX_EINVAL if it has several names: replacing it would leave the others with the old
 * content. */
enum ux_code ux_split_input_check_links(const struct ux_split_input *in, struct ux_error *err)
	ux_must;

/* Reports UX_ECONFLICT if the path now leads to another file, or to another content. */
enum ux_code ux_split_input_check_unchanged(const struct ux_split_input *in, struct ux_error *err)
	ux_must;

/*
 * Copies all attributes of `from`, whose stat is st, to the file `to`: owner, group, mode
 * (including set-user-ID bits), extended attributes (including access lists and capabilities), and
 * the times of the last access and change of content. Attributes that the file system of `to` does
 * not know are left out. UX_EDENIED: the process may not set one of them.
 */
enum ux_code ux_file_attributes_copy(int from, const struct stat *st, int to, struct ux_error *err)
	ux_must;

/*
 * The same for a debug file: owner, group and times, and from the mode only the bits for reading
 * and writing.
 */
enum ux_code ux_file_attributes_copy_plain(const struct stat *st, int to, struct ux_error *err)
	ux_must;

/* Appends to an output. The error names it, because the caller names the file that is split. */
enum ux_code ux_split_write(const struct ux_file_new *file, struct ux_bytes bytes,
			    struct ux_error *err) ux_must;

#endif
