/* SPDX-License-Identifier: Apache-2.0 */
/* Where a build comes from. */
#ifndef UX_PROVENANCE_H
#define UX_PROVENANCE_H

#include "base.h"

enum ux_provenance_fact {
	UX_GIT_REVISION,   /* 40 or 64 lowercase hexadecimal digits */
	UX_GIT_BRANCH,     /* without "refs/heads/" */
	UX_GIT_REPOSITORY, /* URL of the remote, without credentials */
	UX_CI_RUN,         /* URL of the page of the run */
	UX_DISTRIBUTION,   /* "debian"; this and the next ones describe a distribution's package */
	UX_SUITE,          /* "bookworm" */
	UX_PACKAGE,        /* the package's name */
	UX_PACKAGE_VERSION,
	UX_PACKAGE_SHA256, /* SHA-256 of the package's file, in hexadecimal */
	UX_PROVENANCE_COUNT
};

enum {
	UX_PROVENANCE_BYTES = 1000, /* most bytes of one fact */
	/* hexadecimal digits that may stand for a whole revision */
	UX_GIT_PREFIX_MIN = 4,
	UX_GIT_REVISION_MAX = 64,
};

/* NULL and "": unknown. */
struct ux_provenance {
	const char *facts[UX_PROVENANCE_COUNT];
};

/* "git_revision", ...: names in JSON and of columns. */
const char *ux_provenance_name(enum ux_provenance_fact fact);

/* Returns the fact, or "". */
static inline const char *ux_provenance_get(const struct ux_provenance *p,
					    enum ux_provenance_fact fact)
{
	return p->facts[fact] ? p->facts[fact] : "";
}

/* Returns false when no fact is known. */
bool ux_provenance_is_known(const struct ux_provenance *p);

/* Returns whether a text is a revision of git: the SHA-1 or SHA-256 of a commit. */
bool ux_git_is_revision(const char *text);

/* Returns whether a text can be the beginning of a revision. */
bool ux_git_is_prefix(const char *text);

#endif
