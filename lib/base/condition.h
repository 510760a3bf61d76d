/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions whose waits end by the monotonic clock, so that setting the wall clock moves none. */
#ifndef UX_CONDITION_H
#define UX_CONDITION_H

#include "clock.h"

#include <errno.h>
#include <pthread.h>

/* Initialises a condition for ux_condition_wait(). pthread_cond_destroy() releases it. */
static inline void ux_condition_init(pthread_cond_t *c)
{
	pthread_condattr_t monotonic;
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(c, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
}

/*
 * Waits until another thread signals the condition, or until until_ms by ux_clock_ms(); INT64_MAX:
 * no end. False: that time has come. As for any condition, the caller holds the lock, and checks
 * its own condition again after a true result.
 */
static inline bool ux_condition_wait(pthread_cond_t *c, pthread_mutex_t *lock, int64_t until_ms)
{
	if (until_ms == INT64_MAX)
		return pthread_cond_wait(c, lock) == 0;
	const struct timespec until = ux_clock_timespec(until_ms * UX_CLOCK_NS_IN_MS);
	return pthread_cond_timedwait(c, lock, &until) != ETIMEDOUT;
}

#endif
