/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks: one that only goes forward, for spans and deadlines, and the wall's, for dates. */
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

/* Monotonic: never set back, stands still while the machine sleeps. */
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

/* Monotonic as of the last timer interrupt, some milliseconds ago; costs a quarter as much. */
static inline int64_t ux_clock_coarse_ms(void)
{
	return ux_clock_read(CLOCK_MONOTONIC_COARSE) / UX_CLOCK_NS_IN_MS;
}

/* Seconds since 1970 UTC, as the machine's clock has them: it can be wrong, and can be set. */
static inline int64_t ux_clock_wall(void)
{
	return time(NULL);
}

/* What pthread_cond_timedwait() wants with a monotonic condition for the moment ns. */
static inline struct timespec ux_clock_timespec(int64_t ns)
{
	return (struct timespec){.tv_sec = ns / UX_CLOCK_NS_IN_S, .tv_nsec = ns % UX_CLOCK_NS_IN_S};
}

#endif
