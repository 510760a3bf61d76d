/* SPDX-License-Identifier: Apache-2.0 */
/* Where a build comes from: the revision of the git repository that a file is in, and the CI run.
 */
#ifndef UX_GIT_REVISION_H
#define UX_GIT_REVISION_H

#include "provenance.h"

enum {
	UX_GIT_TEXT = 512 /* bytes of one fact, with the NUL */
};

/* Where files come from, with the texts that `known` points to. Do not copy it. */
struct ux_git_origin {
	char texts[UX_PROVENANCE_COUNT][UX_GIT_TEXT];
	struct ux_provenance known;
};

/*
 * Finds the revision, the branch and the remote "origin" of the repository that path is in (NULL:
 * none), and the CI run by the variables that CI systems set. Anything that is not found is "".
 * Runs no program: only HEAD, refs, packed-refs and config are read (gitrepository-layout(5)). Keys
 * and passwords in URLs are left out.
 */
void ux_git_find_origin(const char *path, struct ux_git_origin *ret);

#endif
