/* SPDX-License-Identifier: Apache-2.0 */
/* A repository of packages: one suite, component and architecture of a distribution. */
#ifndef UX_REPOSITORY_H
#define UX_REPOSITORY_H

#include "package.h"
#include "polite_client.h"
#include "signature.h"

enum ux_repository_form {
	UX_REPOSITORY_DEBIAN,
	UX_REPOSITORY_ALPINE,
	UX_REPOSITORY_ARCH,
	UX_REPOSITORY_RPM,
	UX_REPOSITORY_IMAGE, /* container images: a reference to a registry, or a folder */
	UX_REPOSITORY_FORM_COUNT
};

struct ux_repository {
	enum ux_repository_form form;
	const char *distribution;
	const char *mirror; /* URL or path of the mirror's root; of an image: its reference */
	const char *suite, *component, *arch;
	/* path from the mirror's root to the folder of the index; not used for Debian */
	const char *path;
	/* Alpine's are folders with a file for each key. If a signature is optional, it becomes
	 * mandatory as soon as there are keys. */
	struct ux_keyrings keys;
	bool sources;        /* read Debian's index of source packages too */
	bool allow_expired;  /* accept expired metadata */
	bool allow_older;    /* accept metadata that are older than those read before */
	bool allow_unsigned; /* accept a root without a signature also over http */
};

/*
 * The state kept from a reading, so that the next one only checks whether anything has changed. The
 * root is the file from which everything else is verified: InRelease, APKINDEX.tar.gz, repomd.xml.
 */
struct ux_repository_state {
	struct ux_validators validators; /* validators of the root document */
	uint8_t sha256[32];              /* hash of the root document's signed text */
	bool known;
	/*
	 * the newest date of the root so far, from whatever mirror, in seconds since 1970; 0:
	 * unknown. Also set if the rest is not known. Only Debian's roots have one.
	 */
	int64_t date;
};

struct ux_repository_result {
	bool unchanged; /* nothing was passed on: the repository still matches `known` */
	struct ux_repository_state state;
	uint64_t packages; /* packages in the index */
	/* a word for a failure: "expired", "signature", "hash", "truncated", "suite", "older",
	 * "corrupt", "absent", "denied", "unreachable", "limit", "other" */
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
ux_repository_reader ux_alpine_read;
ux_repository_reader ux_arch_read;
ux_repository_reader ux_rpm_read;
ux_repository_reader ux_image_read;

/*
 * For readers: fetches a root whose signature may be a separate file, named like the root plus an
 * ending. Sets ret->unchanged and ret->state, and ret->cause on a failure. With keys the signature
 * must be good; without keys the file must come over https, or from this machine. *ret_file is
 * empty if nothing has changed.
 */
enum ux_code ux_repository_fetch_root(const struct ux_repository *r, struct ux_polite *client,
				      const char *folder, const char *name, const char *ending,
				      const struct ux_repository_state *known, uint64_t max,
				      struct ux_repository_result *ret, struct ux_mapping *ret_file,
				      struct ux_error *err) ux_must;

/* Returns the word for a file that does not match: "truncated" or "hash". */
const char *ux_repository_file_cause(const struct ux_error *err);

#endif
