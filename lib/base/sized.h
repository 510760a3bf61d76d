/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that callers hand over in the size of their version. */
#ifndef UX_SIZED_H
#define UX_SIZED_H

#include "base.h"
#include "error.h"

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
