/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets in bounded memory: requests a second of an address or a key. */
#ifndef UX_RATE_H
#define UX_RATE_H

#include "base.h"

/* A bucket that is full holds `burst` requests, and is filled with so many a second. */
struct ux_rate {
	uint64_t a_second; /* 0: any number */
	uint64_t burst;    /* at least 1 */
};

/* Whose bucket: an address, or the ID of a key. */
struct ux_rate_name {
	uint8_t bytes[16];
};

enum {
	UX_RATES_MOST = 8192 /* buckets; of more, those not used for longest start full again */
};

struct ux_rates;

/* most: of the buckets. NULL: no memory. */
struct ux_rates *ux_rates_create(size_t most) ux_must;
void ux_rates_destroy(struct ux_rates *r);

/*
 * One request of `name` at a time of any clock that does not go back. True: it may be, after
 * *ret_wait_ms; requests that wait do so in the order in which they came. False: it would have to
 * wait for more than wait_most_ms, and does not count; after *ret_wait_ms it may be at once. Any
 * thread.
 */
bool ux_rates_take(struct ux_rates *r, const struct ux_rate_name *name, const struct ux_rate *rate,
		   int64_t now_ns, unsigned wait_most_ms, unsigned *ret_wait_ms) ux_must;

#endif
