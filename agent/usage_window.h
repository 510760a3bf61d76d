/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the use of a resource in the last minute. */
#ifndef UX_USAGE_WINDOW_H
#define UX_USAGE_WINDOW_H

#include "clock.h"

enum {
	UX_USAGE_MINUTE = 60,
	UX_USAGE_SLOTS =
		UX_USAGE_MINUTE + 1, /* one slot for each second, and one for the current second */
};

/*
 * The use in each of the last seconds. Unlike a token bucket, it allows a whole minute's amount in
 * a burst after an idle minute, and still no minute exceeds the limit. Zeroed: nothing was used.
 * One thread at a time.
 */
struct ux_usage_window {
	int64_t second; /* the current second of a monotonic clock */
	int64_t slots[UX_USAGE_SLOTS];
	int64_t sum; /* of all slots */
};

/* Forgets use that is older than a minute. */
static inline void ux_usage_advance(struct ux_usage_window *w, int64_t now_ns)
{
	const int64_t now = now_ns / UX_CLOCK_NS_IN_S;
	for (int i = 0; i < UX_USAGE_SLOTS && w->second < now; i++) {
		/* After a long pause each slot is cleared only once. */
		w->second = ux_max(w->second + 1, now - UX_USAGE_SLOTS + 1);
		int64_t *slot = &w->slots[w->second % UX_USAGE_SLOTS];
		w->sum -= *slot;
		*slot = 0;
	}
}

static inline void ux_usage_add(struct ux_usage_window *w, int64_t now_ns, int64_t used)
{
	ux_usage_advance(w, now_ns);
	w->slots[w->second % UX_USAGE_SLOTS] += used;
	w->sum += used;
}

/* Returns the ns until the use of the last minute falls below `most`; 0: it is below now. */
static inline int64_t ux_usage_wait(struct ux_usage_window *w, int64_t now_ns, int64_t max)
{
	ux_usage_advance(w, now_ns);
	int64_t left = w->sum;
	if (left < max)
		return 0;
	for (int64_t s = w->second - UX_USAGE_SLOTS + 1; s <= w->second; s++) {
		left -= s >= 0 ? w->slots[s % UX_USAGE_SLOTS] : 0;
		if (left < max)
			return ux_max((s + UX_USAGE_SLOTS) * UX_CLOCK_NS_IN_S - now_ns, INT64_C(1));
	}
	return UX_CLOCK_NS_IN_S; /* most is 0 */
}

#endif
