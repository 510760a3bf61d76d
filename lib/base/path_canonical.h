/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of source files in one form. */
#ifndef UX_PATH_CANONICAL_H
#define UX_PATH_CANONICAL_H

#include "arena.h"
#include "bytes.h"

enum {
	UX_PATH_BYTES = 4096 /* of a path, with its NUL */
};

/*
 * The canonical form of an absolute path: no "." and "..", no "//", none at the end. By the text
 * alone, no file is looked at. NULL in *ret is never UX_OK. UX_EINVAL: not absolute, too long, with
 * a NUL, or above its root.
 */
enum ux_code ux_path_canonical(struct ux_bytes path, struct ux_arena *arena, const char **ret,
			       struct ux_error *err) ux_must;

/*
 * The same of a name in debug information, which may be relative to an unknown folder:
 * then it counts from the root.
 */
enum ux_code ux_path_of_source(struct ux_bytes name, struct ux_arena *arena, const char **ret,
			       struct ux_error *err) ux_must;

#endif
