/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of open modules. */
#include "module_cache.h"

#include "cache.h"
#include "clock.h"
#include "event_log.h"
#include "frame_filler.h"

#include <stdatomic.h>

enum {
	INDEX_ARENA = 16 << 20, /* bytes of memory for one module's row */
	/*
	 * Frame caches and indexes may take 1/4 of the memory of all requests, within these bounds
	 * in bytes. An index pays off from a few thousand addresses on.
	 */
	MEMORY_SHARE = 4,
	MEMORY_MIN = 8 << 20,
	MEMORY_MAX = 1 << 30,
	SPARE_SHARE = 32, /* 1/32 of the memory of all requests is kept for large answers */
};

struct ux_module_cache {
	struct ux_store *store;
	struct ux_row_cache *rows;
	pthread_mutex_t lock;               /* guards the fields below */
	struct ux_frame_reply_pool replies; /* has its own lock */
	struct ux_spare_memory spare;       /* has its own lock */
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

static void module_cache_evicted(void *ctx, void *value)
{
	(void)ctx;
	ux_open_module_unref(*(struct ux_open_module **)value);
}

enum ux_code ux_module_cache_create(struct ux_module_cache **ret, struct ux_store *store,
				    size_t max, struct ux_error *err)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct ux_open_module *),
					   .entries_max = ux_max(max, (size_t)1),
					   .evict = module_cache_evicted};
	struct ux_module_cache *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	c->rows = ux_row_cache_create();
	if (!c->rows || !ux_cache_init(&c->modules, &opts) ||
	    ux_frame_filler_create(&c->memory.filler, err) != UX_OK) {
		ux_cache_deinit(&c->modules);
		ux_row_cache_destroy(c->rows);
		free(c);
		return ux_error_nomem(err);
	}
	c->store = store;
	c->replies.spare = &c->spare;
	ux_spare_memory_init(&c->spare);
	ux_module_cache_limit(c, (uint64_t)MEMORY_MAX * MEMORY_SHARE);
	pthread_mutex_init(&c->lock, NULL);
	pthread_mutex_init(&c->replies.lock, NULL);
	*ret = c;
	return UX_OK;
}

void ux_module_cache_limit(struct ux_module_cache *c, uint64_t memory)
{
	uint64_t max =
		ux_max(ux_min(memory / MEMORY_SHARE, (uint64_t)MEMORY_MAX), (uint64_t)MEMORY_MIN);
	atomic_store_explicit(&c->memory.max, (size_t)max, memory_order_relaxed);
	ux_spare_memory_limit(&c->spare, (size_t)(memory / SPARE_SHARE));
}

size_t ux_module_cache_bytes(const struct ux_module_cache *c)
{
	return atomic_load_explicit(&c->memory.bytes, memory_order_relaxed);
}

struct ux_frame_filler *ux_module_cache_filler(struct ux_module_cache *c)
{
	return c->memory.filler;
}

void ux_module_cache_destroy(struct ux_module_cache *c)
{
	if (!c)
		return;
	ux_frame_filler_destroy(c->memory.filler);
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
 * used: evicting that much makes evictions rare.
 */
static void module_cache_evict_frames(struct ux_module_cache *c)
{
	size_t all = ux_module_cache_bytes(c), gone = 0;
	size_t max = ux_module_memory_share(&c->memory, 2);
	struct ux_open_module **m = ux_cache_next(&c->modules, NULL);
	for (; m && all > gone + max; m = ux_cache_next(&c->modules, m))
		gone += ux_open_module_drop_frames(*m) + ux_open_module_drop_indexes(*m);
}

/*
 * Finds the module of a key and takes a reference; NULL: not in the cache. Also returns the current
 * generation.
 */
static struct ux_open_module *module_cache_get_ref(struct ux_module_cache *c, const struct key *k,
						   uint64_t *ret_generation)
{
	struct ux_open_module *m = NULL;
	pthread_mutex_lock(&c->lock);
	if (ux_module_cache_bytes(c) > ux_module_memory_share(&c->memory, 1))
		module_cache_evict_frames(c);
	struct ux_open_module **at = ux_cache_find(&c->modules, module_cache_key_bytes(k), 0);
	if (at) {
		m = *at;
		ux_open_module_ref(m);
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
		ux_open_module_ref(m);
	}
	pthread_mutex_unlock(&c->lock);
}

/* Queues the extraction of an ELF candidate again, because its GSYM was evicted. */
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
	UX_TRY(ux_module_check_rows(row, err));
	const struct ux_candidate *c = ux_module_in_state(row, UX_CANDIDATE_PENDING);
	if (c || module_cache_extract_again(cache, row, ns))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "symbols of %.80s are being extracted; retry later", id);
	c = ux_module_in_state(row, UX_CANDIDATE_FAILED);
	if (c)
		return ux_error_set(err, UX_ECORRUPT, "%s", c->reason);
	return ux_error_set(err, UX_ENOTFOUND, "module %.80s has no symbols", id);
}

