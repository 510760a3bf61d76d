/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of container registries: manifests and blobs of one repository. Source: OCI Distribution
 * Specification 1.1; Docker Registry v2 authentication via central service (the token flow).
 */
#ifndef UX_REGISTRY_H
#define UX_REGISTRY_H

#include "error.h"
#include "out.h"

enum {
	UX_DIGEST_TEXT = 72,              /* "sha256:", 64 digits, NUL */
	UX_MANIFEST_BYTES_MAX = 16 << 20, /* bytes; the specification requires 4 MiB */
};

/* A reference: [HOST[:PORT]/]NAME[:TAG][@sha256:HEX]. Fields are NUL-terminated. */
struct ux_image_reference {
	char host[256]; /* "registry-1.docker.io" if the reference has no host */
	char name[256];
	char tag[160]; /* tag or digest; "latest" if it has neither */
};

/* Parses a reference. UX_EINVAL: not a reference. */
enum ux_code ux_image_reference_parse(const char *text, struct ux_image_reference *ret,
				      struct ux_error *err) ux_must;

/* Tests for "sha256:" and 64 lowercase hexadecimal digits. */
bool ux_digest_is(const char *text);

/* Checks the digest of bytes. UX_ECORRUPT: it differs. */
enum ux_code ux_digest_check(struct ux_bytes bytes, const char *want, struct ux_error *err) ux_must;

/* Reads a parameter of a challenge (WWW-Authenticate); "" if absent. */
bool ux_challenge_parameter(const char *challenge, const char *name, char *ret, size_t size)
	ux_must;

struct ux_registry;

/*
 * Connects to the reference's registry, by https except on loopback. Uses the credentials of
 * "docker login": auths in $DOCKER_CONFIG/config.json or ~/.docker/config.json. cacert: PEM file of
 * trusted roots, or NULL; proxy: URL, or NULL for the environment's. tries: attempts of each call;
 * deadline_ms: of CLOCK_MONOTONIC, for all calls together. One thread at a time.
 */
enum ux_code ux_registry_open(struct ux_registry **ret, const struct ux_image_reference *reference,
			      const char *cacert, const char *proxy, unsigned tries,
			      int64_t deadline_ms, struct ux_error *err) ux_must;
void ux_registry_close(struct ux_registry *r);

/*
 * Authenticates as a 401 demands, given its WWW-Authenticate: fetches a token, or takes the
 * credentials. *ret is the Authorization header, valid until the next call. UX_EDENIED,
 * UX_EUNAVAILABLE.
 */
enum ux_code ux_registry_authorize(struct ux_registry *r, const char *challenge, const char **ret,
				   struct ux_error *err) ux_must;

/*
 * Tests for the URL of a blob of a registry, SCHEME://HOST/v2/NAME/blobs/DIGEST. Sets host and name
 * of *ret, and the digest as the tag.
 */
bool ux_registry_is_blob_url(const char *url, struct ux_image_reference *ret) ux_must;

/* Writes the URL of a blob. UX_ELIMIT: size is too small. */
enum ux_code ux_registry_blob_url(const struct ux_image_reference *reference, const char *digest,
				  char *ret, size_t size, struct ux_error *err) ux_must;

/*
 * Fetches a manifest or an index by tag or digest; a digest is checked. UX_ENOTFOUND, UX_EDENIED,
 * UX_EUNAVAILABLE, UX_ELIMIT, UX_ECORRUPT: the digest differs.
 */
enum ux_code ux_registry_manifest(struct ux_registry *r, const char *tag, struct ux_out *ret,
				  struct ux_error *err) ux_must;

/* Writes a blob of `size` bytes to the empty file fd; its digest is checked. Codes as above. */
enum ux_code ux_registry_blob(struct ux_registry *r, const char *digest, uint64_t size, int fd,
			      struct ux_error *err) ux_must;

#endif
