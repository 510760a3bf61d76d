/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upstreams: other servers and folders that may have the modules that this server lacks. Their
 * configuration and paths.
 */
#ifndef UX_UPSTREAM_H
#define UX_UPSTREAM_H

#include "arena.h"
#include "error.h"
#include "id.h"

enum ux_upstream_kind {
	UX_UPSTREAM_UNHEX,
	UX_UPSTREAM_DEBUGINFOD, /* finds modules by GNU build ID only */
	UX_UPSTREAM_BUCKET,     /* files under a URL, named by build ID */
	/* a mirror of a distribution: files are in packages, which the index lists */
	UX_UPSTREAM_PACKAGES,
	UX_UPSTREAM_FOLDER, /* like a bucket, in a local folder */
	UX_UPSTREAM_KIND_COUNT
};

enum {
	UX_UPSTREAMS_MAX = 16,
	UX_UPSTREAM_NAME = 63 + 1,
	UX_UPSTREAM_TOKEN = 1024
};

/* The configuration of one upstream. Plain data. */
struct ux_upstream {
	enum ux_upstream_kind kind;
	/* characters of a-z, 0-9, '-', '_', '.'; appears in logs, metrics and namespaces */
	char name[UX_UPSTREAM_NAME];
	char url[512]; /* without the KIND+ prefix; for folders, also of packages, a path */
	char token[UX_UPSTREAM_TOKEN]; /* sent only to the host of this URL; "": none */
	bool own_network;              /* the URL's host may have a private address */
};

/*
 * Parses "KIND+http[s]://HOST/...", where KIND is unhex, debuginfod, bucket or packages, or
 * "dir:/PATH", or "packages:/PATH".
 * Options follow, each after a comma: "name=NAME" (default: the host, or the last component of the
 * folder), "token-file=FILE" (its first line is the token), "private" (the host may have an address
 * of a private network or of this machine). UX_EINVAL; UX_ENOTFOUND, UX_EDENIED, UX_EIO from
 * reading the token file.
 */
enum ux_code ux_upstream_parse(struct ux_upstream *ret, const char *text, struct ux_error *err)
	ux_must;

/* For upstreams whose host has a private address, but which lack the option "private". */
#define UX_UPSTREAM_PRIVATE_ADVICE "add ,private to the upstream to allow it"

/*
 * Tests whether the URL's host is a private address, so that requests to it are refused. Resolves
 * no name.
 */
bool ux_upstream_lacks_private(const struct ux_upstream *up);

/* "unhex", "debuginfod", "bucket", "packages", "dir". */
const char *ux_upstream_kind_name(enum ux_upstream_kind kind);

/* Kinds of files that can be requested. */
enum ux_artifact {
	UX_ARTIFACT_GSYM,
	UX_ARTIFACT_DEBUGINFO,
	UX_ARTIFACT_EXECUTABLE,
	UX_ARTIFACT_SOURCE,
	UX_ARTIFACT_COUNT
};

/* "gsym", "debuginfo", "executable", "source". */
const char *ux_artifact_name(enum ux_artifact artifact);

enum {
	UX_UPSTREAM_PATHS_MAX = 3
};

/* Paths of an artifact in an upstream, to be appended to its URL, in the order to try them. */
struct ux_upstream_paths {
	char *paths[UX_UPSTREAM_PATHS_MAX];
	size_t n; /* 0: this upstream cannot have the artifact */
};

/* Tests whether the upstream is in the file system of this machine. */
static inline bool ux_upstream_is_local(const struct ux_upstream *up)
{
	return up->url[0] == '/';
}

/*
 * Builds the paths of an artifact. source: the path of a source file, for UX_ARTIFACT_SOURCE.
 * Builds none for UX_UPSTREAM_PACKAGES, whose paths only the index knows. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_upstream_paths_get(const struct ux_upstream *up, const struct ux_id *id,
				   enum ux_artifact artifact, const char *source,
				   struct ux_arena *arena, struct ux_upstream_paths *ret,
				   struct ux_error *err) ux_must;

#endif
