/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of stages, as sums and histograms. */
#include "stage_times.h"

#include "clock.h"

enum {
	NS_IN_US = 1000
};

const uint64_t ux_stage_bounds[UX_STAGE_BOUNDS] = {100,   250,   500,   1000,   2500,   5000,
						   10000, 20000, 50000, 100000, 250000, 1000000};

const char *ux_stage_name(enum ux_stage stage)
{
	static const char *const names[UX_STAGE_COUNT] = {
		[UX_STAGE_ANNOUNCE] = "announce",
		[UX_STAGE_QUEUE] = "queue",
		[UX_STAGE_READ] = "read",
		[UX_STAGE_CHECK] = "check",
		[UX_STAGE_BLOB_SYNC] = "blob_sync",
		[UX_STAGE_BLOB_NAME] = "blob_name",
		[UX_STAGE_INDEX_WAIT] = "index_wait",
		[UX_STAGE_INDEX_WRITE] = "index_write",
		[UX_STAGE_INDEX_SYNC] = "index_sync",
		[UX_STAGE_ANSWER] = "answer",
	};
	return names[stage];
}

struct ux_stage_clock ux_stage_begin(struct ux_stage_times *times)
{
	return (struct ux_stage_clock){times, times ? ux_clock_ns() : 0};
}

void ux_stage_end(struct ux_stage_clock *c, enum ux_stage stage)
{
	assert(stage < UX_STAGE_COUNT);
	if (!c->times)
		return;
	const int64_t now_ns = ux_clock_ns();
	const uint64_t us = (uint64_t)(now_ns - c->begun_ns) / NS_IN_US;
	size_t bucket = 0;
	while (bucket < UX_STAGE_BOUNDS && us > ux_stage_bounds[bucket])
		bucket++;
	atomic_fetch_add_explicit(&c->times->stages[stage].buckets[bucket], 1,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&c->times->stages[stage].us, us, memory_order_relaxed);
	c->begun_ns = now_ns;
}
