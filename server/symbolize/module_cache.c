/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of open modules. */
#include "module_cache.h"

#include "gsym_segments.h"
#include "clock.h"
#include "cache.h"

#include <stdatomic.h>

enum {
	INDEX_ARENA = 16 << 20, /* memory for one module's row */
	/*
	 * Frame caches and indexes may have this part of the memory of all requests, within these
	 * bounds. An index is of use from a few thousand addresses on.
	 */
	MEMORY_SHARE = 4,
	MEMORY_LEAST = 8 << 20,
	MEMORY_MOST = 256 << 20,
	SPARE_SHARE = 32, /* of the memory of all requests, what is kept for large answers */
};

struct ux_open_module {
	/* acquire-release, so that the last holder frees the module after all reads */
	atomic_uint refs;
	int64_t number; /* number of the module in the index */
	/*
	 * Monotonic second at which the last use was noted. No memory order is needed, since noting
	 * a use twice is harmless.
	 */
	_Atomic int64_t noted;
	size_t n;
	struct ux_open_candidate candidates[UX_MODULE_CANDIDATES_MOST];
	pthread_mutex_t lock;        /* guards the names of the candidates */
	pthread_mutex_t frames_lock; /* guards frames; held only briefly, never while waiting */
	struct ux_frame_cache *frames[UX_FRAME_CACHE_MODES];
	/* bytes of the candidates' indexes that the sum has; a sum, so no memory order is needed */
	atomic_size_t index_bytes;
	struct ux_module_memory *memory; /* that of the cache */
};

/* No memory order is needed: it is a sum, and its limit. */
struct ux_module_memory {
	/* of the frame caches, indexes and lists of names of all modules, approximately */
	atomic_size_t bytes;
	atomic_size_t most; /* above it, those of old modules are evicted */
};

struct ux_module_cache {
	struct ux_store *store;
	struct ux_row_cache *rows;
	pthread_mutex_t lock;               /* guards the fields below */
	struct ux_frame_reply_pool replies; /* has its own lock */
	struct ux_spare_memory spare;       /* the same */
	struct ux_module_memory memory;
	/*
	 * number of evictions so far: a module that was read before an eviction is not added after
	 * it
	 */
	uint64_t generation;
	struct ux_cache modules; /* values: struct ux_open_module *, each with a reference */
};

/* A namespace and an ID as one slice, for comparison. */
struct key {
	char text[64 + UX_INDEX_ID_BYTES + 2];
	size_t size;
};

static struct ux_bytes module_cache_key_bytes(const struct key *k)
{
	return ux_bytes(k->text, k->size);
}

static bool module_cache_key_make(struct key *k, const char *ns, const char *id)
{
	size_t n = strlen(ns) + 1, m = strlen(id);
	if (n + m > sizeof(k->text))
		return false;
	memcpy(k->text, ns, n);
	memcpy(k->text + n, id, m);
	k->size = n + m;
	return true;
}

size_t ux_open_module_count(const struct ux_open_module *m)
{
	return m->n;
}

const struct ux_open_candidate *ux_open_module_candidate(const struct ux_open_module *m, size_t i)
{
	assert(i < m->n);
	return &m->candidates[i];
}

enum ux_code ux_open_module_image_start(const struct ux_open_module *m, uint64_t *ret,
					struct ux_error *err)
{
	for (size_t i = 0; i < m->n; i++)
		if (ux_gsym_image_start(&m->candidates[i].gsym, ret))
			return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND,
			    "its symbols do not say where the file's image begins");
}

bool ux_open_module_file_pc(const struct ux_open_module *m, uint64_t off, uint64_t *ret)
{
	struct ux_gsym_segments segments;
	for (size_t i = 0; i < m->n; i++)
		if (ux_gsym_segments_read(m->candidates[i].gsym.file, &segments) > 0)
			return ux_gsym_segments_pc(&segments, off, ret);
	return false;
}

/* The share of one module's frame cache, and of one index, in the memory of all. */
enum {
	FRAMES_SHARE = 2,
	INDEX_SHARE = 4,
};

static size_t module_memory_share(const struct ux_module_memory *memory, size_t share)
{
	return atomic_load_explicit(&memory->most, memory_order_relaxed) / share;
}

