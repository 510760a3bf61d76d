/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths at which files of a build ID and supplementary files may be, best first. They are made
 * of names alone: the caller opens them, on this machine or below the root of another process, and
 * compares the build ID.
 */
#ifndef UX_DEBUG_PATHS_H
#define UX_DEBUG_PATHS_H

#include "bytes.h"
#include "id.h"

#include <limits.h>

#define UX_DEBUG_DIRS_DEFAULT "/usr/lib/debug"

/* Returns dirs, "DIR:DIR", or the default for NULL. */
static inline const char *ux_debug_dirs(const char *dirs)
{
	return dirs ? dirs : UX_DEBUG_DIRS_DEFAULT;
}

/* Writes DIR/.build-id/xx/yyyyTAIL. Returns false when the path is too long or the ID too short. */
bool ux_build_id_path(struct ux_bytes dir, const struct ux_id *id, const char *tail,
		      char ret[PATH_MAX]) ux_must;

/* Writes the path of a file in perf's cache of recorded binaries: "elf", "vdso" or "kallsyms".
 * Returns false when there is no such path. */
bool ux_perf_cache_path(const struct ux_id *id, const char *name, char ret[PATH_MAX]) ux_must;

/* A walk over the paths of a debug file in trees of build IDs. */
struct ux_debug_paths {
	const char *dirs; /* "DIR:DIR", the remaining ones */
	const struct ux_id *id;
};

/* Writes the next DIR/.build-id/xx/yyyy.debug. Returns false after the last one. */
bool ux_debug_paths_next(struct ux_debug_paths *p, char ret[PATH_MAX]) ux_must;

/* Where the supplementary file may be that the file `from` links to. */
struct ux_supplementary_paths {
	const char *link;       /* path in the link; "": unknown */
	const struct ux_id *id; /* in the link */
	const char *from;       /* NULL: unknown, so a relative link leads nowhere */
	const char *real;       /* the same path without symbolic links; NULL: unknown */
	const char *dirs;       /* "DIR:DIR" */
};

/* Returns true when the file at path is found, which ends the search. */
typedef bool ux_debug_try_fn(void *ctx, const char *path);

/*
 * Calls try for the link's path, as it is or relative to the folder of `from`, which is often a
 * symbolic link in .build-id; then for DIR/.build-id/xx/yyyy.debug and DIR/.dwz/NAME, where DIR is
 * the tree that contains the .build-id folder of `from`, which may have been unpacked anywhere, or
 * one of dirs. Returns the result of the last call.
 */
bool ux_supplementary_paths_try(const struct ux_supplementary_paths *p, ux_debug_try_fn *try,
				void *ctx);

#endif
