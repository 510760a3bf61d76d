/* SPDX-License-Identifier: Apache-2.0 */
/* One job of the extractor, and what it gives the child to read. */
#ifndef UX_EXTRACT_JOB_H
#define UX_EXTRACT_JOB_H

#include "extractor.h"
#include "sandbox.h"
#include "store.h"

/* What a job works with. */
struct ux_extract_place {
	struct ux_store *store;
	struct ux_module_cache *cache;
	const struct ux_extractor_options *options;
	const char *owner;              /* of the leases */
	bool (*is_stopping)(void *ctx); /* a job that fails meanwhile is released */
	void *ctx;
};

/* Takes one job that is due and does it. False: none is. */
bool ux_extract_job_step(const struct ux_extract_place *place);

enum {
	UX_SPLIT_PACK_MOST = 1 << 30 /* bytes of all of them */
};

/* Has the module split files that are ready, or is `more`, in whatever state, one? */
bool ux_split_pack_has(const struct ux_module *m, const struct ux_candidate *more);

/*
 * Writes them into the empty file fd: an archive (ar(5)), the newest first, so that of two for one
 * unit that one counts. UX_ELIMIT: they have over UX_SPLIT_PACK_MOST bytes; and what
 * ux_blobs_open() can fail of.
 */
enum ux_code ux_split_pack_write(struct ux_blobs *blobs, const struct ux_module *m,
				 const struct ux_candidate *more, int fd, struct ux_error *err)
	ux_must;

/* Bytes that the files of one bundle may have together. */
#define UX_SOURCES_BYTES_MOST ((uint64_t)1 << 30)

/*
 * Unpacks a candidate of kind sources in a confined child (sandbox.h) and makes its files the
 * candidate's in the index: one blob with all of them, a row for each. Doing it twice changes
 * nothing. limits->output is replaced; scratch and program as of struct ux_extractor_options. Codes
 * as of ux_sandbox_unpack(); with os_errno set it is the machine's fault. UX_ENOTFOUND: the
 * candidate is gone.
 */
enum ux_code ux_source_unpack(struct ux_store *s, const struct ux_candidate *c,
			      struct ux_sandbox_limits limits, const char *program, int scratch,
			      struct ux_error *err) ux_must;

#endif
