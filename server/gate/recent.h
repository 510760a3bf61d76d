/* SPDX-License-Identifier: Apache-2.0 */
/* How long an answer of the index is used again: a second, and longer while the index is away. */
#ifndef UX_RECENT_H
#define UX_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#define UX_RECENT_NS      INT64_C(1000000000) /* what another process changes is seen then */
#define UX_RECENT_AWAY_NS (600 * UX_RECENT_NS)

/* Kept with the answer, whose cache evicts it UX_RECENT_AWAY_NS after it was read. */
struct ux_recent {
	int64_t read_ns;
	int64_t retry_ns; /* 0: the index was there; else when it is tried again */
};

static inline struct ux_recent ux_recent_read(int64_t now_ns)
{
	return (struct ux_recent){.read_ns = now_ns};
}

/*
 * False: the caller reads it again. While the index is away one caller does so each second, since
 * that may take seconds, and the others go on.
 */
static inline bool ux_recent_is_used(struct ux_recent *r, int64_t now_ns)
{
	if (now_ns - r->read_ns < UX_RECENT_NS)
		return true;
	if (r->retry_ns == 0)
		return false;
	if (now_ns < r->retry_ns)
		return true;
	r->retry_ns = now_ns + UX_RECENT_NS;
	return false;
}

/* It could not be read again, because the index is away. */
static inline void ux_recent_keep(struct ux_recent *r, int64_t now_ns)
{
	r->retry_ns = now_ns + UX_RECENT_NS;
}

#endif
