/* SPDX-License-Identifier: Apache-2.0 */
/* What was asked for a moment ago. */
#include "recent.h"

#include "clock.h"
#include "hash.h"

#include <pthread.h>

enum {
	SETS = 128, /* a power of two */
	WAYS = 4,   /* places that a key may take */
};

struct place {
	struct ux_recent_item *item; /* NULL: free */
	uint64_t hash;
	uint64_t moment;
	int64_t put_ms;
};

struct ux_recent {
	pthread_mutex_t lock; /* guards all below */
	uint64_t moment;      /* forgets so far */
	struct place places[SETS][WAYS];
};

void ux_recent_item_init(struct ux_recent_item *item, struct ux_bytes key,
			 void (*destroy)(struct ux_recent_item *item))
{
	atomic_init(&item->refs, 1);
	item->key = key;
	item->destroy = destroy;
}

void ux_recent_item_drop(struct ux_recent_item *item)
{
	if (item && atomic_fetch_sub_explicit(&item->refs, 1, memory_order_acq_rel) == 1)
		item->destroy(item);
}

static struct ux_recent_item *item_ref(struct ux_recent_item *item)
{
	atomic_fetch_add_explicit(&item->refs, 1, memory_order_relaxed);
	return item;
}

struct ux_recent *ux_recent_create(void)
{
	struct ux_recent *r = calloc(1, sizeof(*r));
	if (r)
		pthread_mutex_init(&r->lock, NULL);
	return r;
}

void ux_recent_destroy(struct ux_recent *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < SETS; i++)
		for (size_t k = 0; k < WAYS; k++)
			ux_recent_item_drop(r->places[i][k].item);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

static bool has(const struct place *p, uint64_t hash, struct ux_bytes key)
{
	return p->item && p->hash == hash && ux_bytes_eq(p->item->key, key);
}

static bool is_fresh(const struct ux_recent *r, const struct place *p, int64_t now)
{
	return p->moment == r->moment && now - p->put_ms < UX_RECENT_LIFE_MS;
}

struct ux_recent_item *ux_recent_get(struct ux_recent *r, struct ux_bytes key, uint64_t *ret_moment)
{
	uint64_t hash = ux_hash_bytes(key);
	struct ux_recent_item *found = NULL;
	int64_t now = ux_clock_coarse_ms();
	pthread_mutex_lock(&r->lock);
	struct place *set = r->places[hash & (SETS - 1)];
	for (size_t i = 0; i < WAYS && !found; i++)
		if (has(&set[i], hash, key) && is_fresh(r, &set[i], now))
			found = item_ref(set[i].item);
	*ret_moment = r->moment;
	pthread_mutex_unlock(&r->lock);
	return found;
}

/* Where the key is, else a free place, else the oldest. */
static struct place *choose(struct place *set, uint64_t hash, struct ux_bytes key)
{
	struct place *best = &set[0];
	for (size_t i = 0; i < WAYS; i++) {
		struct place *p = &set[i];
		if (has(p, hash, key))
			return p;
		if (best->item && (!p->item || p->put_ms < best->put_ms))
			best = p;
	}
	return best;
}

void ux_recent_put(struct ux_recent *r, struct ux_recent_item *item, uint64_t moment)
{
	uint64_t hash = ux_hash_bytes(item->key);
	struct ux_recent_item *old = NULL;
	int64_t now = ux_clock_coarse_ms();
	pthread_mutex_lock(&r->lock);
	if (moment == r->moment) {
		struct place *p = choose(r->places[hash & (SETS - 1)], hash, item->key);
		old = p->item;
		*p = (struct place){item_ref(item), hash, moment, now};
	}
	pthread_mutex_unlock(&r->lock);
	ux_recent_item_drop(old);
}

void ux_recent_forget(struct ux_recent *r)
{
	pthread_mutex_lock(&r->lock);
	r->moment++;
	pthread_mutex_unlock(&r->lock);
}
