/* SPDX-License-Identifier: Apache-2.0 */
/* Modules that are open for lookups: the hot path touches no index and no disk. */
#ifndef UX_MODULE_CACHE_H
#define UX_MODULE_CACHE_H

#include "gsym_names.h"
#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "row_cache.h"
#include "store.h"

enum {
	UX_MODULE_CANDIDATES_MOST = 8 /* of one module that are opened, best first */
};

/* One candidate, mapped. */
struct ux_open_candidate {
	struct ux_mapping mapping;
	struct ux_gsym gsym;
	enum ux_quality quality;
	struct ux_gsym_names names; /* the module's: see ux_open_module_find() */
};

/* A module's candidates, best first. Immutable but for names and frame caches; shared; released by
 * ux_open_module_unref(). */
struct ux_open_module;

size_t ux_open_module_count(const struct ux_open_module *m);
const struct ux_open_candidate *ux_open_module_candidate(const struct ux_open_module *m, size_t i);

/*
 * Where the function with that linkage name begins, in the best candidate that has it. The names of
 * a candidate are read at the first call, and cached; *budget, functions that may yet be read, is
 * lowered by as many. UX_ENOTFOUND, with no message: there is none. UX_ELIMIT: the budget is used
 * up. UX_ENOMEM.
 */
enum ux_code ux_open_module_find(struct ux_open_module *m, struct ux_bytes name, uint64_t *budget,
				 uint64_t *ret, struct ux_error *err) ux_must;

/* NULL is fine. */
void ux_open_module_unref(struct ux_open_module *m);

/* The same as a scope guard. */
static inline void ux_open_module_release(struct ux_open_module **m)
{
	ux_open_module_unref(*m);
}

/*
 * The cache of frames with names in that mode, to be released by ux_frame_cache_unref() before the
 * module is. full: NULL, or the one that is full, whose reference is taken: it is replaced by
 * a new one. NULL: memory is short.
 */
struct ux_frame_cache *ux_open_module_frames(struct ux_open_module *m, enum ux_demangle_mode mode,
					     struct ux_frame_cache *full);

/* Any thread. */
struct ux_module_cache;

/* Keeps at most `most` modules open, and evicts the one used longest ago. */
enum ux_code ux_module_cache_create(struct ux_module_cache **ret, struct ux_store *store,
				    size_t most, struct ux_error *err) ux_must;
void ux_module_cache_destroy(struct ux_module_cache *c);

/*
 * The module that an ID (canonical) names; its use is noted. UX_ENOTFOUND: none does, or nothing of
 * it answers addresses; UX_EUNAVAILABLE: something is being extracted; other codes: it is known,
 * but no candidate can be opened.
 */
enum ux_code ux_module_cache_get(struct ux_module_cache *c, const char *ns, const char *id,
				 struct ux_open_module **ret, struct ux_error *err) ux_must;

/* The cache of rows and small files: cleared whenever a module of this cache is evicted. */
struct ux_row_cache *ux_module_cache_rows(struct ux_module_cache *c);

/* The pool of replies about its modules; lives as long as the cache. */
struct ux_frame_reply_pool *ux_module_cache_replies(struct ux_module_cache *c);

/* The module with these IDs has changed: the next request opens it again. */
void ux_module_cache_evict(struct ux_module_cache *c, const char *ns, const char *const *ids,
			   size_t n);

/* The same of the module that an ID names, after a candidate of it came, was finished or removed.
 */
void ux_module_cache_evict_id(struct ux_module_cache *c, const char *ns, const char *id);

#endif
