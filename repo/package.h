/* SPDX-License-Identifier: Apache-2.0 */
/* A package of a distribution, or a layer of an image, as the metadata of its repository have it.
 */
#ifndef UX_PACKAGE_H
#define UX_PACKAGE_H

#include "error.h"
#include "id.h"

enum {
	UX_PACKAGE_SHA256_BYTES = 32,
	UX_PACKAGE_SHA1_BYTES = 20,
	UX_PACKAGE_BUILD_IDS_MOST = 16384, /* a kernel's debug package has one for each module */
};

/* The form of the file. */
enum ux_package_kind {
	UX_PACKAGE_DEB,
	UX_PACKAGE_RPM,
	UX_PACKAGE_APK,
	UX_PACKAGE_PACMAN,
	UX_PACKAGE_LAYER, /* of a container image */
	UX_PACKAGE_KIND_COUNT
};

/* What it is good for: debug files are better candidates than the stripped files they belong to. */
enum ux_package_role {
	UX_PACKAGE_STRIPPED,
	UX_PACKAGE_DEBUG,
	UX_PACKAGE_SOURCE,
	UX_PACKAGE_ROLE_COUNT
};

/* Texts are never NULL, have no control characters, and belong to whoever made the struct. */
struct ux_package {
	/* Equal for equal files: the SHA-256 in hexadecimal, or "apk:" and the SHA-1 of its control
	 * segment. */
	const char *key;
	const char *distribution; /* "debian" */
	const char *suite;        /* "bookworm", "v3.22", "43"; "" when there are none */
	const char *component;    /* "main", "community", "debuginfo"; "" when there are none */
	const char *arch;         /* as the distribution names it: "amd64", "x86_64" */
	const char *name;
	const char *version;
	const char *source; /* name of the source package; "" when unknown */
	const char *url;    /* http:// or https://, or the path of a file */
	/* URL of the package with the stripped files of this one's debug files, where these do not
	 * name them by build ID (Alpine); else "" */
	const char *partner;
	uint64_t size;      /* bytes of the file; 0: unknown */
	uint64_t installed; /* bytes when it is unpacked, as its maintainer says; 0: unknown */
	int64_t time;       /* seconds since 1970 when it was built; 0: unknown */
	uint8_t sha256[UX_PACKAGE_SHA256_BYTES];
	bool has_sha256;
	uint8_t control_sha1[UX_PACKAGE_SHA1_BYTES]; /* of the control segment of an .apk */
	bool has_control_sha1;
	enum ux_package_kind kind;
	enum ux_package_role role;
	const struct ux_id *build_ids; /* of the files in it, as far as the metadata name them */
	size_t n_build_ids;
};

/* "deb", "rpm", "apk", "pacman", "layer"; never NULL. */
const char *ux_package_kind_name(enum ux_package_kind kind);

/* "stripped", "debug", "source"; never NULL. */
const char *ux_package_role_name(enum ux_package_role role);

/*
 * Receives one package. The struct and its texts are only valid during the call. Another code than
 * UX_OK ends the reading with it.
 */
typedef enum ux_code ux_package_fn(void *ctx, const struct ux_package *package,
				   struct ux_error *err);

#endif
