/* SPDX-License-Identifier: Apache-2.0 */
/* A repository of packages: one suite, component and architecture of a distribution. */
#ifndef UX_REPOSITORY_H
#define UX_REPOSITORY_H

#include "package.h"
#include "polite_client.h"
#include "signature.h"

enum ux_repository_form {
	UX_REPOSITORY_DEBIAN,
	UX_REPOSITORY_FORM_COUNT
};

struct ux_repository {
	enum ux_repository_form form;
	const char *distribution;
	const char *mirror; /* URL or path of the mirror's root */
	const char *suite, *component, *arch;
	struct ux_keyrings keys;
	bool allow_expired; /* take metadata whose time is over */
};

/*
 * What is kept of a reading, so that the next one only looks whether anything has changed. The root
 * is the file that all else is verified from: InRelease, APKINDEX.tar.gz, repomd.xml.
 */
struct ux_repository_state {
	struct ux_validators validators; /* of the root */
	uint8_t sha256[32];              /* of what was signed in the root */
	bool known;
};

struct ux_repository_result {
	bool unchanged; /* nothing was passed on: it is as `known` says */
	struct ux_repository_state state;
	uint64_t packages; /* that the index has */
	/* a word for a failure: "expired", "signature", "hash", "truncated", "suite", "corrupt",
	 * "absent", "denied", "unreachable", "limit", "other" */
	const char *cause;
};

/*
 * Reads the index of a repository, verified from its root down, and passes each package with code
 * on, in the index's order. known: NULL, or the state of an earlier reading.
 *
 * UX_EDENIED: no good signature, or the metadata have expired. UX_ECORRUPT: wrong hash, truncated,
 * or the metadata violate their format. UX_ENOTFOUND: the mirror has no such suite, component or
 * architecture. UX_EUNAVAILABLE. UX_ELIMIT. ret->cause is set on failure. Any thread.
 */
enum ux_code ux_repository_read(const struct ux_repository *r, struct ux_polite *client,
				const struct ux_repository_state *known, ux_package_fn *take,
				void *ctx, struct ux_repository_result *ret, struct ux_error *err)
	ux_must;

/* --- the readers, one for each form ----------------------------------------------------------- */

typedef enum ux_code ux_repository_reader(const struct ux_repository *r, struct ux_polite *client,
					  const struct ux_repository_state *known,
					  ux_package_fn *take, void *ctx,
					  struct ux_repository_result *ret, struct ux_error *err);

ux_repository_reader ux_debian_read;

#endif
