/* SPDX-License-Identifier: Apache-2.0 */
/* Uploaded ELF files become GSYMs: a thread that takes one job after another. */
#ifndef UX_EXTRACTOR_H
#define UX_EXTRACTOR_H

#include "module_cache.h"
#include "sandbox.h"
#include "store.h"

enum {
	/* Raised when extraction finds more in the same bytes: failed candidates are tried again.
	 */
	UX_EXTRACTOR_PARSER = 1,
	UX_EXTRACTOR_ATTEMPTS_MOST = 5 /* where it was not the bytes' fault */
};

/* What became of a candidate, for the log. */
struct ux_extracted_one {
	const char *ns;
	const char *id;                       /* of the module */
	const char *reason;                   /* of a failure; else "" */
	enum ux_code code;                    /* UX_OK: it is settled, as failed too */
	const struct ux_candidate *candidate; /* as it was before */
	struct ux_settled settled;
	struct ux_add_result result;
};

struct ux_extractor_options {
	struct ux_sandbox_limits limits; /* of one extraction */
	const char *program;             /* of the child; NULL: this one */
	const char *scratch;             /* folder for what comes out, unlinked; NULL: /var/tmp */
	void (*log)(void *ctx, const struct ux_extracted_one *one); /* NULL: nobody */
	void *log_ctx;
};

/*
 * Each pending candidate is read in a confined child (sandbox.h) together with what else the module
 * has: a debug file with the executable it belongs to. What comes out is verified as an upload is
 * and becomes a candidate of the module. Files of split units are read with the file that names
 * them, the last of several with all of them. Of a bundle of sources the files become the index's.
 * A job survives a crash and is done again. One that fails because of its bytes makes the candidate
 * failed, with the reason; one that fails because the machine has no room comes again, later each
 * time.
 */
struct ux_extractor;

/* Takes up what an earlier process left. The store and the cache outlive it. */
enum ux_code ux_extractor_open(struct ux_extractor **ret, struct ux_store *store,
			       struct ux_module_cache *cache,
			       const struct ux_extractor_options *options, struct ux_error *err)
	ux_must;

/* Starts its thread. */
enum ux_code ux_extractor_start(struct ux_extractor *x, struct ux_error *err) ux_must;

/* Takes no more jobs and ends the one at hand, which is put back; returns at once. NULL is fine. */
void ux_extractor_interrupt(struct ux_extractor *x);

/* The same, waits for its thread, and frees it all. NULL is fine. */
void ux_extractor_stop(struct ux_extractor *x);

/* Does one job that is due, in the caller's thread. False: none is. What the thread does. */
bool ux_extractor_step(struct ux_extractor *x);

#endif
