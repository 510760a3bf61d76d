/* SPDX-License-Identifier: Apache-2.0 */
/* Upstreams, other places that may have what this server lacks: configuration and paths. */
#ifndef UX_UPSTREAM_H
#define UX_UPSTREAM_H

#include "arena.h"
#include "error.h"
#include "id.h"

enum ux_upstream_kind {
	UX_UPSTREAM_UNHEX,
	UX_UPSTREAM_DEBUGINFOD, /* knows GNU build IDs alone */
	UX_UPSTREAM_BUCKET,     /* files under a URL by build ID */
	UX_UPSTREAM_FOLDER,     /* the same in a folder of this machine */
	UX_UPSTREAM_KIND_COUNT
};

enum {
	UX_UPSTREAMS_MOST = 16,
	UX_UPSTREAM_NAME = 63 + 1,
	UX_UPSTREAM_TOKEN = 1024
};

/* One of them, as it was configured. Plain data. */
struct ux_upstream {
	enum ux_upstream_kind kind;
	char name[UX_UPSTREAM_NAME]; /* of a-z, 0-9, '-', '_', '.'; in logs, metrics, namespaces */
	char url[512];               /* without the kind; a path for a folder */
	char token[UX_UPSTREAM_TOKEN]; /* sent to this URL's host alone; "": none */
	bool own_network;              /* its own host may have a private address */
};

/*
 * "KIND+http[s]://HOST/...", KIND being unhex, debuginfod or bucket, or "dir:/PATH"; then, behind a
 * comma each: "name=NAME" (its host, or the folder's last component, without one),
 * "token-file=FILE" (whose first line is the token), "private" (its host may have an address of a
 * private network, or of this machine). UX_EINVAL; UX_ENOTFOUND, UX_EDENIED, UX_EIO of the file.
 */
enum ux_code ux_upstream_parse(struct ux_upstream *ret, const char *text, struct ux_error *err)
	ux_must;

/* "unhex", "debuginfod", "bucket", "dir". */
const char *ux_upstream_kind_name(enum ux_upstream_kind kind);

/* What can be requested. */
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
	UX_UPSTREAM_PATHS_MOST = 3
};

/* Where in an upstream something may be: paths to append to its URL, in the order to try them. */
struct ux_upstream_paths {
	char *paths[UX_UPSTREAM_PATHS_MOST];
	size_t n; /* 0: it cannot have it */
};

/* source: the path of a source file, for UX_ARTIFACT_SOURCE. UX_ENOMEM, UX_ELIMIT. */
enum ux_code ux_upstream_paths_get(const struct ux_upstream *up, const struct ux_id *id,
				   enum ux_artifact artifact, const char *source,
				   struct ux_arena *arena, struct ux_upstream_paths *ret,
				   struct ux_error *err) ux_must;

#endif
