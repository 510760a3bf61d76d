/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks: a monotonic one for durations and deadlines, and the wall clock for dates. */
#ifndef UX_CLOCK_H
#define UX_CLOCK_H

#include "base.h"

#include <time.h>

enum {
	UX_CLOCK_NS_IN_MS = 1000000,
	UX_CLOCK_NS_IN_S = 1000000000
};

/* Nanoseconds of the given clock. */
static inline int64_t ux_clock_read(clockid_t clock)
{
	struct timespec t = {0};
	(void)clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * UX_CLOCK_NS_IN_S + t.tv_nsec;
}

/* Returns the monotonic clock: it is never set back, and it stops while the machine sleeps. */
static inline int64_t ux_clock_ns(void)
{
	return ux_clock_read(CLOCK_MONOTONIC);
}

static inline int64_t ux_clock_ms(void)
{
	return ux_clock_ns() / UX_CLOCK_NS_IN_MS;
}

static inline int64_t ux_clock_s(void)
{
	return ux_clock_ns() / UX_CLOCK_NS_IN_S;
}

/*
 * Returns the monotonic clock as of the last timer interrupt, some milliseconds ago. Reading it
 * costs a quarter as much.
 */
static inline int64_t ux_clock_coarse_ms(void)
{
	return ux_clock_read(CLOCK_MONOTONIC_COARSE) / UX_CLOCK_NS_IN_MS;
}

/* Seconds since 1970 UTC by the wall clock, which can be wrong and can be set. */
static inline int64_t ux_clock_wall(void)
{
	return time(NULL);
}

/*
 * Converts a time of the monotonic clock for pthread_cond_timedwait(), with a condition that uses
 * that clock.
 */
static inline struct timespec ux_clock_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / UX_CLOCK_NS_IN_S, .tv_nsec = ns % UX_CLOCK_NS_IN_S};
}

#endif
