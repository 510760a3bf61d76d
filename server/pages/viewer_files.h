/* SPDX-License-Identifier: Apache-2.0 */
/* The files of speedscope, a viewer of profiles that is not part of unhex, from a folder. */
#ifndef UX_VIEWER_FILES_H
#define UX_VIEWER_FILES_H

#include "bytes.h"
#include "error.h"

enum {
	UX_VIEWER_FILES_MAX = 32,       /* files of the folder that a page loads */
	UX_VIEWER_BYTES_MAX = 16 << 20, /* bytes of all of them */
	UX_VIEWER_NAME_MAX = 96,        /* bytes of a name, with its NUL */
	UX_VIEWER_TAG = 2 * 12 + 2 + 1, /* bytes of an entity tag */
};

struct ux_viewer_file {
	char name[UX_VIEWER_NAME_MAX]; /* letters, digits, '.', '-' and '_' */
	char tag[UX_VIEWER_TAG];
	const char *type;
	struct ux_bytes bytes; /* malloc'ed */
};

/* Immutable: any thread. */
struct ux_viewer {
	struct ux_viewer_file files[UX_VIEWER_FILES_MAX];
	size_t n;
	const struct ux_viewer_file *script, *style; /* the files that its page loads first */
};

/*
 * Reads the scripts, styles and fonts in `dir`, the folder dist/release of speedscope's package.
 * UX_EINVAL: the script or the style is missing. UX_ELIMIT, UX_EIO, UX_ENOTFOUND, UX_ENOMEM.
 */
enum ux_code ux_viewer_open(const char *dir, struct ux_viewer **ret, struct ux_error *err) ux_must;
/* NULL is allowed. */
void ux_viewer_close(struct ux_viewer *v);

/* The file with that name, or NULL. */
const struct ux_viewer_file *ux_viewer_find(const struct ux_viewer *v, struct ux_bytes name);

#endif
