/* SPDX-License-Identifier: Apache-2.0 */
/* The extractor: a thread that makes GSYMs of uploaded files, one job after another. */
#ifndef UX_EXTRACTOR_H
#define UX_EXTRACTOR_H

#include "module_cache.h"
#include "sandbox.h"
#include "store.h"

enum {
	/* Raised when extraction finds more in the same bytes: failed candidates are tried again.
	 */
	UX_EXTRACTOR_PARSER = 1,
	UX_EXTRACTOR_ATTEMPTS_MOST = 5 /* of failures that the input did not cause */
};

/* What became of a candidate, for the log. */
struct ux_extracted_one {
	const char *ns;
	const char *id;     /* of the module */
	const char *reason; /* of a failure; else "" */
	enum ux_code code;  /* UX_OK: its state was committed, be it ready or failed */
	const struct ux_candidate *candidate; /* as it was before */
	struct ux_settled settled;
	struct ux_add_result result;
};

struct ux_extractor_options {
	struct ux_sandbox_limits limits; /* of one extraction */
	const char *program;             /* of the child; NULL: this one */
	const char *scratch;             /* folder for what comes out, unlinked; NULL: /var/tmp */
	void (*log)(void *ctx, const struct ux_extracted_one *one); /* NULL: none */
	void *log_ctx;
};

/*
 * Each pending candidate is read in a confined child (sandbox.h) together with the other files
 * of its module: a debug file with its executable, split files with the file that names them,
 * all by the job of the last one. The resulting GSYM is verified as an uploaded one is and
 * becomes a candidate of the module. A bundle of sources is unpacked, and its files become rows
 * of the index.
 *
 * A job survives a crash and is run again. One that fails because of its input makes the
 * candidate failed, with the reason; one that fails for want of memory or disk is retried,
 * later each time.
 */
struct ux_extractor;

/* Requeues what an earlier process left. The store and the cache outlive it. */
enum ux_code ux_extractor_open(struct ux_extractor **ret, struct ux_store *store,
			       struct ux_module_cache *cache,
			       const struct ux_extractor_options *options, struct ux_error *err)
	ux_must;

/* Starts its thread. */
enum ux_code ux_extractor_start(struct ux_extractor *x, struct ux_error *err) ux_must;

/*
 * Leases no more jobs and ends the running one, which is released; returns at once. NULL is
 * fine.
 */
void ux_extractor_interrupt(struct ux_extractor *x);

/* Interrupts it, waits for its thread, and frees everything. NULL is fine. */
void ux_extractor_stop(struct ux_extractor *x);

/*
 * Runs one due job in the caller's thread, as the extractor's own thread does. False: none is
 * due.
 */
bool ux_extractor_step(struct ux_extractor *x);

#endif
