/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of files in a repository: URLs, and paths of local mirrors. */
#ifndef UX_REPO_URL_H
#define UX_REPO_URL_H

#include "arena.h"
#include "bytes.h"

enum {
	UX_REPO_URL_MAX = 2000, /* bytes of a URL or path */
};

/* Returns whether the URL is a path on this machine: "/srv/mirror" or "file:///srv/mirror". Sets
 * *ret_path, inside of url. */
bool ux_repo_url_is_file(const char *url, const char **ret_path) ux_must;

/*
 * Parses the address of a part of a local file: PATH#part=OFFSET+SIZE, such as a layer inside the
 * archive of an image. False: it is a whole file. *ret_path_size: bytes of PATH.
 */
bool ux_repo_url_part(const char *path, size_t *ret_path_size, uint64_t *ret_off,
		      uint64_t *ret_size) ux_must;

/*
 * Checks the address of a mirror: http, https, or an absolute path or file://. UX_EINVAL for
 * others. Credentials in a URL are refused, since they would be kept with each package.
 */
enum ux_code ux_repo_url_check(const char *url, struct ux_error *err) ux_must;

/*
 * Joins base and a relative path by one slash; file:// is left out. In a URL, special characters of
 * the path are escaped. UX_ECORRUPT: the path is absolute or empty, leads above the base, or has
 * control characters, a backslash, or bytes outside ASCII. UX_ELIMIT: it is too long.
 */
enum ux_code ux_repo_url_join(struct ux_arena *arena, const char *base, struct ux_bytes path,
			      const char **ret, struct ux_error *err) ux_must;

/* Copies a text of metadata and adds a NUL. UX_ECORRUPT: it has control characters. `what` names it
 * in messages. */
enum ux_code ux_repo_text(struct ux_arena *arena, struct ux_bytes text, const char *what,
			  const char **ret, struct ux_error *err) ux_must;

#endif
