/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded cache with least-recently-used eviction. Keys are bytes; values are a struct that the
 * caller defines.
 */
#ifndef UX_CACHE_H
#define UX_CACHE_H

#include "bytes.h"

/*
 * When the cache is over its bounds, the least recently used entries are evicted. Expired entries
 * are evicted too. A cache has no lock: threads that share one hold a mutex during every call and
 * as long as they use a value. A value that is needed longer is copied, or is a pointer to a
 * reference-counted object; `evict` then drops the cache's reference.
 */
struct ux_cache_opts {
	size_t value_size;
	size_t entries_max; /* at least 1 */
	size_t bytes_max;   /* limit of the bytes set by ux_cache_charge(); 0: no limit */
	/*
	 * Not 0: every key has this size, and memory for all entries is reserved by
	 * ux_cache_init(), so that ux_cache_insert() cannot fail.
	 */
	size_t key_size;
	/*
	 * Called for every value that is removed, for whatever reason. May be NULL. It must not use
	 * the cache.
	 */
	void (*evict)(void *ctx, void *value);
	/*
	 * May be NULL. True: the value is in use. It is then not evicted to make room, and counts
	 * as just used. As long as many values are busy, the cache can be over its bounds.
	 */
	bool (*is_busy)(void *ctx, const void *value);
	void *ctx;
};

struct ux_cache_entry;

/* A zeroed cache is closed: only ux_cache_deinit() may be called. */
struct ux_cache {
	struct ux_cache_opts opts;
	struct ux_cache_entry **chains; /* mask + 1 chains, indexed by the hash of the key */
	size_t mask;
	struct ux_cache_entry *newest;
	struct ux_cache_entry *oldest;
	struct ux_cache_entry *spare; /* free reserved entries, linked by `chain` */
	void *reserved;
	size_t n_touched; /* how many reserved entries have ever been used */
	size_t n;
	size_t bytes;
};

/* The value of `expires` of an entry that never expires. */
#define UX_CACHE_FOREVER INT64_MAX

/* Initializes an empty cache. False when memory is short. */
bool ux_cache_init(struct ux_cache *c, const struct ux_cache_opts *opts) ux_must;
void ux_cache_deinit(struct ux_cache *c);

/*
 * Returns the value of a key and marks it as the most recently used. NULL: the key is missing, or
 * its value has expired. The pointer is valid until the next insert, charge, remove or clear. `now`
 * may come from any clock, but from the same one in all calls; 0 when no entry expires.
 */
void *ux_cache_find(struct ux_cache *c, struct ux_bytes key, int64_t now) ux_must;

/*
 * Returns the value of a key; a missing one is created with all zeros. *ret_fresh (which may be
 * NULL) tells whether it was created. The value expires at `expires` and is now the most recently
 * used; others are evicted to make room. NULL: memory is short, or the key does not have the fixed
 * size.
 */
void *ux_cache_insert(struct ux_cache *c, struct ux_bytes key, int64_t now, int64_t expires,
		      bool *ret_fresh) ux_must;

/*
 * Sets how many bytes a value of this cache takes. Other values are evicted to make room; this one
 * is kept.
 */
void ux_cache_charge(struct ux_cache *c, void *value, size_t bytes);

/* Removes the entry of a key. True when it existed. */
bool ux_cache_remove(struct ux_cache *c, struct ux_bytes key);
void ux_cache_clear(struct ux_cache *c);

/*
 * Iterates over the values, least recently used first. `value` is NULL in the first call, then the
 * result of the previous call. Returns NULL at the end. Between the calls no entry may be removed
 * or looked up.
 */
void *ux_cache_next(const struct ux_cache *c, const void *value) ux_must;

/* Returns the key of a value of this cache; it is valid as long as the value. */
struct ux_bytes ux_cache_key(const struct ux_cache *c, const void *value);

#endif
