/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets: limit how fast something may be used up. */
#ifndef UX_BUCKET_H
#define UX_BUCKET_H

#include "base.h"

/*
 * A bucket is stored as the time at which it would be full again (the generic cell rate algorithm,
 * ITU-T I.371). So there is no refill timer and no rounding, and costs are times: an amount costs
 * the nanoseconds that its refilling takes. Zeroed is full. One thread at a time.
 */
struct ux_bucket {
	int64_t full_ns; /* time of a monotonic clock */
};

/* Returns in how many nanoseconds a bucket with room for room_ns will contain cost_ns; 0: now. */
static inline int64_t ux_bucket_wait(const struct ux_bucket *b, int64_t now_ns, int64_t cost_ns,
				     int64_t room_ns)
{
	return ux_max(ux_max(b->full_ns, now_ns) - now_ns + cost_ns - room_ns, INT64_C(0));
}

/* Takes the cost, even if the bucket does not contain it yet: then the next wait is longer. */
static inline void ux_bucket_take(struct ux_bucket *b, int64_t now_ns, int64_t cost_ns)
{
	b->full_ns = ux_max(b->full_ns, now_ns) + cost_ns;
}

#endif
