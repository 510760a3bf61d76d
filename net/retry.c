/* SPDX-License-Identifier: Apache-2.0 */
/* Counts attempts, and pauses between them. */
#include "retry.h"

#include "clock.h"

#include <errno.h>

enum {
	PAUSE_MS = 250,       /* ms before the second attempt; doubles each time */
	PAUSE_MAX_MS = 10000, /* longest ms of a pause without a Retry-After */
	DOUBLINGS_MAX = 16,
};

int64_t ux_retry_next(struct ux_retry *r, bool busy, unsigned retry_after_s)
{
	r->failed += !busy;
	if (!busy && r->failed >= r->max)
		return UX_RETRY_NONE;
	int64_t ms = (int64_t)PAUSE_MS << ux_min(r->pauses, (unsigned)DOUBLINGS_MAX);
	r->pauses++;
	ms = ux_max(ux_min(ms, (int64_t)PAUSE_MAX_MS), (int64_t)retry_after_s * 1000);
	return ux_clock_ms() + ms < r->deadline_ms ? ms : UX_RETRY_NONE;
}

void ux_retry_wait(int64_t ms)
{
	assert(ms >= 0);
	struct timespec t = {ms / 1000, ms % 1000 * UX_CLOCK_NS_IN_MS};
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
		continue;
}

bool ux_retry_again(struct ux_retry *r, bool busy, unsigned retry_after_s)
{
	int64_t ms = ux_retry_next(r, busy, retry_after_s);
	if (ms != UX_RETRY_NONE)
		ux_retry_wait(ms);
	return ms != UX_RETRY_NONE;
}

void ux_retry_reset(struct ux_retry *r)
{
	r->failed = r->pauses = 0;
}
