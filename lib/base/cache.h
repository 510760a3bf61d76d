/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded table of what was used last: keys are bytes, values a struct of the user's. */
#ifndef UX_CACHE_H
#define UX_CACHE_H

#include "bytes.h"

/*
 * What does not fit leaves, least recently used first; so does, where times are given, what has
 * expired. Not locked by itself: whoever shares one has a mutex around every call and around each
 * use of a value. Values that are to outlive that are copied out, or are pointers with reference
 * counts, of which `evict` drops the cache's.
 */
struct ux_cache_opts {
	size_t value_size;
	size_t entries_most; /* at least 1 */
	size_t bytes_most;   /* as charged by ux_cache_charge(); 0: no bound */
	/*
	 * Not 0: every key is of this size, and room for all entries is reserved by
	 * ux_cache_init(), so that ux_cache_insert() cannot fail.
	 */
	size_t key_size;
	/* For every value that leaves, for whatever reason; may be NULL. It must not use the
	 * cache. */
	void (*evict)(void *ctx, void *value);
	/*
	 * May be NULL. True: the value is in use and does not leave to make room; it counts as used
	 * now. Where many are, the cache is over its bounds for as long.
	 */
	bool (*is_busy)(void *ctx, const void *value);
	void *ctx;
};

struct ux_cache_entry;

/* Zeroed is closed: deinit is fine, nothing else is. */
struct ux_cache {
	struct ux_cache_opts opts;
	struct ux_cache_entry **chains; /* by the hash of the key; as many as mask + 1 */
	size_t mask;
	struct ux_cache_entry *newest;
	struct ux_cache_entry *oldest;
	struct ux_cache_entry *spare; /* of reserved ones, linked by chain */
	void *reserved;
	size_t n_touched; /* reserved entries that were in use once */
	size_t n;
	size_t bytes;
};

/* Without an end of its life. */
#define UX_CACHE_FOREVER INT64_MAX

/* False: memory is short. */
bool ux_cache_init(struct ux_cache *c, const struct ux_cache_opts *opts) ux_must;
void ux_cache_deinit(struct ux_cache *c);

/*
 * The value of a key, which is the most recently used now; NULL: there is none, or it has expired.
 * Good until the next insert, charge, remove or clear. `now` is of any clock, the same for all
 * calls; 0 where no entry expires.
 */
void *ux_cache_find(struct ux_cache *c, struct ux_bytes key, int64_t now) ux_must;

/*
 * The value of a key, made, all zeros, when there is none (*ret_fresh, which may be NULL, says
 * which); it is good until `expires`, and the most recently used. Others make room. NULL: memory is
 * short, or the key is not of the fixed size.
 */
void *ux_cache_insert(struct ux_cache *c, struct ux_bytes key, int64_t now, int64_t expires,
		      bool *ret_fresh) ux_must;

/* Says how many bytes a value of this cache takes from now on: others make room, it stays. */
void ux_cache_charge(struct ux_cache *c, void *value, size_t bytes);

/* True: there was one. */
bool ux_cache_remove(struct ux_cache *c, struct ux_bytes key);
void ux_cache_clear(struct ux_cache *c);

/* Each value once, least recently used first: `value` is NULL, then what came before; NULL: the
 * end. In between nothing may leave or be found. */
void *ux_cache_next(const struct ux_cache *c, const void *value) ux_must;

/* The key that a value of this cache has; it lives as long. */
struct ux_bytes ux_cache_key(const struct ux_cache *c, const void *value);

#endif
