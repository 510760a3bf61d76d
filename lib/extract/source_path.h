/* SPDX-License-Identifier: Apache-2.0 */
/* A source file's path, from the pieces that DWARF keeps to directory and base name. */
#ifndef UX_SOURCE_PATH_H
#define UX_SOURCE_PATH_H

#include "collect.h"

/*
 * Joins compilation directory, directory and name (the rightmost absolute one begins the path;
 * nothing is normalized) and cuts at the last slash. Text is made in arena only where no piece can
 * be used as it is. last and last_dir remember the directory made last, since neighbours mostly
 * share it: start with *last_dir NULL. The text made comes off *left bytes; where that is too
 * little it becomes 0, and the directory is told as it stands. False when memory is short.
 */
bool ux_source_path_split(const struct ux_code_path *path, struct ux_arena *arena, uint64_t *left,
			  struct ux_code_path *last, const char **last_dir,
			  struct ux_code_file *ret);

#endif
