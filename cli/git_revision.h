/* SPDX-License-Identifier: Apache-2.0 */
/* Where a build comes from: the revision of the git repository that a file is in, and the CI run.
 */
#ifndef UX_GIT_REVISION_H
#define UX_GIT_REVISION_H

#include "out.h"

/*
 * Appends "git REVISION (BRANCH) of URL" for the repository that path is in, and "CI URL" from the
 * variables that CI systems set, joined by "; ". Nothing where neither is found. No program is
 * run: only HEAD, refs, packed-refs and config are read (gitrepository-layout(5)). Keys and
 * passwords in the remote's URL are left out. path NULL: only the CI run.
 */
void ux_git_describe(struct ux_out *out, const char *path);

#endif
