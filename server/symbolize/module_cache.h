/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of open modules: a request for an open module reads neither the index nor the disk. */
#ifndef UX_MODULE_CACHE_H
#define UX_MODULE_CACHE_H

#include "gsym_names.h"
#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "row_cache.h"
#include "store.h"

enum {
	UX_MODULE_CANDIDATES_MOST = 8 /* candidates of one module that are opened, best first */
};

/* One mapped candidate. */
struct ux_open_candidate {
	struct ux_mapping mapping;
	struct ux_gsym gsym;
	enum ux_quality quality;
	struct ux_gsym_names names; /* used by ux_open_module_find() */
};

/*
 * The candidates of a module, best first. Immutable except for names and frame caches. Shared
 * between threads; released by ux_open_module_unref().
 */
struct ux_open_module;

size_t ux_open_module_count(const struct ux_open_module *m);
const struct ux_open_candidate *ux_open_module_candidate(const struct ux_open_module *m, size_t i);

/*
 * Sets the lowest virtual address of the module's image, by the best candidate that says it.
 * UX_ENOTFOUND: none does, because writers without the image had nothing but functions.
 */
enum ux_code ux_open_module_image_start(const struct ux_open_module *m, uint64_t *ret,
					struct ux_error *err) ux_must;

/*
 * Converts a position in the module's file to a pc, by the best candidate that has the table of its
 * segments. False: none has it, or the position is not that of code.
 */
bool ux_open_module_file_pc(const struct ux_open_module *m, uint64_t off, uint64_t *ret);

/*
 * Finds the start of the function with that linkage name, in the best candidate that has it. The
 * names of a candidate are read by the first call, and cached as frames are. *budget is the number
 * of functions that may still be read, and is reduced accordingly; reading is charged to `work`.
 * UX_ENOTFOUND, with no message: there is no such function. UX_ELIMIT: the budget is used up.
 * UX_EUNAVAILABLE, with no message: work was refused. UX_ENOMEM.
 */
enum ux_code ux_open_module_find(struct ux_open_module *m, struct ux_bytes name, uint64_t *budget,
				 struct ux_work *work, uint64_t *ret, struct ux_error *err) ux_must;

/*
 * As ux_open_module_find(), but finds all functions with that name: writes the starts of at most
 * `max`, ascending, and sets *ret_n. *ret_more is set if there are more, and else is not changed.
 */
enum ux_code ux_open_module_find_all(struct ux_open_module *m, struct ux_bytes name,
				     uint64_t *budget, struct ux_work *work, uint64_t *starts,
				     size_t max, size_t *ret_n, bool *ret_more,
				     struct ux_error *err) ux_must;

/* NULL is allowed. */
void ux_open_module_unref(struct ux_open_module *m);

/* ux_open_module_unref() as a scope guard. */
static inline void ux_open_module_release(struct ux_open_module **m)
{
	ux_open_module_unref(*m);
}

/*
 * Returns the frame cache for a demangling mode, which must be released by ux_frame_cache_unref()
 * before the module. full is NULL, or a full cache that is replaced by a new one, and whose
 * reference is released. NULL: memory is short.
 */
struct ux_frame_cache *ux_open_module_frames(struct ux_open_module *m, enum ux_demangle_mode mode,
					     struct ux_frame_cache *full);

/* Any thread. */
struct ux_module_cache;

/* Creates a cache of at most `most` open modules, which evicts the least recently used one. */
enum ux_code ux_module_cache_create(struct ux_module_cache **ret, struct ux_store *store,
				    size_t most, struct ux_error *err) ux_must;

/*
 * Sets the memory of all requests, of which frame caches and indexes of open modules may have a
 * part in addition. It applies to modules that are opened, and caches that are created, from then
 * on. Any thread.
 */
void ux_module_cache_limit(struct ux_module_cache *c, uint64_t memory);
void ux_module_cache_destroy(struct ux_module_cache *c);

/* The memory of the frame caches and indexes of all modules. Any thread. */
size_t ux_module_cache_bytes(const struct ux_module_cache *c);

/*
 * Opens the module that an ID (canonical) names, and notes the use. UX_ENOTFOUND: there is no such
 * module, or none of its candidates can resolve addresses; UX_EUNAVAILABLE: a candidate is being
 * extracted; other codes: no candidate can be opened.
 */
enum ux_code ux_module_cache_get(struct ux_module_cache *c, const char *ns, const char *id,
				 struct ux_open_module **ret, struct ux_error *err) ux_must;

/*
 * The same for a module that is open already, without waiting for a lock; NULL: it is not, or the
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

/* The pool of replies. It lives as long as the cache. */
struct ux_frame_reply_pool *ux_module_cache_replies(struct ux_module_cache *c);

/* The module with these IDs has changed: evicts it, so that the next request opens it again. */
void ux_module_cache_evict(struct ux_module_cache *c, const char *ns, const char *const *ids,
			   size_t n);

/*
 * The same for the module that an ID names, after one of its candidates was added, extracted or
 * removed.
 */
void ux_module_cache_evict_id(struct ux_module_cache *c, const char *ns, const char *id);

#endif
