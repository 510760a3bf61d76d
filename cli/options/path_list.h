/* SPDX-License-Identifier: Apache-2.0 */
/* --files-from: operands that are listed in a file. */
#ifndef UX_PATH_LIST_H
#define UX_PATH_LIST_H

#include "arena.h"
#include "error.h"
#include "vec.h"

enum {
	UX_PATH_LIST_BYTES_MAX = 256 << 20, /* bytes of a list */
};

UX_VEC(ux_path_list, char *);

/*
 * Appends the paths in a file ("-": standard input), one per line, or each followed by a NUL if
 * there is one (find -print0). Empty lines are skipped. The texts are in the arena. UX_EINVAL: the
 * list has NULs but its last path lacks one, so it was cut off; UX_ELIMIT.
 */
enum ux_code ux_path_list_read(struct ux_path_list *list, const char *file, struct ux_arena *arena,
			       struct ux_error *err) ux_must;

#endif
