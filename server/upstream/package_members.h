/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of a package that belong to a build ID. */
#ifndef UX_PACKAGE_MEMBERS_H
#define UX_PACKAGE_MEMBERS_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "sandbox.h"

/* A file of a package. Its bytes are untrusted, and are there until the callback returns. */
struct ux_package_member {
	const char *name; /* canonical */
	struct ux_sandbox_part part;
	struct ux_id id; /* its GNU build ID */
};

/* Another code than UX_OK ends the search with it. */
typedef enum ux_code ux_package_member_fn(void *ctx, const struct ux_package_member *m,
					  struct ux_error *err);

/*
 * Calls back for each ELF file of the package that has the ID, and for each file that dwz made for
 * others. The package is read in a confined child, and its files in further ones, while at most
 * some of them are on the disk. Codes: those of ux_sandbox_stream_next() and of the callback.
 */
enum ux_code ux_package_members_find(struct ux_bytes package, const struct ux_id *id,
				     ux_package_member_fn *found, void *ctx, struct ux_error *err)
	ux_must;

#endif
