/* SPDX-License-Identifier: Apache-2.0 */
/* Where a build comes from. */
#ifndef UX_PROVENANCE_H
#define UX_PROVENANCE_H

#include "bytes.h"

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
	UX_HOST,  /* name of the host; this and the next ones describe a file that an agent found */
	UX_OWNER, /* "0 of 0": users of the file and of the process that had mapped it */
	UX_MOUNT_NAMESPACE, /* "mnt:[4026531841]", of that process; "": the agent's own */
	UX_PROVENANCE_COUNT
};

enum {
	UX_PROVENANCE_BYTES = 1000, /* most bytes of one fact */
	/* hexadecimal digits that may stand for a whole revision */
	UX_GIT_PREFIX_MIN = 4,
	UX_GIT_REVISION_MAX = 64,
};

/*
 * Who vouches that symbols belong to the file with this build ID. Ordered from least to most
 * trusted: only symbols of the highest level that a module has give names (docs/trust.md). The
 * values are in the index.
 */
enum ux_trust {
	UX_TRUST_NONE,      /* not said */
	UX_TRUST_USER,      /* an agent, for a file that others than root can change */
	UX_TRUST_CONTAINER, /* an agent, for a file of root in another mount namespace */
	UX_TRUST_HOST,      /* an agent, for a file of root in its own mount namespace */
	UX_TRUST_CI, /* a key with the scope "upload", or an upstream that the operator has named */
	UX_TRUST_PACKAGE, /* a package of a distribution, whose signature was verified */
	UX_TRUST_COUNT
};

/* "user", "container", ...; "" for UX_TRUST_NONE. */
const char *ux_trust_name(enum ux_trust trust);

/* Parses a name that is not empty. */
bool ux_trust_parse(struct ux_bytes text, enum ux_trust *ret) ux_must;

/* Tests whether an agent found the file on a host, where any user may bring files. */
static inline bool ux_trust_is_found(enum ux_trust trust)
{
	return trust >= UX_TRUST_USER && trust <= UX_TRUST_HOST;
}

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

/* Returns a copy without the host, its user and mount namespace, which the public must not see. */
struct ux_provenance ux_provenance_without_host(const struct ux_provenance *p);

/* Returns whether a text is a revision of git: the SHA-1 or SHA-256 of a commit. */
bool ux_git_is_revision(const char *text);

/* Returns whether a text can be the beginning of a revision. */
bool ux_git_is_prefix(const char *text);

#endif
