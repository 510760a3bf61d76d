/* SPDX-License-Identifier: Apache-2.0 */
/* What callers hand over: files, and structs of their version's size. */
#ifndef UX_PUBLIC_INPUT_H
#define UX_PUBLIC_INPUT_H

#include "file.h"
#include "unhex/input.h"

/* The bytes of an input: mapped or the caller's. Zeroed = none. */
struct ux_opened {
	struct ux_bytes bytes;
	struct ux_mapping map; /* of a path */
};

/* UX_EINVAL for NULL, or for no data of some size; the codes of ux_file_map(). */
enum ux_code ux_opened_open(struct ux_opened *o, const struct ux_input *in, struct ux_error *err)
	ux_must;
void ux_opened_close(struct ux_opened *o);

/*
 * Copies options: a struct that begins with its own size, in a size_t. `known` bytes are copied,
 * zeros where the caller has less. UX_EINVAL: smaller than `least`, the first version's, or not
 * zero where it is larger than we know. from may be NULL: all zeros.
 */
enum ux_code ux_sized_take(void *to, size_t known, size_t least, const void *from,
			   struct ux_error *err) ux_must;

/* UX_EINVAL when the size that *to begins with is below `least`; to may be NULL. */
enum ux_code ux_sized_check(const void *to, size_t least, struct ux_error *err) ux_must;

/* Fills as much of *to, which passed the check, as its size says; to may be NULL. */
void ux_sized_give(void *to, const void *from, size_t known);

#endif
