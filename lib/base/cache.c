/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded cache with least-recently-used eviction. */
#include "cache.h"

#include "hash.h"

enum {
	BUSY_TRIES = 32 /* most busy entries that one insert skips, so that its time is bounded */
};

/* An entry. Its value follows it in memory, and its key follows the value. */
struct ux_cache_entry {
	struct ux_cache_entry *chain;
	struct ux_cache_entry *newer;
	struct ux_cache_entry *older;
	uint64_t hash;
	int64_t expires;
	size_t bytes; /* bytes, set by ux_cache_charge() */
	size_t key_size;
	_Alignas(max_align_t) uint8_t value[];
};

static size_t cache_key_off(const struct ux_cache *c)
{
	return sizeof(struct ux_cache_entry) + c->opts.value_size;
}

static struct ux_bytes cache_entry_key(const struct ux_cache *c, const struct ux_cache_entry *e)
{
	return ux_bytes((const uint8_t *)e + cache_key_off(c), e->key_size);
}

static struct ux_cache_entry *cache_entry_of(const void *value)
{
	return ux_container_of(value, struct ux_cache_entry, value);
}

/* Returns the size of an entry in the reserved block. */
static size_t cache_stride(const struct ux_cache *c)
{
	size_t align = _Alignof(max_align_t);
	return (cache_key_off(c) + c->opts.key_size + align - 1) / align * align;
}

/*
 * Reserves memory for all entries. It is not written to, so the system allocates its pages when
 * they are first used.
 */
static bool cache_reserve(struct ux_cache *c)
{
	c->reserved = calloc(c->opts.entries_max, cache_stride(c));
	return c->reserved != NULL;
}

bool ux_cache_init(struct ux_cache *c, const struct ux_cache_opts *opts)
{
	size_t chains = 16;
	assert(opts->entries_max > 0);
	while (chains < opts->entries_max)
		chains *= 2;
	*c = (struct ux_cache){.opts = *opts, .mask = chains - 1};
	c->chains = calloc(chains, sizeof(struct ux_cache_entry *));
	if (!c->chains || (opts->key_size > 0 && !cache_reserve(c))) {
		ux_cache_deinit(c);
		return false;
	}
	return true;
}

void ux_cache_deinit(struct ux_cache *c)
{
	if (c->chains)
		ux_cache_clear(c);
	free(c->chains);
	free(c->reserved);
	*c = (struct ux_cache){0};
}

