/* SPDX-License-Identifier: Apache-2.0 */
/* Calls at given times, all made by one thread. */
#ifndef UX_TIMER_H
#define UX_TIMER_H

#include "error.h"

#include <stdbool.h>
#include <stdint.h>

/* The thread and the calls that are due. */
struct ux_timers;

/*
 * One call, part of the struct that it is about. Set `fire`, and leave the rest zeroed; it is the
 * timers'. A timer that is started must be stopped before its memory goes.
 */
struct ux_timer {
	/* On the timers' thread, at most once a start. No lock is held: it may start and stop
	 * timers, itself too. Others wait for it, so it must be short. */
	void (*fire)(struct ux_timer *timer);
	struct ux_timer *earlier;
	struct ux_timer *later;
	int64_t at_ms; /* monotonic */
	bool is_pending;
	bool is_stopping; /* while it fires: it is not started again */
};

enum ux_code ux_timers_open(struct ux_timers **ret, struct ux_error *err) ux_must;

/* No timer is pending any more. NULL is fine. */
void ux_timers_close(struct ux_timers *timers);

/* Fires in so many milliseconds; one that is pending already does so then instead. Any thread.
 * Without allocation; at worst linear in the timers that fire later. */
void ux_timer_start(struct ux_timers *timers, struct ux_timer *timer, int64_t ms);

/* It will not fire, and is not firing when this returns, unless its own function calls. One that
 * was never started is fine. Any thread, but no lock may be held that `fire` takes. */
void ux_timer_stop(struct ux_timers *timers, struct ux_timer *timer);

#endif
