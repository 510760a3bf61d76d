/* SPDX-License-Identifier: Apache-2.0 */
/* The time by which a store decides what is old: no jump of the machine's clock makes it leap. */
#ifndef UX_STORE_CLOCK_H
#define UX_STORE_CLOCK_H

#include "index_base.h"

#include <pthread.h>

enum {
	UX_CLOCK_RESUME_MOST = 24 * 60 * 60, /* seconds that a restart moves it forward at most */
	UX_CLOCK_AGREES = 60 * 60            /* seconds off the machine's that do not matter */
};

/*
 * Follows the machine's clock, but never leaps: while the process runs, it moves forward by half to
 * twice of what passed by the monotonic clock; over a restart, by a day at most; never back. So a
 * clock that is set a year ahead, or a machine that was off for a year, makes nothing a year old at
 * once, and one that was wrong is caught up with. Any thread.
 */
struct ux_store_clock {
	pthread_mutex_t lock; /* guards the rest */
	ux_time at;           /* what it showed... */
	int64_t mono;         /* ...at this second of the monotonic clock */
	ux_time shown;        /* last */
};

/* stored: what it showed when it was last written; 0: never. */
void ux_store_clock_init(struct ux_store_clock *c, ux_time stored);
void ux_store_clock_deinit(struct ux_store_clock *c);

ux_time ux_store_clock_now(struct ux_store_clock *c);

/* False while it is more than UX_CLOCK_AGREES off the machine's: ages of files mean nothing then.
 */
bool ux_store_clock_agrees(struct ux_store_clock *c);

/* The rules alone. elapsed_s: by the monotonic clock. */
ux_time ux_store_clock_resume(ux_time stored, ux_time wall);
ux_time ux_store_clock_step(ux_time at, ux_time wall, int64_t elapsed_s);

#endif