/* Adds to the sum what the indexes have grown by since it was last called. */
static void module_charge_indexes(struct ux_open_module *m)
{
	size_t bytes = 0;
	for (size_t i = 0; i < m->n; i++)
		bytes += ux_gsym_index_bytes(&m->candidates[i].gsym);
	size_t before = atomic_exchange_explicit(&m->index_bytes, bytes, memory_order_relaxed);
	/* a difference below 0 wraps, and so does the sum */
	atomic_fetch_add_explicit(&m->memory->bytes, bytes - before, memory_order_relaxed);
}

static void module_cache_module_ref(struct ux_open_module *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

/* Drops the names of functions, unless a request is using them. Returns their size. */
static size_t module_cache_drop_names(struct ux_open_module *m)
{
	size_t bytes = 0;
	if (pthread_mutex_trylock(&m->lock) != 0)
		return 0;
	for (size_t i = 0; i < m->n; i++) {
		struct ux_gsym_names *names = &m->candidates[i].names;
		bytes += names->n * sizeof(*names->list);
		ux_gsym_names_deinit(names);
	}
	pthread_mutex_unlock(&m->lock);
	atomic_fetch_sub_explicit(&m->memory->bytes, bytes, memory_order_relaxed);
	return bytes;
}

void ux_open_module_unref(struct ux_open_module *m)
{
	if (!m)
		return;
	module_charge_indexes(m);
	if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
		return;
	atomic_fetch_sub_explicit(&m->memory->bytes,
				  atomic_load_explicit(&m->index_bytes, memory_order_relaxed),
				  memory_order_relaxed);
	(void)module_cache_drop_names(m);
	for (size_t i = 0; i < m->n; i++) {
		ux_gsym_index_free(&m->candidates[i].gsym);
		ux_file_unmap(&m->candidates[i].mapping);
	}
	for (size_t i = 0; i < UX_FRAME_CACHE_MODES; i++)
		ux_frame_cache_unref(m->frames[i]);
	pthread_mutex_destroy(&m->frames_lock);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

struct ux_frame_cache *ux_open_module_frames(struct ux_open_module *m, enum ux_demangle_mode mode,
					     struct ux_frame_cache *full)
{
	struct ux_frame_cache *old = NULL, *cache = NULL;
	pthread_mutex_lock(&m->frames_lock);
	if (full && m->frames[mode] == full)
		old = ux_take(&m->frames[mode]);
	if (!m->frames[mode]) {
		m->frames[mode] = ux_frame_cache_create(mode, &m->memory->bytes);
		if (m->frames[mode])
			ux_frame_cache_limit(m->frames[mode],
					     module_memory_share(m->memory, FRAMES_SHARE));
	}
	if (m->frames[mode])
		cache = ux_frame_cache_ref(m->frames[mode]);
	pthread_mutex_unlock(&m->frames_lock);
	ux_frame_cache_unref(old);
	ux_frame_cache_unref(full);
	return cache;
}

/*
 * Drops the names and the frame caches. Returns their size, including that of caches that requests
 * still hold.
 */
static size_t module_cache_drop_frames(struct ux_open_module *m)
{
	size_t bytes = module_cache_drop_names(m);
	for (size_t i = 0; i < UX_FRAME_CACHE_MODES; i++) {
		pthread_mutex_lock(&m->frames_lock);
		struct ux_frame_cache *cache = ux_take(&m->frames[i]);
		pthread_mutex_unlock(&m->frames_lock);
		bytes += cache ? ux_frame_cache_bytes(cache) : 0;
		ux_frame_cache_unref(cache);
	}
	return bytes;
}

/*
 * Replaces the indexes of a module by empty ones, unless a request uses it. The lock of the cache
 * must be held: no request can begin to use it then. Returns their size.
 */
static size_t module_cache_drop_indexes(struct ux_open_module *m)
{
	size_t before = atomic_load_explicit(&m->index_bytes, memory_order_relaxed);
	if (before == 0 || atomic_load_explicit(&m->refs, memory_order_acquire) > 1)
		return 0;
	for (size_t i = 0; i < m->n; i++) {
		struct ux_gsym *g = &m->candidates[i].gsym;
		ux_gsym_index_free(g);
		/* without memory for an index it has none */
		(void)!ux_gsym_index_open(g, module_memory_share(m->memory, INDEX_SHARE), NULL);
	}
	module_charge_indexes(m);
	size_t after = atomic_load_explicit(&m->index_bytes, memory_order_relaxed);
	return before - ux_min(before, after);
}

static enum ux_code module_cache_read_names(struct ux_open_module *m, struct ux_open_candidate *c,
					    uint64_t *budget, struct ux_work *work,
					    struct ux_error *err)
{
	if (c->names.list)
		return UX_OK;
	if (c->gsym.n_functions > *budget)
		return ux_error_set(err, UX_ELIMIT,
				    "functions are named in too many large modules; ask for fewer");
	*budget -= c->gsym.n_functions;
	enum ux_code code = ux_gsym_names_build(&c->names, &c->gsym, work, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK)
		atomic_fetch_add_explicit(&m->memory->bytes, c->names.n * sizeof(*c->names.list),
					  memory_order_relaxed);
	/* If the names are damaged, the function counts as absent. */
	return code == UX_OK || code == UX_EUNAVAILABLE ? code : UX_ENOTFOUND;
}

enum ux_code ux_open_module_find(struct ux_open_module *m, struct ux_bytes name, uint64_t *budget,
				 struct ux_work *work, uint64_t *ret, struct ux_error *err)
{
	enum ux_code code = UX_ENOTFOUND;
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n && code == UX_ENOTFOUND; i++) {
		struct ux_open_candidate *c = &m->candidates[i];
		code = module_cache_read_names(m, c, budget, work, err);
		if (code == UX_OK)
			code = ux_gsym_names_find(&c->names, &c->gsym, name, ret, NULL);
	}
	pthread_mutex_unlock(&m->lock);
	return code;
}

enum ux_code ux_open_module_find_all(struct ux_open_module *m, struct ux_bytes name,
				     uint64_t *budget, struct ux_work *work, uint64_t *starts,
				     size_t max, size_t *ret_n, bool *ret_more,
				     struct ux_error *err)
{
	enum ux_code code = UX_ENOTFOUND;
	*ret_n = 0;
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n && code == UX_ENOTFOUND; i++) {
		struct ux_open_candidate *c = &m->candidates[i];
		code = module_cache_read_names(m, c, budget, work, err);
		if (code != UX_OK)
			continue;
		*ret_n = ux_gsym_names_find_all(&c->names, &c->gsym, name, starts, max, ret_more);
		code = *ret_n > 0 ? UX_OK : UX_ENOTFOUND;
	}
	pthread_mutex_unlock(&m->lock);
	return code;
}

