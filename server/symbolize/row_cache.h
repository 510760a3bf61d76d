/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cache of module rows and small files for up to one second, since debuginfod clients repeat
 * their requests.
 */
#ifndef UX_ROW_CACHE_H
#define UX_ROW_CACHE_H

#include "bytes.h"
#include "store.h"

#include <stdatomic.h>

enum {
	UX_ROW_CACHE_LIFE_MS = 1000 /* time until changes by another process are seen */
};

/*
 * Head of a cached item, which is immutable and shared by all holders of a reference. The key lives
 * as long as the item. destroy() is called when the last reference is dropped.
 */
struct ux_row_cache_item {
	/* acquire-release, so that the last holder frees the item after all reads */
	atomic_uint refs;
	struct ux_bytes key;
	void (*destroy)(struct ux_row_cache_item *item);
};

/* The caller holds the one reference. */
void ux_row_cache_item_init(struct ux_row_cache_item *item, struct ux_bytes key,
			    void (*destroy)(struct ux_row_cache_item *item));

/* NULL is allowed. */
void ux_row_cache_item_unref(struct ux_row_cache_item *item);

/* Bounded: the oldest items are evicted. Any thread. */
struct ux_row_cache;

/* NULL: memory is short. */
struct ux_row_cache *ux_row_cache_create(void);
void ux_row_cache_destroy(struct ux_row_cache *r);

/*
 * Finds the item of a key and takes a reference for the caller. NULL: no such item, it is too old,
 * or the cache was cleared since it was put. The caller then reads the item itself and passes
 * *ret_moment to ux_row_cache_put() with it.
 */
struct ux_row_cache_item *ux_row_cache_get(struct ux_row_cache *r, struct ux_bytes key,
					   uint64_t *ret_moment);

/* Adds an item and takes a reference to it, unless the cache was cleared since that moment. */
void ux_row_cache_put(struct ux_row_cache *r, struct ux_row_cache_item *item, uint64_t moment);

/* Invalidates all items that were read before this call. */
void ux_row_cache_clear(struct ux_row_cache *r);

/* --- rows of modules, and small files --------------------------------------------------------- */

enum {
	UX_SMALL_FILE_MAX = 256 << 10 /* bytes of the largest file that is cached */
};

/* A module's row, read from the index at most one second ago. */
struct ux_cached_row {
	struct ux_row_cache_item item; /* holds the caller's reference */
	struct ux_arena arena;
	struct ux_module row;
};

/* The bytes of a whole blob. */
struct ux_small_file {
	struct ux_row_cache_item item; /* holds the caller's reference */
	uint8_t key[1 + UX_BLOB_HASH_SIZE];
	struct ux_mapping mapping;
};

/*
 * Finds the module that an ID (canonical) names, and notes the use. UX_ENOTFOUND: there is no such
 * module; this result is not cached.
 */
enum ux_code ux_row_cache_module(struct ux_row_cache *r, struct ux_store *s, const char *ns,
				 const char *id, struct ux_cached_row **ret, struct ux_error *err)
	ux_must;

/* Maps a blob of that size, at most UX_SMALL_FILE_MAX. The codes of ux_blobs_map(). */
enum ux_code ux_row_cache_file(struct ux_row_cache *r, struct ux_store *s,
			       const struct ux_blob_hash *hash, uint64_t size,
			       struct ux_small_file **ret, struct ux_error *err) ux_must;

#endif
