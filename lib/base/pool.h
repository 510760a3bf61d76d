/* SPDX-License-Identifier: Apache-2.0 */
/* Running numbered jobs on several threads, one phase at a time. */
#ifndef UX_POOL_H
#define UX_POOL_H

#include "base.h"
#include "error.h"

enum {
	UX_POOL_MAX = 256
}; /* most threads; more than any machine that extracts can use */

/*
 * Runs job number `job`. `worker` is below the number of threads and is the index of this thread's
 * own tables.
 */
typedef enum ux_code ux_pool_fn(void *ctx, size_t job, unsigned worker, struct ux_error *err);

/* Returns the number of processors that this process may run on, at least 1. */
unsigned ux_pool_cpus(void);

/*
 * Runs fn for jobs 0 to count - 1 on `threads` threads, the caller's among them, and returns when
 * all have ended. Jobs start in order as threads become free, so the largest jobs should come
 * first. After a failure no new job starts; of several failures the one with the lowest job number
 * is returned, so that the message does not depend on timing. With threads = 1, or when no thread
 * can be started, everything runs in the caller.
 */
enum ux_code ux_pool_run(unsigned threads, size_t count, ux_pool_fn *fn, void *ctx,
			 struct ux_error *err) ux_must;

#endif