static void module_cache_evicted(void *ctx, void *value)
{
	(void)ctx;
	ux_open_module_unref(*(struct ux_open_module **)value);
}

enum ux_code ux_module_cache_create(struct ux_module_cache **ret, struct ux_store *store,
				    size_t most, struct ux_error *err)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct ux_open_module *),
					   .entries_most = ux_max(most, (size_t)1),
					   .evict = module_cache_evicted};
	struct ux_module_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	c->rows = ux_row_cache_create();
	if (!c->rows || !ux_cache_init(&c->modules, &opts)) {
		ux_row_cache_destroy(c->rows);
		free(c);
		return ux_error_nomem(err);
	}
	c->store = store;
	c->replies.spare = &c->spare;
	ux_spare_memory_init(&c->spare);
	ux_module_cache_limit(c, (uint64_t)MEMORY_MOST * MEMORY_SHARE);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->replies.lock, NULL);
	*ret = c;
	return UX_OK;
}

void ux_module_cache_limit(struct ux_module_cache *c, uint64_t memory)
{
	uint64_t most = ux_max(ux_min(memory / MEMORY_SHARE, (uint64_t)MEMORY_MOST),
			       (uint64_t)MEMORY_LEAST);
	atomic_store_explicit(&c->memory.most, (size_t)most, memory_order_relaxed);
	ux_spare_memory_limit(&c->spare, (size_t)(memory / SPARE_SHARE));
}

size_t ux_module_cache_bytes(const struct ux_module_cache *c)
{
	return atomic_load_explicit(&c->memory.bytes, memory_order_relaxed);
}

