/* SPDX-License-Identifier: Apache-2.0 */
/* The extractor: workers that extract GSYMs from uploaded files, each one job at a time. */
#ifndef UX_EXTRACTOR_H
#define UX_EXTRACTOR_H

#include "module_cache.h"
#include "sandbox.h"
#include "store.h"

enum {
	/*
	 * Increment this when extraction finds more in the same files, so that failed candidates
	 * are tried again.
	 */
	UX_EXTRACTOR_PARSER = 1,
	UX_EXTRACTOR_ATTEMPTS_MAX = 5 /* attempts after failures that the input did not cause */
};

/* The result for a candidate, for the log. */
struct ux_extracted_one {
	const char *ns;
	const char *id;     /* an ID of the module */
	const char *reason; /* reason of a failure; otherwise "" */
	enum ux_code code;  /* UX_OK: the candidate's new state, ready or failed, was committed */
	const struct ux_candidate *candidate; /* the candidate before the job */
	struct ux_settled settled;
	struct ux_add_result result;
};

struct ux_extractor_options {
	struct ux_sandbox_limits limits; /* limits for one extraction */
	unsigned workers;                /* threads; 0: one */
	const char *program;             /* executable that runs the child; NULL: this program */
	/* folder for temporary output files, which are unlinked; NULL: /var/tmp */
	const char *scratch;
	void (*log)(void *ctx, const struct ux_extracted_one *one); /* NULL: none */
	void *log_ctx;
};

/*
 * Reads each pending candidate in a confined child (sandbox.h) together with the related files of
 * its module: a debug file with its executable, and split files with the file that refers to them,
 * all in the job of the last one. The resulting GSYM is verified like an upload and becomes a
 * candidate of the module. A bundle of sources is unpacked, and its files become rows of the index.
 *
 * A job survives a crash and is run again. A failure that was caused by the input makes the
 * candidate failed, with the reason. A failure for lack of memory or disk space is retried, with
 * increasing delays.
 *
 * Namespaces take turns, and in a namespace small files come first (index.h, take_turn). A job that
 * takes more than some seconds starts again in the slow lane. The first of several workers takes no
 * jobs of that lane: so a short job never waits for a long one of another namespace.
 */
struct ux_extractor;

/*
 * Queues the jobs that an earlier process left. The store and the cache must outlive the extractor.
 */
enum ux_code ux_extractor_open(struct ux_extractor **ret, struct ux_store *store,
			       struct ux_module_cache *cache,
			       const struct ux_extractor_options *options, struct ux_error *err)
	ux_must;

/* Starts its threads. */
enum ux_code ux_extractor_start(struct ux_extractor *x, struct ux_error *err) ux_must;

/* Logs which layers confine the children on this machine, and which it lacks. Starts one child. */
void ux_extractor_report_sandbox(const struct ux_extractor *x);

/*
 * Stops leasing jobs and interrupts the running one, which is released. Returns immediately. NULL
 * is allowed.
 */
void ux_extractor_interrupt(struct ux_extractor *x);

/* Interrupts the extractor, waits for its threads, and frees everything. NULL is allowed. */
void ux_extractor_stop(struct ux_extractor *x);

/* Runs one due job in the caller's thread. False: no job is due. */
bool ux_extractor_step(struct ux_extractor *x);

#endif
