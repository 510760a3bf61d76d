/* SPDX-License-Identifier: Apache-2.0 */
/* What a server did in the last day, in steps of ten minutes, for the page about its state. */
#ifndef UX_TRENDS_H
#define UX_TRENDS_H

#include "metrics.h"

enum {
	UX_TREND_STEP_S = 600, /* seconds of one step */
	UX_TREND_STEPS = 144,  /* a day of them */
};

/* What is counted. */
enum ux_trend {
	UX_TREND_REQUESTS,
	UX_TREND_ERRORS,    /* answers of 5xx */
	UX_TREND_EXTRACTED, /* files */
	UX_TREND_SENT,      /* bytes of answers */
	UX_TRENDS
};

/*
 * Zeroed is empty. One thread calls ux_trends_note(); any thread reads. They are independent sums,
 * so no memory order is needed.
 */
struct ux_trends {
	_Atomic int64_t step; /* number of the current step since 1970; 0: nothing was noted yet */
	_Atomic uint64_t counts[UX_TRENDS][UX_TREND_STEPS]; /* of step % UX_TREND_STEPS */
	uint64_t totals[UX_TRENDS]; /* that were counted already; of the thread that notes */
};

/* Adds what has been counted since the last call to the step of that time. */
void ux_trends_note(struct ux_trends *t, const struct ux_metrics *m, int64_t now_s);

/* The steps until now, oldest first; those before the server's start are 0. */
void ux_trends_read(const struct ux_trends *t, enum ux_trend which, int64_t now_s,
		    uint64_t ret[UX_TREND_STEPS]);

#endif