void ux_module_cache_destroy(struct ux_module_cache *c)
{
	if (!c)
		return;
	ux_cache_deinit(&c->modules);
	ux_row_cache_destroy(c->rows);
	ux_frame_reply_pool_deinit(&c->replies);
	ux_spare_memory_deinit(&c->spare);
	pthread_mutex_destroy(&c->replies.lock);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ux_row_cache *ux_module_cache_rows(struct ux_module_cache *c)
{
	return c->rows;
}

struct ux_spare_memory *ux_module_cache_spare(struct ux_module_cache *c)
{
	return &c->spare;
}

struct ux_frame_reply_pool *ux_module_cache_replies(struct ux_module_cache *c)
{
	return &c->replies;
}

/*
 * Evicts the frame caches and indexes of the least recently used modules until half of the limit is
 * left, so that this is rare.
 */
static void module_cache_evict_frames(struct ux_module_cache *c)
{
	size_t all = ux_module_cache_bytes(c), gone = 0;
	size_t most = module_memory_share(&c->memory, 2);
	struct ux_open_module **m = ux_cache_next(&c->modules, NULL);
	for (; m && all > gone + most; m = ux_cache_next(&c->modules, m))
		gone += module_cache_drop_frames(*m) + module_cache_drop_indexes(*m);
}

/*
 * Finds the module of a key and takes a reference; NULL if there is none. Also returns the current
 * generation.
 */
static struct ux_open_module *module_cache_get_ref(struct ux_module_cache *c, const struct key *k,
						   uint64_t *ret_generation)
{
	struct ux_open_module *m = NULL;
	pthread_mutex_lock(&c->lock);
	if (ux_module_cache_bytes(c) > module_memory_share(&c->memory, 1))
		module_cache_evict_frames(c);
	struct ux_open_module **at = ux_cache_find(&c->modules, module_cache_key_bytes(k), 0);
	if (at) {
		m = *at;
		module_cache_module_ref(m);
	}
	*ret_generation = c->generation;
	pthread_mutex_unlock(&c->lock);
	return m;
}

/* Failing to add a module is not an error: the next request opens it again. */
static void module_cache_add(struct ux_module_cache *c, const struct key *k,
			     struct ux_open_module *m, uint64_t generation)
{
	pthread_mutex_lock(&c->lock);
	bool fresh = false;
	struct ux_open_module **at =
		c->generation == generation
			? ux_cache_insert(&c->modules, module_cache_key_bytes(k), 0,
					  UX_CACHE_FOREVER, &fresh)
			: NULL;
	if (at && fresh) {
		*at = m;
		module_cache_module_ref(m);
	}
	pthread_mutex_unlock(&c->lock);
}

static bool module_cache_is_ready(const struct ux_candidate *c)
{
	return c->kind == UX_KIND_GSYM && c->state == UX_CANDIDATE_READY;
}

static enum ux_code module_cache_open_candidate(struct ux_module_cache *c,
						const struct ux_candidate *from,
						struct ux_open_candidate *ret, struct ux_error *err)
{
	ret->quality = from->quality;
	UX_TRY(ux_blobs_map(c->store->blobs, &from->blob, from->size, &ret->mapping, err));
	enum ux_code code = ux_gsym_open(&ret->gsym, ret->mapping.bytes, err);
	if (code == UX_OK)
		code = ux_gsym_index_open(&ret->gsym, module_memory_share(&c->memory, INDEX_SHARE),
					  err);
	if (code != UX_OK)
		ux_file_unmap(&ret->mapping);
	return code;
}

/* The GSYM of an ELF candidate was evicted: queues its extraction. */
static bool module_cache_extract_again(struct ux_module_cache *cache, const struct ux_module *row,
				       const char *ns)
{
	struct ux_store *s = cache->store;
	const struct ux_candidate *elf = ux_module_elf(row, 0);
	return elf && elf->quality != UX_QUALITY_NONE &&
	       ux_store_extract(s, ns, elf->number, NULL) == UX_OK;
}

/* Reports why the module has no candidate that can resolve addresses. */
static enum ux_code module_cache_nothing_ready(struct ux_module_cache *cache,
					       const struct ux_module *row, const char *ns,
					       const char *id, struct ux_error *err)
{
	const struct ux_candidate *c = ux_module_in_state(row, UX_CANDIDATE_PENDING);
	if (c || module_cache_extract_again(cache, row, ns))
		return ux_error_set(err, UX_EUNAVAILABLE, "symbols of %.80s are being extracted",
				    id);
	c = ux_module_in_state(row, UX_CANDIDATE_FAILED);
	if (c)
		return ux_error_set(err, UX_ECORRUPT, "%s", c->reason);
	return ux_error_set(err, UX_ENOTFOUND, "%.80s is known, but no symbols of it", id);
}

/* A candidate that cannot be opened is skipped if another one can, but not for want of memory. */
static enum ux_code module_cache_open_module(struct ux_module_cache *c, const char *ns,
					     const char *id, struct ux_open_module **ret,
					     struct ux_error *err)
{
	struct ux_store *s = c->store;
	UX_ARENA(arena, INDEX_ARENA);
	struct ux_module row;
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(s->index->modules.find(s->index, ns, id, &arena, &row, err));
	if (!ux_module_best(&row, UX_KIND_GSYM))
		return module_cache_nothing_ready(c, &row, ns, id, err);
	struct ux_open_module *m = calloc(1, sizeof(*m));
	if (!m)
		return ux_error_nomem(err);
	atomic_init(&m->refs, 1);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->frames_lock, NULL);
	m->memory = &c->memory;
	for (size_t i = 0; i < row.n_candidates && m->n < UX_MODULE_CANDIDATES_MOST; i++) {
		if (!module_cache_is_ready(&row.candidates[i]))
			continue;
		enum ux_code code = module_cache_open_candidate(c, &row.candidates[i],
								&m->candidates[m->n], &why);
		if (code == UX_ENOMEM) {
			ux_open_module_unref(m);
			return ux_error_nomem(err);
		}
		m->n += code == UX_OK;
	}
	if (m->n == 0) {
		ux_open_module_unref(m);
		return ux_error_set(err, UX_ECORRUPT, "no candidate of %.80s can be opened: %.60s",
				    id, why.text);
	}
	m->number = row.number;
	atomic_init(&m->noted, ux_clock_coarse_ms() / 1000);
	ux_store_used(s, &row);
	*ret = m;
	return UX_OK;
}

