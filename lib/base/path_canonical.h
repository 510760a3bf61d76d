/* SPDX-License-Identifier: Apache-2.0 */
/* Canonical paths of source files. */
#ifndef UX_PATH_CANONICAL_H
#define UX_PATH_CANONICAL_H

#include "arena.h"
#include "bytes.h"

enum {
	UX_PATH_BYTES = 4096 /* longest path, with its NUL */
};

/*
 * Sets *ret to the canonical form of an absolute path: without "." and "..", without "//" and
 * without a slash at the end. Only the text is used; no file is accessed. *ret is never NULL when
 * UX_OK is returned. UX_EINVAL: the path is not absolute, is too long, contains a NUL, or leads
 * above its root.
 */
enum ux_code ux_path_canonical(struct ux_bytes path, struct ux_arena *arena, const char **ret,
			       struct ux_error *err) ux_must;

/*
 * As ux_path_canonical(), for a name from debug information, which may be relative to an unknown
 * folder: it is then taken as relative to the root.
 */
enum ux_code ux_path_of_source(struct ux_bytes name, struct ux_arena *arena, const char **ret,
			       struct ux_error *err) ux_must;

#endif
