/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the activity of a server in the last day, in steps of ten minutes, for the status page. */
#ifndef UX_TRENDS_H
#define UX_TRENDS_H

#include "metrics.h"

enum {
	UX_TREND_STEP_S = 600, /* seconds of one step */
	UX_TREND_STEPS = 144,  /* one day */
};

/* The kinds of counts. */
enum ux_trend {
	UX_TREND_REQUESTS,
	UX_TREND_ERRORS,    /* answers with status 5xx */
	UX_TREND_EXTRACTED, /* files */
	UX_TREND_SENT,      /* bytes of answers */
	UX_TRENDS
};

/*
 * Zeroed is empty. One thread calls ux_trends_note(); any thread reads. The counts are independent
 * sums, so no memory order is needed.
 */
struct ux_trends {
	_Atomic int64_t step; /* number of the current step since 1970; 0: nothing was noted yet */
	/* for each kind, at index step % UX_TREND_STEPS */
	_Atomic uint64_t counts[UX_TRENDS][UX_TREND_STEPS];
	/* the metrics' totals at the last call; used by the noting thread */
	uint64_t totals[UX_TRENDS];
};

/* Adds the counts since the last call to the step of that time. */
void ux_trends_note(struct ux_trends *t, const struct ux_metrics *m, int64_t now_s);

/* Returns the steps until now, oldest first; steps before the server's start are 0. */
void ux_trends_read(const struct ux_trends *t, enum ux_trend which, int64_t now_s,
		    uint64_t ret[UX_TREND_STEPS]);

#endif
