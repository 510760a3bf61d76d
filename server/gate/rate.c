/* SPDX-License-Identifier: Apache-2.0 */
/* Token buckets: requests a second of an address or a key. */
#include "rate.h"

#include "hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>

#define NONE UINT32_MAX

enum {
	NS_IN_MS = 1000000,
	NS_IN_S = 1000000000
};

/*
 * A bucket is one number: the time at which it would be full again (the generic cell rate
 * algorithm, ITU-T I.371). Nothing has to be refilled by a timer, and nothing is rounded.
 */
struct bucket {
	struct ux_rate_name name;
	int64_t full_ns;
	uint32_t next_same; /* in a chain of the table */
	uint32_t newer;
	uint32_t older;
};

struct ux_rates {
	pthread_mutex_t lock; /* guards all that follows */
	uint64_t seed;        /* clients choose names, and must not choose chains */
	uint32_t n;
	uint32_t most;
	uint32_t newest;
	uint32_t oldest;
	uint32_t *heads; /* as many as buckets */
	struct bucket *buckets;
};

void ux_rates_destroy(struct ux_rates *r)
{
	if (!r)
		return;
	pthread_mutex_destroy(&r->lock);
	free(r->heads);
	free(r->buckets);
	free(r);
}

struct ux_rates *ux_rates_create(size_t most)
{
	struct ux_rates *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	pthread_mutex_init(&r->lock, NULL);
	r->most = (uint32_t)ux_max(most, (size_t)1);
	r->newest = r->oldest = NONE;
	r->heads = malloc(r->most * sizeof(*r->heads));
	r->buckets = malloc(r->most * sizeof(*r->buckets));
	if (!r->heads || !r->buckets ||
	    getrandom(&r->seed, sizeof(r->seed), 0) != (ssize_t)sizeof(r->seed)) {
		ux_rates_destroy(r);
		return NULL;
	}
	memset(r->heads, 0xff, r->most * sizeof(*r->heads));
	return r;
}

static uint32_t *rates_head_of(struct ux_rates *r, const struct ux_rate_name *name)
{
	uint64_t half[2];
	memcpy(half, name->bytes, sizeof(half));
	uint64_t h = ux_hash_u64(ux_hash_u64(half[0] ^ r->seed) ^ half[1]);
	return &r->heads[h % r->most];
}

static void rates_unlink_use(struct ux_rates *r, struct bucket *b)
{
	*(b->newer == NONE ? &r->newest : &r->buckets[b->newer].older) = b->older;
	*(b->older == NONE ? &r->oldest : &r->buckets[b->older].newer) = b->newer;
}

static void rates_link_newest(struct ux_rates *r, uint32_t i)
{
	struct bucket *b = &r->buckets[i];
	b->newer = NONE;
	b->older = r->newest;
	*(r->newest == NONE ? &r->oldest : &r->buckets[r->newest].newer) = i;
	r->newest = i;
}

static void rates_unlink_chain(struct ux_rates *r, uint32_t i)
{
	uint32_t *at = rates_head_of(r, &r->buckets[i].name);
	while (*at != i)
		at = &r->buckets[*at].next_same;
	*at = r->buckets[i].next_same;
}

/* A free one, or that which was not used for longest. */
static uint32_t rates_make_room(struct ux_rates *r)
{
	if (r->n < r->most)
		return r->n++;
	uint32_t i = r->oldest;
	rates_unlink_use(r, &r->buckets[i]);
	rates_unlink_chain(r, i);
	return i;
}

static struct bucket *rates_bucket_of(struct ux_rates *r, const struct ux_rate_name *name,
				      int64_t now)
{
	uint32_t *head = rates_head_of(r, name), i = *head;
	while (i != NONE && memcmp(&r->buckets[i].name, name, sizeof(*name)) != 0)
		i = r->buckets[i].next_same;
	if (i != NONE) {
		rates_unlink_use(r, &r->buckets[i]);
	} else {
		i = rates_make_room(r);
		r->buckets[i] = (struct bucket){.name = *name, .full_ns = now, .next_same = *head};
		*head = i;
	}
	rates_link_newest(r, i);
	return &r->buckets[i];
}

static unsigned rates_to_ms(int64_t ns)
{
	int64_t ms = (ns + NS_IN_MS - 1) / NS_IN_MS;
	return (unsigned)ux_min(ms, (int64_t)UINT_MAX);
}

bool ux_rates_take(struct ux_rates *r, const struct ux_rate_name *name, const struct ux_rate *rate,
		   int64_t now, unsigned wait_most_ms, unsigned *ret_wait_ms)
{
	*ret_wait_ms = 0;
	if (rate->a_second == 0)
		return true;
	int64_t each = ux_max((int64_t)(NS_IN_S / rate->a_second), INT64_C(1));
	uint64_t burst = ux_min(ux_max(rate->burst, UINT64_C(1)), (uint64_t)(INT64_MAX / 4 / each));
	pthread_mutex_lock(&r->lock);
	struct bucket *b = rates_bucket_of(r, name, now);
	int64_t full = ux_max(b->full_ns, now);
	int64_t wait = ux_max(full - now - (int64_t)(burst - 1) * each, INT64_C(0));
	bool may = wait <= (int64_t)wait_most_ms * NS_IN_MS;
	if (may)
		b->full_ns = full + each;
	pthread_mutex_unlock(&r->lock);
	*ret_wait_ms = rates_to_ms(wait);
	return may;
}
