/* SPDX-License-Identifier: Apache-2.0 */
/* How often a failed call is repeated, and the pauses in between. */
#ifndef UX_RETRY_H
#define UX_RETRY_H

#include "base.h"

/* The attempts at one operation. Set the first two members, and zero the others. */
struct ux_retry {
	unsigned max;        /* attempts that may fail in succession */
	int64_t deadline_ms; /* CLOCK_MONOTONIC time after which no attempt begins */
	unsigned failed;     /* attempts, since the last progress */
	unsigned pauses;
};

/*
 * Call it after a failed attempt. Waits a quarter of a second, double each time and at most 10 s,
 * but never less than retry_after_s, and returns true: try again. False, without waiting: the
 * attempts are used up, or the deadline would pass first. busy: the server only asked to be called
 * later, so the attempt does not count.
 */
bool ux_retry_again(struct ux_retry *r, bool busy, unsigned retry_after_s) ux_must;

#define UX_RETRY_NONE INT64_C(-1)

/*
 * The two halves of ux_retry_again(), for a caller that does something between them: returns the ms
 * to wait before the next attempt, or UX_RETRY_NONE; and waits.
 */
int64_t ux_retry_next(struct ux_retry *r, bool busy, unsigned retry_after_s) ux_must;
void ux_retry_wait(int64_t ms);

/* Notes that an attempt made progress: counting starts again. */
void ux_retry_reset(struct ux_retry *r);

#endif
