/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of open modules: a request for an open module reads neither the index nor the disk. */
#ifndef UX_MODULE_CACHE_H
#define UX_MODULE_CACHE_H

#include "open_module.h"
#include "row_cache.h"
#include "store.h"

/* Any thread. */
struct ux_module_cache;

/* Creates a cache of at most `max` open modules, which evicts the least recently used one. */
enum ux_code ux_module_cache_create(struct ux_module_cache **ret, struct ux_store *store,
				    size_t max, struct ux_error *err) ux_must;

/*
 * Sets the memory of all requests in bytes; frame caches and indexes of open modules may take a
 * share of that size in addition. Applies to modules that are opened, and caches that are created,
 * from then on. Any thread.
 */
void ux_module_cache_limit(struct ux_module_cache *c, uint64_t memory);
void ux_module_cache_destroy(struct ux_module_cache *c);

/* Returns the bytes of the frame caches and indexes of all modules. Any thread. */
size_t ux_module_cache_bytes(const struct ux_module_cache *c);

/*
 * Opens the module that an ID (canonical) names, and notes the use. UX_ENOTFOUND: there is no such
 * module, or none of its candidates can resolve addresses; UX_EUNAVAILABLE: a candidate is being
 * extracted, or the bucket cannot be reached; other codes: no candidate can be opened.
 */
enum ux_code ux_module_cache_get(struct ux_module_cache *c, const char *ns, const char *id,
				 struct ux_open_module **ret, struct ux_error *err) ux_must;

/*
 * Finds a module that is open already, without waiting for a lock; NULL: it is not open, or the
 * cache is in use.
 */
struct ux_open_module *ux_module_cache_find_open(struct ux_module_cache *c, const char *ns,
						 const char *id);

/*
 * The cache of rows and small files, which is cleared whenever a module is evicted from this cache.
 */
struct ux_row_cache *ux_module_cache_rows(struct ux_module_cache *c);

/* Memory of large answers. It lives as long as the cache. */
struct ux_spare_memory *ux_module_cache_spare(struct ux_module_cache *c);

/* Returns the thread that fills frame caches in the background. It lives as long as the cache. */
struct ux_frame_filler *ux_module_cache_filler(struct ux_module_cache *c);

/* The pool of replies. It lives as long as the cache. */
struct ux_frame_reply_pool *ux_module_cache_replies(struct ux_module_cache *c);

/* Evicts the module with these IDs, because it changed: the next request opens it again. */
void ux_module_cache_evict(struct ux_module_cache *c, const char *ns, const char *const *ids,
			   size_t n);

/*
 * Evicts the module that an ID names, after one of its candidates was added, extracted or removed.
 */
void ux_module_cache_evict_id(struct ux_module_cache *c, const char *ns, const char *id);

/* Evicts modules that other nodes changed, by their numbers; NULL: all modules. */
void ux_module_cache_evict_numbers(struct ux_module_cache *c, const int64_t *numbers, size_t n);

#endif
