/* SPDX-License-Identifier: Apache-2.0 */
/* A package of a distribution, or a layer of an image, as its repository's metadata describe it. */
#ifndef UX_PACKAGE_H
#define UX_PACKAGE_H

#include "error.h"
#include "id.h"

enum {
	UX_PACKAGE_SHA256_BYTES = 32,
	UX_PACKAGE_SHA1_BYTES = 20,
	UX_PACKAGE_APK_BYTES = 32,
	UX_PACKAGE_BUILD_IDS_MAX = 16384, /* a kernel's debug package has one for each module */
	UX_PACKAGE_FILES_MAX = 16,
};

/* The form of the file. */
enum ux_package_kind {
	UX_PACKAGE_DEB,
	UX_PACKAGE_RPM,
	UX_PACKAGE_APK,
	UX_PACKAGE_PACMAN,
	UX_PACKAGE_LAYER, /* layer of a container image */
	UX_PACKAGE_DSC, /* source package of Debian: the .dsc, and its archives as further files */
	UX_PACKAGE_KIND_COUNT
};

/* Its use: debug files are better candidates than the stripped files they belong to. */
enum ux_package_role {
	UX_PACKAGE_STRIPPED,
	UX_PACKAGE_DEBUG,
	UX_PACKAGE_SOURCE,
	UX_PACKAGE_ROLE_COUNT
};

/*
 * The hash of an .apk in an index: the SHA-1 of the control segment of version 2; or in an index of
 * apk-tools 3 the SHA-256, perhaps only its first 20 bytes, of the control segment of version 2 or
 * of the metadata of version 3.
 */
struct ux_apk_identity {
	uint8_t hash[UX_PACKAGE_APK_BYTES];
	unsigned size; /* 0: none */
	bool sha256;
};

/* Another file that is needed to read a package. */
struct ux_package_file {
	const char *key; /* the same form as a package's key */
	const char *url;
	uint64_t size; /* 0: unknown */
};

/* Texts are never NULL, have no control characters, and belong to whoever made the struct. */
struct ux_package {
	/* Equal for equal files: the SHA-256 in hexadecimal, or for an .apk "apk:" and a SHA-1 or
	 * "apk3:" and a SHA-256, see struct ux_apk_identity */
	const char *key;
	const char *distribution; /* "debian" */
	const char *suite;        /* "bookworm", "v3.22", "43"; "": none */
	const char *component;    /* "main", "community", "debuginfo"; "": none */
	const char *arch;         /* as the distribution names it: "amd64", "x86_64" */
	const char *name;
	const char *version;
	const char *source; /* name of the source package; "" when unknown */
	/* version of the source package if it differs from the package's; else "" */
	const char *source_version;
	const char *url; /* http:// or https://, or the path of a file */
	/*
	 * Further files that are needed to read it: the packages with the stripped files of debug
	 * files that do not name these by build ID (Alpine), the archives of a source package
	 * (Debian)
	 */
	const struct ux_package_file *files;
	size_t n_files;
	uint64_t size;      /* bytes of the file; 0: unknown */
	uint64_t installed; /* bytes when it is unpacked, from its metadata; 0: unknown */
	int64_t time;       /* seconds since 1970 when it was built; 0: unknown */
	uint8_t sha256[UX_PACKAGE_SHA256_BYTES];
	bool has_sha256;
	struct ux_apk_identity apk;
	enum ux_package_kind kind;
	enum ux_package_role role;
	/* build IDs of the files in it, as far as the metadata name them */
	const struct ux_id *build_ids;
	size_t n_build_ids;
};

/* "deb", "rpm", "apk", "pacman", "layer", "dsc"; never NULL. */
const char *ux_package_kind_name(enum ux_package_kind kind);
bool ux_package_kind_parse(const char *name, enum ux_package_kind *ret) ux_must;

/* "stripped", "debug", "source"; never NULL. */
const char *ux_package_role_name(enum ux_package_role role);
bool ux_package_role_parse(const char *name, enum ux_package_role *ret) ux_must;

/* The hash in a key; none: the key is another text. */
struct ux_package_hash {
	uint8_t sha256[UX_PACKAGE_SHA256_BYTES];
	bool has_sha256;
	struct ux_apk_identity apk;
};

struct ux_package_hash ux_package_hash_of_key(const char *key);

enum {
	UX_PACKAGE_APK_KEY = 5 + 2 * UX_PACKAGE_APK_BYTES + 1, /* bytes, with the NUL */
};

/* Writes the key of an .apk. */
void ux_package_apk_key(const struct ux_apk_identity *id, char key[UX_PACKAGE_APK_KEY]);

/*
 * Receives one package. The struct and its texts are only valid during the call. Any code other
 * than UX_OK ends the reading with that code.
 */
typedef enum ux_code ux_package_fn(void *ctx, const struct ux_package *package,
				   struct ux_error *err);

#endif
