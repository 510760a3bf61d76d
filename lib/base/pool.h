/* SPDX-License-Identifier: Apache-2.0 */
/* Running numbered jobs on several threads, one phase at a time. */
#ifndef UX_POOL_H
#define UX_POOL_H

#include "base.h"
#include "error.h"

enum {
	UX_POOL_MOST = 256
}; /* threads; more than any machine we convert on can use */

/* Does job number `job`; `worker` is below the pool's size and names this thread's own tables. */
typedef enum ux_code ux_pool_fn(void *ctx, size_t job, unsigned worker, struct ux_error *err);

/* Processors this process may run on, at least 1. */
unsigned ux_pool_cpus(void);

/*
 * Runs fn for jobs 0 to count - 1 on `threads` threads, the caller's among them, and returns when
 * all have ended. Jobs start in order and are taken as threads become free, so put the big ones
 * first. After a failure no new job starts; of several failures the one with the lowest job number
 * is returned, so that the message does not depend on timing. With threads = 1, or when no thread
 * can be started, everything runs in the caller.
 */
enum ux_code ux_pool_run(unsigned threads, size_t count, ux_pool_fn *fn, void *ctx,
			 struct ux_error *err) ux_must;

#endif
