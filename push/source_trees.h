/* SPDX-License-Identifier: Apache-2.0 */
/* The folders from which a push sends source files. */
#ifndef UX_SOURCE_TREES_H
#define UX_SOURCE_TREES_H

#include "error.h"
#include "file.h"
#include "vec.h"

UX_VEC(ux_source_tree_vec, char *);

/*
 * Debug information is untrusted and may name any file of this machine, and a link may lead to any.
 * A source file is sent only if it really is, after all links, in one of these trees:
 *  - the one around each file or folder that is pushed, and around the working folder: up to the
 *    folder with .git, and without one the folder itself; but neither / nor the home of the user;
 *  - the TO of each rule FROM=TO;
 *  - /usr, for files that every user may read: headers and sources of the distribution.
 * Zeroed: only the last one.
 */
struct ux_source_trees {
	struct ux_source_tree_vec roots; /* resolved paths */
};

/* Adds the tree around a file or folder. A path that does not exist adds none. UX_ENOMEM. */
enum ux_code ux_source_trees_add_around(struct ux_source_trees *t, const char *path,
					struct ux_error *err) ux_must;

/* Adds a folder or file that the user named for sources, and no more. UX_ENOMEM. */
enum ux_code ux_source_trees_add(struct ux_source_trees *t, const char *path, struct ux_error *err)
	ux_must;
void ux_source_trees_deinit(struct ux_source_trees *t);

/*
 * Maps a file of the trees. UX_EDENIED: it is outside. Other codes of ux_file_map(). Any thread,
 * when no more trees are added.
 */
enum ux_code ux_source_trees_map(const struct ux_source_trees *t, const char *path,
				 struct ux_mapping *ret, struct ux_error *err) ux_must;

#endif
