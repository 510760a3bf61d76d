/* SPDX-License-Identifier: Apache-2.0 */
/* One job of the extractor, and the input of the confined child. */
#ifndef UX_EXTRACT_JOB_H
#define UX_EXTRACT_JOB_H

#include "extractor.h"
#include "sandbox.h"
#include "store.h"

#include <pthread.h>

/* The turns of namespaces: the namespace of the last job of each lane. Shared by all workers. */
struct ux_extract_turns {
	pthread_mutex_t lock; /* guards `after` */
	char after[2][UX_INDEX_TEXT_BYTES + 1];
};

/* The environment of a job. */
struct ux_extract_env {
	struct ux_store *store;
	struct ux_module_cache *cache;
	const struct ux_extractor_options *options;
	struct ux_extract_turns *turns;
	struct ux_fork_server *forks; /* NULL: a program is executed for each child */
	const char *owner;            /* name under which this thread leases one job at a time */
	/* a lease may be left over, because it is unknown whether a write was done */
	bool *doubt;
	const enum ux_job_lane *lanes; /* lanes from which jobs are taken, in this order */
	size_t n_lanes;
	/* the worker's file for the output of children, empty between jobs; -1: not made yet */
	int *output;
	bool (*is_stopping)(void *ctx); /* true: a job that fails is released instead of retried */
	/* called when no child runs any more and the result is about to be committed */
	void (*committing)(void *ctx);
	void *ctx;
};

/* Leases one due job and runs it. False: no job is due. */
bool ux_extract_job_step(const struct ux_extract_env *env);

enum {
	UX_SPLIT_PACK_MAX = 1 << 30 /* total size of the split files */
};

/* Tests whether the module has ready split files, or `more` is a split file in any state. */
bool ux_split_pack_has(const struct ux_module *m, const struct ux_candidate *more);

/*
 * Writes the split files into the empty file fd as an ar(5) archive, newest first: the first of two
 * files for the same unit is used. UX_ELIMIT: their size exceeds UX_SPLIT_PACK_MAX. Also the codes
 * of ux_blobs_open().
 */
enum ux_code ux_split_pack_write(struct ux_blobs *blobs, const struct ux_module *m,
				 const struct ux_candidate *more, int fd, struct ux_error *err)
	ux_must;

/* Total size of the files in one bundle of sources. */
#define UX_SOURCES_BYTES_MAX ((uint64_t)1 << 30)

/*
 * Unpacks a candidate of kind sources in a confined child (sandbox.h) and adds its files to the
 * index: one blob contains all of them, with a row for each. Repeating it changes nothing. A file
 * of a Debian source package also gets the name that the module's symbols have for it, and the name
 * `requested`, a canonical path or NULL, if it matches. m: the module; NULL: unknown.
 * limits->output is replaced; scratch and program are as in struct ux_extractor_options. The codes
 * of ux_sandbox_unpack(); if os_errno is set, the failure was caused by this machine. UX_ENOTFOUND:
 * the candidate has been removed.
 */
enum ux_code ux_source_unpack(struct ux_store *s, const struct ux_candidate *c,
			      const struct ux_module *m, const char *requested,
			      struct ux_sandbox_limits limits, const char *program, int scratch,
			      struct ux_error *err) ux_must;

#endif
