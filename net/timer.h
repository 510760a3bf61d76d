/* SPDX-License-Identifier: Apache-2.0 */
/* Timers whose callbacks run on one thread. */
#ifndef UX_TIMER_H
#define UX_TIMER_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* The thread and the pending timers. */
struct ux_timers;

/*
 * One timer, embedded in the struct that it belongs to. Set `fire` and zero the other fields, which
 * belong to the timers. A started timer must be stopped before its memory is freed.
 */
struct ux_timer {
	/*
	 * Runs on the timers' thread, at most once for each start. No lock is held, so it may start
	 * and stop timers, including itself. It must be short, because it delays other timers.
	 */
	void (*fire)(struct ux_timer *timer);
	struct ux_timer *earlier;
	struct ux_timer *later;
	int64_t at_ms; /* monotonic clock */
	bool is_pending;
	bool is_stopping; /* set while it fires: it cannot be started again */
};

enum ux_code ux_timers_open(struct ux_timers **ret, struct ux_error *err) ux_must;

/* No timer may be pending. NULL is allowed. */
void ux_timers_close(struct ux_timers *timers);

/*
 * Starts a timer that fires in that many milliseconds; reschedules a pending timer. Any thread.
 * Does not allocate; the worst case is linear in the number of timers that fire later.
 */
void ux_timer_start(struct ux_timers *timers, struct ux_timer *timer, int64_t ms);

/*
 * When this returns, the timer is not firing and will not fire, unless it is called by the timer's
 * own function. Stopping a timer that was never started is allowed. Any thread, but the caller must
 * hold no lock that `fire` takes.
 */
void ux_timer_stop(struct ux_timers *timers, struct ux_timer *timer);

#endif
