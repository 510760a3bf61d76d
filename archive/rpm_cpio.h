/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The payload of an rpm package: a cpio archive, whose entries have their own name and size (magic
 * 070701, cpio(5) "New ASCII Format"), or the number of a file in the package's header (07070X: of
 * files over 4 GiB, and of all packages that rpm 6 makes).
 */
#ifndef UX_RPM_CPIO_H
#define UX_RPM_CPIO_H

#include "path_canonical.h"
#include "rpm_header.h"

/* Reads at most n bytes of the decompressed payload. *ret 0: the end. */
typedef enum ux_code ux_rpm_read_fn(void *ctx, void *to, size_t n, size_t *ret,
				    struct ux_error *err);

/* Before the first entry everything is zero except read, ctx and files. */
struct ux_rpm_cpio {
	ux_rpm_read_fn *read;
	void *ctx;
	const struct ux_rpm_files *files;
	uint64_t off;  /* bytes read */
	uint64_t left; /* of the content of the current entry */
};

struct ux_rpm_entry {
	char name[UX_PATH_BYTES];
	uint64_t size;
	bool regular;
};

/*
 * Goes to the next entry, over what was not read of the current one. *ret_more false: the archive
 * ended. UX_ECORRUPT: it is damaged or truncated, or names a file that the header does not have;
 * UX_ELIMIT; codes of read.
 */
enum ux_code ux_rpm_cpio_next(struct ux_rpm_cpio *c, struct ux_rpm_entry *ret, bool *ret_more,
			      struct ux_error *err) ux_must;

/* Reads content of the current entry. *ret 0: its end. */
enum ux_code ux_rpm_cpio_data(struct ux_rpm_cpio *c, void *to, size_t n, size_t *ret,
			      struct ux_error *err) ux_must;

#endif
