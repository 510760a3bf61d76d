/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an answer of the index is reused: a second, and longer while the index is unavailable.
 */
#ifndef UX_RECENT_H
#define UX_RECENT_H

#include <stdbool.h>
#include <stdint.h>

/* After this time the changes of other processes are seen. */
#define UX_RECENT_NS      INT64_C(1000000000)
#define UX_RECENT_AWAY_NS (600 * UX_RECENT_NS)

/* Stored with the answer; the cache evicts the answer UX_RECENT_AWAY_NS after it was read. */
struct ux_recent {
	int64_t read_ns;
	int64_t retry_ns; /* time of the next attempt to read the index; 0: it was available */
};

static inline struct ux_recent ux_recent_read(int64_t now_ns)
{
	return (struct ux_recent){.read_ns = now_ns};
}

/*
 * Tests whether the answer may be used. False: the caller reads it again. While the index is
 * unavailable only one caller does so each second, because that may take seconds; the others use
 * the answer.
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

/* Notes that the answer could not be read again because the index is unavailable. */
static inline void ux_recent_keep(struct ux_recent *r, int64_t now_ns)
{
	r->retry_ns = now_ns + UX_RECENT_NS;
}

#endif
