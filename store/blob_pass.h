/* SPDX-License-Identifier: Apache-2.0 */
/* One pass over all blobs that an index names, several at a time. */
#ifndef UX_BLOB_PASS_H
#define UX_BLOB_PASS_H

#include "index.h"

enum {
	UX_BLOB_PASS_JOBS = 16, /* blobs at the same time, by default: a bucket is far away */
	UX_BLOB_PASS_JOBS_MAX = 64,
};

/* The result of the work on one blob. */
struct ux_blob_result {
	enum ux_code code;
	unsigned detail; /* of the caller */
	struct ux_error why;
};

struct ux_blob_pass {
	unsigned jobs; /* 0: UX_BLOB_PASS_JOBS */
	/* Does the work on one blob. Several threads at a time. */
	void (*work)(void *ctx, const struct ux_blob_row *row, struct ux_blob_result *result);
	/*
	 * Handles a result, in the order of hashes, one at a time, while no work is done. Any code
	 * but UX_OK ends the pass.
	 */
	enum ux_code (*handle)(void *ctx, const struct ux_blob_row *row,
			       const struct ux_blob_result *result, struct ux_error *err);
	void *ctx;
};

enum ux_code ux_blob_pass_run(const struct ux_blob_pass *p, struct ux_index *ix,
			      struct ux_error *err) ux_must;

#endif