/* Logs a damaged row, since the next candidate may answer as if nothing had happened. */
static void module_cache_log_damage(const struct ux_module *row, const char *id)
{
	struct ux_error why = UX_ERROR_INIT;
	char words[300], shown[300];
	if (ux_module_check_rows(row, &why) == UX_OK)
		return;
	ux_log_line("error", "index", "id=%s error=%s",
		    ux_log_quote(ux_bytes_cstr(id), shown, sizeof(shown)),
		    ux_log_quote(ux_bytes_cstr(why.text), words, sizeof(words)));
}

static enum ux_code module_cache_open_module(struct ux_module_cache *c, const char *ns,
					     const char *id, struct ux_open_module **ret,
					     struct ux_error *err)
{
	struct ux_store *s = c->store;
	UX_ARENA(arena, INDEX_ARENA);
	struct ux_module row;
	UX_TRY(s->index->modules.look_up(s->index, ns, id, &arena, &row, err));
	module_cache_log_damage(&row, id);
	if (!ux_module_best(&row, UX_KIND_GSYM))
		return module_cache_nothing_ready(c, &row, ns, id, err);
	UX_TRY(ux_open_module_open(ret, s->blobs, &c->memory, &row, id, err));
	ux_store_used(s, &row);
	return UX_OK;
}

/* Notes the use of an open module from time to time. */
static void module_cache_note_use(struct ux_module_cache *c, struct ux_open_module *m)
{
	if (ux_open_module_note_use(m))
		ux_store_used_again(c->store, ux_open_module_number(m));
}

static void module_cache_replace(struct ux_module_cache *c, const struct key *k,
				 struct ux_open_module *m)
{
	pthread_mutex_lock(&c->lock);
	struct ux_open_module **at = ux_cache_find(&c->modules, module_cache_key_bytes(k), 0);
	if (at && *at == m)
		ux_cache_remove(&c->modules, module_cache_key_bytes(k));
	pthread_mutex_unlock(&c->lock);
	ux_open_module_unref(m);
}

/* --- evicting parts --------------------------------------------------------------------------- */

/* Returns the least recently used module that has parts; NULL: none has. */
static struct ux_open_module **module_cache_oldest_in_parts(struct ux_module_cache *c)
{
	struct ux_open_module **m = ux_cache_next(&c->modules, NULL);
	while (m && !ux_open_module_had_parts(*m))
		m = ux_cache_next(&c->modules, m);
	return m;
}

/*
 * When parts of files have used nearly all of their disk space, drops the parts of the least
 * recently used modules until half of it is free, so that this is rare. Otherwise new files would
 * be fetched whole.
 */
static void module_cache_drop_parts(struct ux_module_cache *c)
{
	struct ux_blobs *b = c->store->blobs;
	struct ux_blob_copies copies;
	if (!b->copies)
		return;
	b->copies(b, &copies);
	if (copies.view_bytes_max == 0 || copies.view_bytes <= copies.view_bytes_max / 4 * 3)
		return;
	pthread_mutex_lock(&c->lock);
	uint64_t bytes = copies.view_bytes;
	struct ux_open_module **m = module_cache_oldest_in_parts(c);
	while (m && bytes > copies.view_bytes_max / 2) {
		bytes -= ux_min(bytes, ux_open_module_parts_bytes(*m));
		ux_cache_remove(&c->modules, ux_cache_key(&c->modules, m));
		m = module_cache_oldest_in_parts(c);
	}
	pthread_mutex_unlock(&c->lock);
}

enum ux_code ux_module_cache_get(struct ux_module_cache *c, const char *ns, const char *id,
				 struct ux_open_module **ret, struct ux_error *err)
{
	struct key k;
	uint64_t generation = 0;
	if (!module_cache_key_make(&k, ns, id))
		return ux_error_set(err, UX_ENOTFOUND, "no module has that ID");
	struct ux_open_module *m = module_cache_get_ref(c, &k, &generation);
	if (m && ux_open_module_is_double(m)) {
		module_cache_replace(c, &k, m);
		m = NULL;
	}
	if (m) {
		module_cache_note_use(c, m);
	} else {
		module_cache_drop_parts(c);
		UX_TRY(module_cache_open_module(c, ns, id, &m, err));
		if (!ux_open_module_is_partial(m))
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
		ux_open_module_ref(m);
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

static bool module_cache_is_among(const int64_t *numbers, size_t n, int64_t number)
{
	if (!numbers)
		return true;
	for (size_t i = 0; i < n; i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* Returns one of the open modules with these numbers; NULL: none is open. */
static struct ux_open_module **module_cache_find_numbered(struct ux_module_cache *c,
							  const int64_t *numbers, size_t n)
{
	struct ux_open_module **m = ux_cache_next(&c->modules, NULL);
	while (m && !module_cache_is_among(numbers, n, ux_open_module_number(*m)))
		m = ux_cache_next(&c->modules, m);
	return m;
}

/* A module is in the cache once for each of its IDs that was used. */
void ux_module_cache_evict_numbers(struct ux_module_cache *c, const int64_t *numbers, size_t n)
{
	pthread_mutex_lock(&c->lock);
	c->generation++;
	struct ux_open_module **m = module_cache_find_numbered(c, numbers, n);
	while (m) {
		ux_cache_remove(&c->modules, ux_cache_key(&c->modules, m));
		m = module_cache_find_numbered(c, numbers, n);
	}
	pthread_mutex_unlock(&c->lock);
	ux_row_cache_clear(c->rows);
}
