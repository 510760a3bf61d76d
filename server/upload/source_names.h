/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of a source package that debug information names. Programs of distributions are
 * compiled in a folder that no longer exists, or under a name for it that cannot be opened
 * ("./csu/x.c", "/build/glibc-2ueRjK/glibc-2.36/csu/x.c"), so only the end of a path can match.
 */
#ifndef UX_SOURCE_NAMES_H
#define UX_SOURCE_NAMES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "source_pack.h"

/* Files of a package, sorted by the last components of their paths. Zeroed: empty. */
struct ux_source_tree {
	const struct ux_packed_source *files;
	size_t root;       /* length of the package's folder, the start of all paths */
	uint32_t *by_base; /* numbers of files, in the order of their last components */
	size_t n;
};

/*
 * Makes the tree of the files below the root; skips others. The files must outlive it; its own
 * memory comes from the arena. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_source_tree_make(const struct ux_packed_source *files, size_t n, const char *root,
				 struct ux_arena *arena, struct ux_source_tree *ret,
				 struct ux_error *err) ux_must;

/*
 * Finds the file of a name from debug information: the one that has the most components at its end
 * in common with the name. One of the two has to be an end of the other, and if other files have as
 * many components in common, the file's whole path must match. False: no such file, several are
 * possible, or the name is a header of another package ("/usr/include/stdio.h"). name is canonical;
 * relative: it was relative to an unknown folder.
 */
bool ux_source_tree_find(const struct ux_source_tree *t, const char *name, bool relative,
			 size_t *ret) ux_must;

/*
 * Returns the part of an absolute name that can be inside a source package: the part after the
 * build folder, which Debian's builders create ("/build/NAME-RANDOM/NAME-VERSION",
 * "/build/reproducible-path/..."), or which Ubuntu's compilers write instead
 * ("/usr/src/NAME-VERSION"). NULL: no part of it can be.
 */
const char *ux_source_name_of(const char *name);

#endif
