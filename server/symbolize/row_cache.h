/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of modules and small files, as they were a second ago at most: debuginfod's clients request
 * the same again and again. */
#ifndef UX_ROW_CACHE_H
#define UX_ROW_CACHE_H

#include "bytes.h"
#include "store.h"

#include <stdatomic.h>

enum {
	UX_ROW_CACHE_LIFE_MS = 1000 /* changes by another process are seen after that */
};

/*
 * The head of a cached item, which is immutable and shared by all that hold a reference. The key
 * lives as long as the item; destroy() is called with the last reference.
 */
struct ux_row_cache_item {
	atomic_uint refs; /* acquire-release: the last one frees what others have read */
	struct ux_bytes key;
	void (*destroy)(struct ux_row_cache_item *item);
};

/* With one reference, the caller's. */
void ux_row_cache_item_init(struct ux_row_cache_item *item, struct ux_bytes key,
			    void (*destroy)(struct ux_row_cache_item *item));

/* NULL is fine. */
void ux_row_cache_item_unref(struct ux_row_cache_item *item);

/* Any thread. Bounded: what was put longest ago makes room. */
struct ux_row_cache;

/* NULL: memory is short. */
struct ux_row_cache *ux_row_cache_create(void);
void ux_row_cache_destroy(struct ux_row_cache *r);

/*
 * The item of that key, with a reference for the caller; NULL when there is none, or it is too old,
 * or the cache was cleared since. *ret_moment goes to the put of what the caller reads instead.
 */
struct ux_row_cache_item *ux_row_cache_get(struct ux_row_cache *r, struct ux_bytes key,
					   uint64_t *ret_moment);

/* Keeps it, with a reference of its own, unless the cache was cleared since that moment. */
void ux_row_cache_put(struct ux_row_cache *r, struct ux_row_cache_item *item, uint64_t moment);

/* Something changed: nothing that was read before is returned from now on. */
void ux_row_cache_clear(struct ux_row_cache *r);

/* --- rows of modules, and small files --------------------------------------------------------- */

enum {
	UX_SMALL_FILE_MOST = 256 << 10 /* bytes of a file that stays mapped */
};

/* A module as the index has it, or had it a second ago at most. */
struct ux_cached_row {
	struct ux_row_cache_item item; /* the caller's reference */
	struct ux_arena arena;
	struct ux_module row;
};

/* A whole blob. */
struct ux_small_file {
	struct ux_row_cache_item item; /* the caller's reference */
	uint8_t key[1 + UX_BLOB_HASH_SIZE];
	struct ux_mapping mapping;
};

/*
 * The module that an ID (canonical) names; its use is noted. UX_ENOTFOUND: none does; it is not
 * remembered that there was none.
 */
enum ux_code ux_row_cache_module(struct ux_row_cache *r, struct ux_store *s, const char *ns,
				 const char *id, struct ux_cached_row **ret, struct ux_error *err)
	ux_must;

/* The bytes of a blob of that size, UX_SMALL_FILE_MOST at most. Codes as of ux_blobs_map(). */
enum ux_code ux_row_cache_file(struct ux_row_cache *r, struct ux_store *s,
			       const struct ux_blob_hash *hash, uint64_t size,
			       struct ux_small_file **ret, struct ux_error *err) ux_must;

#endif
