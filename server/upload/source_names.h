/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file of a source package is the one that debug information names. Programs of distributions
 * are compiled in a folder that is gone, or under a name for it that nothing can open ("./csu/x.c",
 * "/build/glibc-2ueRjK/glibc-2.36/csu/x.c"), so that only the end of a path is known to be the
 * same.
 */
#ifndef UX_SOURCE_NAMES_H
#define UX_SOURCE_NAMES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "source_pack.h"

/* Files of a package by the last components of their paths. Zeroed: empty. */
struct ux_source_tree {
	const struct ux_packed_source *files;
	size_t root;       /* bytes of the paths that are the folder of the package */
	uint32_t *by_base; /* numbers of files, in the order of their last components */
	size_t n;
};

/*
 * Makes the tree of the files below the root; others are left out. The files must outlive it; its
 * own memory is the arena's. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_source_tree_make(const struct ux_packed_source *files, size_t n, const char *root,
				 struct ux_arena *arena, struct ux_source_tree *ret,
				 struct ux_error *err) ux_must;

/*
 * Finds the file that a name from debug information is of: the one that has most components at its
 * end in common with it. One of the two has to be the end of the other, and where other files have
 * as many components in common, the file's whole path. False: there is none, or it could be
 * several, or the name is that of a header of another package ("/usr/include/stdio.h"). name is
 * canonical; relative: it was relative to a folder that is not known.
 */
bool ux_source_tree_find(const struct ux_source_tree *t, const char *name, bool relative,
			 size_t *ret) ux_must;

/*
 * The part of an absolute name that can be of a source package: behind the folder that it was built
 * in, which Debian's builders make ("/build/NAME-RANDOM/NAME-VERSION",
 * "/build/reproducible-path/..."), or which Ubuntu's compilers write in its place
 * ("/usr/src/NAME-VERSION"). NULL: none of it can be.
 */
const char *ux_source_name_of(const char *name);

#endif
