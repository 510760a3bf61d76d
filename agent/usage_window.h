/* SPDX-License-Identifier: Apache-2.0 */
/* How much of something was used in the last minute. */
#ifndef UX_USAGE_WINDOW_H
#define UX_USAGE_WINDOW_H

#include "clock.h"

enum {
	UX_USAGE_MINUTE = 60,
	UX_USAGE_SLOTS =
		UX_USAGE_MINUTE + 1, /* seconds; the one that is under way is another one */
};

/*
 * The use in each of the last seconds. Unlike a bucket it lets all of a minute's worth be
 * used in one go when nothing was used before, and still no minute has more. Zeroed: nothing was
 * used. One thread at a time.
 */
struct ux_usage_window {
	int64_t second; /* of a monotonic clock: the last one that is counted */
	int64_t slots[UX_USAGE_SLOTS];
	int64_t sum; /* of all slots */
};

/* Forgets the use of more than a minute ago. */
static inline void ux_usage_advance(struct ux_usage_window *w, int64_t now_ns)
{
	const int64_t now = now_ns / UX_CLOCK_NS_IN_S;
	for (int i = 0; i < UX_USAGE_SLOTS && w->second < now; i++) {
		/* After a long time each slot is emptied once. */
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

/* In how many nanoseconds less than `most` was used in a minute; 0: now. */
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
