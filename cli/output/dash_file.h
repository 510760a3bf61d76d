/* SPDX-License-Identifier: Apache-2.0 */
/* "-" as the name of a file: standard input as a file that can be mapped, and standard output for a
 * file that is not written in order. */
#ifndef UX_DASH_FILE_H
#define UX_DASH_FILE_H

#include "bytes.h"
#include "error.h"

#include <stdio.h>

/* A file without a name. Initialize it with UX_DASH_FILE_INIT. */
struct ux_dash_file {
	int fd;
	char path[32]; /* path of the descriptor, below /proc */
};

#define UX_DASH_FILE_INIT ((struct ux_dash_file){.fd = -1})

/* Text for messages about the file. */
#define UX_DASH_INPUT  "standard input"
#define UX_DASH_OUTPUT "standard output"

static inline bool ux_dash_is(const char *name)
{
	return strcmp(name, "-") == 0;
}

/*
 * Gives a path for reading `name`: name itself, or for "-" the path of a temporary file (in TMPDIR
 * or /tmp) with `head`, which was read before, followed by the rest of standard input. A standard
 * input that is a file is not copied, unless there is a head. UX_EINVAL: it is a terminal.
 * *ret_path is valid until ux_dash_file_close().
 */
enum ux_code ux_dash_file_read(struct ux_dash_file *f, const char *name, struct ux_bytes head,
			       const char **ret_path, struct ux_error *err) ux_must;

/* Makes an empty temporary file for output. UX_EINVAL: standard output is a terminal. */
enum ux_code ux_dash_file_create(struct ux_dash_file *f, struct ux_error *err) ux_must;

/* Makes an empty temporary file that can also be read by f->path. */
enum ux_code ux_dash_file_temporary(struct ux_dash_file *f, struct ux_error *err) ux_must;

/* Copies the file to standard output. */
enum ux_code ux_dash_file_print(struct ux_dash_file *f, struct ux_error *err) ux_must;

void ux_dash_file_close(struct ux_dash_file *f);

#endif