static void cache_unlink(struct ux_cache *c, struct ux_cache_entry *e)
{
	*(e->newer ? &e->newer->older : &c->newest) = e->older;
	*(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void cache_link_newest(struct ux_cache *c, struct ux_cache_entry *e)
{
	e->newer = NULL;
	e->older = c->newest;
	*(c->newest ? &c->newest->newer : &c->oldest) = e;
	c->newest = e;
}

static void cache_use(struct ux_cache *c, struct ux_cache_entry *e)
{
	if (e == c->newest)
		return;
	cache_unlink(c, e);
	cache_link_newest(c, e);
}

/*
 * Returns the pointer in the chain that points to the entry of that key, or the NULL at the chain's
 * end.
 */
static struct ux_cache_entry **cache_slot(const struct ux_cache *c, struct ux_bytes key,
					  uint64_t hash)
{
	assert(c->chains);
	struct ux_cache_entry **at = &c->chains[hash & c->mask];
	while (*at && !((*at)->hash == hash && ux_bytes_eq(cache_entry_key(c, *at), key)))
		at = &(*at)->chain;
	return at;
}

/* Removes the entry from its chain and from the list. The caller releases its memory. */
static void cache_take_out(struct ux_cache *c, struct ux_cache_entry *e)
{
	assert(c->n > 0 && c->bytes >= e->bytes);
	struct ux_cache_entry **at = &c->chains[e->hash & c->mask];
	while (*at != e)
		at = &(*at)->chain;
	*at = e->chain;
	cache_unlink(c, e);
	c->n--;
	c->bytes -= e->bytes;
	if (c->opts.evict)
		c->opts.evict(c->opts.ctx, e->value);
}

static void cache_evict(struct ux_cache *c, struct ux_cache_entry *e)
{
	cache_take_out(c, e);
	if (c->reserved) {
		e->chain = c->spare;
		c->spare = e;
	} else {
		free(e);
	}
}

static bool cache_is_over(const struct ux_cache *c, size_t entries_max)
{
	return c->n > entries_max || (c->opts.bytes_max > 0 && c->bytes > c->opts.bytes_max);
}

/*
 * Evicts entries other than `stays` until at most entries_max are left and their bytes are within
 * the bound.
 */
static void cache_make_room(struct ux_cache *c, size_t entries_max,
			    const struct ux_cache_entry *stays)
{
	for (unsigned tries = 0; tries < BUSY_TRIES && cache_is_over(c, entries_max);) {
		struct ux_cache_entry *e = c->oldest;
		if (e == stays)
			e = e->newer;
		if (!e)
			return;
		if (c->opts.is_busy && c->opts.is_busy(c->opts.ctx, e->value)) {
			cache_use(c, e);
			tries++;
		} else {
			cache_evict(c, e);
		}
	}
}

static struct ux_cache_entry *cache_find_entry(struct ux_cache *c, struct ux_bytes key,
					       uint64_t hash, int64_t now)
{
	struct ux_cache_entry *e = *cache_slot(c, key, hash);
	if (e && e->expires != UX_CACHE_FOREVER && e->expires <= now) {
		cache_evict(c, e);
		return NULL;
	}
	if (e)
		cache_use(c, e);
	return e;
}

void *ux_cache_find(struct ux_cache *c, struct ux_bytes key, int64_t now)
{
	struct ux_cache_entry *e = cache_find_entry(c, key, ux_hash_bytes(key), now);
	return e ? e->value : NULL;
}

/* Allocates an entry, which is not in a list yet. */
static struct ux_cache_entry *cache_new_entry(struct ux_cache *c, struct ux_bytes key)
{
	if (!c->reserved)
		return calloc(1, cache_key_off(c) + key.size);
	struct ux_cache_entry *e = c->spare;
	if (e) {
		c->spare = e->chain;
		memset(e, 0, cache_key_off(c));
	} else if (c->n_touched < c->opts.entries_max) {
		e = (void *)((uint8_t *)c->reserved + c->n_touched++ * cache_stride(c));
	}
	return e;
}

void *ux_cache_insert(struct ux_cache *c, struct ux_bytes key, int64_t now, int64_t expires,
		      bool *ret_fresh)
{
	uint64_t hash = ux_hash_bytes(key);
	if (c->reserved && key.size != c->opts.key_size)
		return NULL;
	struct ux_cache_entry *e = cache_find_entry(c, key, hash, now);
	if (ret_fresh)
		*ret_fresh = !e;
	if (!e) {
		cache_make_room(c, c->opts.entries_max - 1, NULL);
		e = cache_new_entry(c, key);
		if (!e)
			return NULL;
		e->hash = hash;
		e->key_size = key.size;
		if (key.size > 0)
			memcpy((uint8_t *)e + cache_key_off(c), key.data, key.size);
		e->chain = c->chains[hash & c->mask];
		c->chains[hash & c->mask] = e;
		cache_link_newest(c, e);
		c->n++;
	}
	e->expires = expires;
	return e->value;
}

void ux_cache_charge(struct ux_cache *c, void *value, size_t bytes)
{
	assert(c->n > 0);
	struct ux_cache_entry *e = cache_entry_of(value);
	assert(c->bytes >= e->bytes);
	c->bytes += bytes - e->bytes;
	e->bytes = bytes;
	cache_make_room(c, c->opts.entries_max, e);
}

bool ux_cache_remove(struct ux_cache *c, struct ux_bytes key)
{
	struct ux_cache_entry *e = *cache_slot(c, key, ux_hash_bytes(key));
	if (e)
		cache_evict(c, e);
	return e != NULL;
}

void ux_cache_clear(struct ux_cache *c)
{
	while (c->oldest)
		cache_evict(c, c->oldest);
}

void *ux_cache_next(const struct ux_cache *c, const void *value)
{
	struct ux_cache_entry *e = value ? cache_entry_of(value)->newer : c->oldest;
	return e ? e->value : NULL;
}

struct ux_bytes ux_cache_key(const struct ux_cache *c, const void *value)
{
	return cache_entry_key(c, cache_entry_of(value));
}