/* Notes the use of an open module from time to time. */
static void module_cache_note_use(struct ux_module_cache *c, struct ux_open_module *m)
{
	int64_t now = ux_clock_coarse_ms() / 1000;
	if (now - atomic_load_explicit(&m->noted, memory_order_relaxed) < UX_STORE_USE_S)
		return;
	atomic_store_explicit(&m->noted, now, memory_order_relaxed);
	ux_store_used_again(c->store, m->number);
}

enum ux_code ux_module_cache_get(struct ux_module_cache *c, const char *ns, const char *id,
				 struct ux_open_module **ret, struct ux_error *err)
{
	struct key k;
	uint64_t generation = 0;
	if (!module_cache_key_make(&k, ns, id))
		return ux_error_set(err, UX_ENOTFOUND, "no module has that ID");
	struct ux_open_module *m = module_cache_get_ref(c, &k, &generation);
	if (m) {
		module_cache_note_use(c, m);
	} else {
		UX_TRY(module_cache_open_module(c, ns, id, &m, err));
		module_cache_add(c, &k, m, generation);
	}
	*ret = m;
	return UX_OK;
}

struct ux_open_module *ux_module_cache_find_open(struct ux_module_cache *c, const char *ns,
						 const char *id)
{
	struct key k;
	struct ux_open_module *m = NULL;
	if (!module_cache_key_make(&k, ns, id) || pthread_mutex_trylock(&c->lock) != 0)
		return NULL;
	struct ux_open_module **at = ux_cache_find(&c->modules, module_cache_key_bytes(&k), 0);
	if (at) {
		m = *at;
		module_cache_module_ref(m);
	}
	pthread_mutex_unlock(&c->lock);
	if (m)
		module_cache_note_use(c, m);
	return m;
}

void ux_module_cache_evict(struct ux_module_cache *c, const char *ns, const char *const *ids,
			   size_t n)
{
	pthread_mutex_lock(&c->lock);
	c->generation++;
	for (size_t i = 0; i < n; i++) {
		struct key k;
		if (module_cache_key_make(&k, ns, ids[i]))
			ux_cache_remove(&c->modules, module_cache_key_bytes(&k));
	}
	pthread_mutex_unlock(&c->lock);
	ux_row_cache_clear(c->rows);
}

void ux_module_cache_evict_id(struct ux_module_cache *c, const char *ns, const char *id)
{
	UX_ARENA(arena, INDEX_ARENA);
	struct ux_module row;
	struct ux_index *ix = c->store->index;
	if (ix->modules.find(ix, ns, id, &arena, &row, NULL) == UX_OK)
		ux_module_cache_evict(c, ns, (const char *const *)row.ids, row.n_ids);
	else
		ux_module_cache_evict(c, ns, &id, 1);
}
