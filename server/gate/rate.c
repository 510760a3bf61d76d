/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets for request rates. */
#include "auth.h"

#include "bucket.h"
#include "cache.h"

#include <pthread.h>

enum {
	NS_IN_MS = 1000000,
	NS_IN_S = 1000000000
};

struct ux_rates {
	pthread_mutex_t lock; /* guards buckets */
	/* by name; the memory is allocated in advance, so adding cannot fail */
	struct ux_cache buckets;
};

void ux_rates_destroy(struct ux_rates *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	ux_cache_deinit(&r->buckets);
	free(r);
}

struct ux_rates *ux_rates_create(size_t max)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct ux_bucket),
					   .entries_max = ux_max(max, (size_t)1),
					   .key_size = sizeof(struct ux_rate_name)};
	struct ux_rates *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	if (!ux_cache_init(&r->buckets, &opts)) {
		ux_rates_destroy(r);
		return NULL;
	}
	return r;
}

static struct ux_bucket *rates_bucket(struct ux_rates *r, const struct ux_rate_name *name,
				      int64_t now)
{
	bool fresh = false;
	struct ux_bytes key = ux_bytes(name->bytes, sizeof(name->bytes));
	struct ux_bucket *b = ux_cache_insert(&r->buckets, key, 0, UX_CACHE_FOREVER, &fresh);
	assert(b);
	if (fresh)
		b->full_ns = now;
	return b;
}

static unsigned rates_to_ms(int64_t ns)
{
	int64_t ms = (ns + NS_IN_MS - 1) / NS_IN_MS;
	return (unsigned)ux_min(ms, (int64_t)UINT_MAX);
}

bool ux_rates_take(struct ux_rates *r, const struct ux_rate_name *name, const struct ux_rate *rate,
		   int64_t now, unsigned wait_max_ms, unsigned *ret_wait_ms)
{
	*ret_wait_ms = 0;
	if (rate->a_second == 0)
		return true;
	int64_t each = ux_max((int64_t)(NS_IN_S / rate->a_second), INT64_C(1));
	uint64_t burst = ux_min(ux_max(rate->burst, UINT64_C(1)), (uint64_t)(INT64_MAX / 4 / each));
	pthread_mutex_lock(&r->lock);
	struct ux_bucket *b = rates_bucket(r, name, now);
	int64_t wait = ux_bucket_wait(b, now, each, (int64_t)burst * each);
	bool may = wait <= (int64_t)wait_max_ms * NS_IN_MS;
	if (may)
		ux_bucket_take(b, now, each);
	pthread_mutex_unlock(&r->lock);
	*ret_wait_ms = rates_to_ms(wait);
	return may;
}
