/* SPDX-License-Identifier: Apache-2.0 */
/* Where a file's bytes come from. */
#ifndef UNHEX_INPUT_H
#define UNHEX_INPUT_H

#include <stddef.h>

/*
 * A path, or bytes in memory that the caller keeps. All zeros: no file. A path is mapped, so a file
 * that shrinks while it is read raises SIGBUS; where others may write, read into memory first.
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
