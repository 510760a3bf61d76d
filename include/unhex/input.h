/* SPDX-License-Identifier: Apache-2.0 */
/* Input files: a path, or bytes in memory. */
#ifndef UNHEX_INPUT_H
#define UNHEX_INPUT_H

#include <stddef.h>

/*
 * A path, or bytes in memory that the caller owns. All zeros: no file. The file at a path is
 * mapped, so SIGBUS is raised when it shrinks while it is read. If others may write to the file,
 * read it into memory first.
 */
struct ux_input {
	const char *path; /* NULL: the bytes below */
	const void *data;
	size_t size; /* bytes */
};

static inline struct ux_input ux_input_path(const char *path)
{
	struct ux_input in = {path, NULL, 0};
	return in;
}

static inline struct ux_input ux_input_memory(const void *data, size_t size)
{
	struct ux_input in = {NULL, data, size};
	return in;
}

#endif
