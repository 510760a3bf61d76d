/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of blobs on this node. The folder is authoritative; memory only records which were used.
 */
#include "blob_cache.h"

#include "vec.h"

#include <unistd.h>

enum {
	ENTRIES_MAX = 1 << 24, /* in effect no limit: only the bytes are limited */
	BLOCK_BYTES = 4096,    /* file systems give files whole blocks */
};

static struct ux_bytes blob_cache_key(const struct ux_blob_hash *hash)
{
	return ux_bytes(hash->bytes, sizeof(hash->bytes));
}

/* Evicts a copy. A file in use only loses its name. */
static void blob_cache_evict(void *ctx, void *value)
{
	struct ux_blob_cache *c = ctx;
	c->evictions++;
	(void)!c->files->remove(c->files, value, NULL);
}

/* Subtracts *besides from the limit. Called with the lock held. */
static void blob_cache_set_limit(struct ux_blob_cache *c)
{
	uint64_t besides = atomic_load_explicit(c->besides, memory_order_relaxed);
	if (c->bytes_max > 0)
		c->entries.opts.bytes_max =
			(size_t)(c->bytes_max - ux_min(besides, c->bytes_max - 1));
}

/* Adds an entry. Called with the lock held. */
static bool blob_cache_add(struct ux_blob_cache *c, const struct ux_blob_hash *hash, uint64_t size)
{
	struct ux_blob_hash *entry =
		ux_cache_insert(&c->entries, blob_cache_key(hash), 0, UX_CACHE_FOREVER, NULL);
	if (!entry)
		return false;
	*entry = *hash;
	blob_cache_set_limit(c);
	ux_cache_charge(&c->entries, entry,
			(size_t)((size + BLOCK_BYTES - 1) / BLOCK_BYTES * BLOCK_BYTES));
	return true;
}

/* --- copies of an earlier process ------------------------------------------------------------- */

struct blob_copy {
	struct ux_blob_hash hash;
	uint64_t size;
	int64_t age_s;
};

UX_VEC(blob_copies, struct blob_copy);

struct blob_cache_walk {
	struct ux_blob_cache *cache;
	struct blob_copies found;
};

static enum ux_code blob_cache_found(void *ctx, const char *name, int64_t age_s,
				     struct ux_error *err)
{
	struct blob_cache_walk *w = ctx;
	struct blob_copy copy = {.age_s = age_s};
	int fd = -1;
	if (!ux_blob_hash_parse(ux_bytes_cstr(name), &copy.hash) ||
	    w->cache->files->open(w->cache->files, &copy.hash, &fd, &copy.size, NULL) != UX_OK)
		return UX_OK;
	close(fd);
	return blob_copies_append(&w->found, copy) ? UX_OK : ux_error_nomem(err);
}

static int blob_copy_older_first(const void *a, const void *b)
{
	const struct blob_copy *x = a, *y = b;
	return (x->age_s < y->age_s) - (x->age_s > y->age_s);
}

static enum ux_code blob_cache_load(struct ux_blob_cache *c, struct ux_error *err)
{
	struct blob_cache_walk w = {.cache = c};
	enum ux_code code = c->files->each_blob(c->files, blob_cache_found, &w, err);
	if (code == UX_OK && w.found.size > 0)
		qsort(w.found.data, w.found.size, sizeof(*w.found.data), blob_copy_older_first);
	for (size_t i = 0; i < w.found.size && code == UX_OK; i++)
		if (!blob_cache_add(c, &w.found.data[i].hash, w.found.data[i].size))
			code = ux_error_nomem(err);
	blob_copies_deinit(&w.found);
	return code;
}

enum ux_code ux_blob_cache_open(struct ux_blob_cache *c, const char *dir, uint64_t bytes_max,
				const _Atomic uint64_t *besides, struct ux_error *err)
{
	*c = (struct ux_blob_cache){.bytes_max = bytes_max, .besides = besides};
	const struct ux_cache_opts opts = {.value_size = sizeof(struct ux_blob_hash),
					   .entries_max = ENTRIES_MAX,
					   .bytes_max = (size_t)bytes_max,
					   .evict = blob_cache_evict,
					   .ctx = c};
	UX_TRY(ux_blobs_fs_open_cache(&c->files, dir, err));
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	enum ux_code code = ux_cache_init(&c->entries, &opts) ? UX_OK : ux_error_nomem(err);
	if (code == UX_OK)
		code = blob_cache_load(c, err);
	if (code != UX_OK)
		ux_blob_cache_close(c);
	return code;
}

void ux_blob_cache_close(struct ux_blob_cache *c)
{
	if (!c->files)
		return;
	c->entries.opts.evict = NULL; /* the files stay for the next process */
	ux_cache_deinit(&c->entries);
	pthread_cond_destroy(&c->changed);
	pthread_mutex_destroy(&c->lock);
	c->files->close(c->files);
	*c = (struct ux_blob_cache){0};
}

/* --- use -------------------------------------------------------------------------------------- */

enum ux_code ux_blob_cache_find(struct ux_blob_cache *c, const struct ux_blob_hash *hash,
				int *ret_fd, uint64_t *ret_size, struct ux_error *err)
{
	pthread_mutex_lock(&c->lock);
	bool known = ux_cache_find(&c->entries, blob_cache_key(hash), 0) != NULL;
	enum ux_code code = known ? c->files->open(c->files, hash, ret_fd, ret_size, err)
				  : ux_error_set(err, UX_ENOTFOUND, "no copy of the blob exists");
	pthread_mutex_unlock(&c->lock);
	return code;
}

static bool blob_cache_is_fetched(const struct ux_blob_cache *c, const struct ux_blob_hash *hash)
{
	for (const struct ux_blob_fetch *f = c->fetches; f; f = f->next)
		if (memcmp(&f->hash, hash, sizeof(*hash)) == 0)
			return true;
	return false;
}

bool ux_blob_cache_fetch(struct ux_blob_cache *c, struct ux_blob_fetch *fetch)
{
	pthread_mutex_lock(&c->lock);
	bool other = false;
	while (blob_cache_is_fetched(c, &fetch->hash)) {
		other = true;
		pthread_cond_wait(&c->changed, &c->lock);
	}
	if (!other) {
		fetch->next = c->fetches;
		c->fetches = fetch;
	}
	pthread_mutex_unlock(&c->lock);
	return !other;
}

void ux_blob_cache_fetched(struct ux_blob_cache *c, struct ux_blob_fetch *fetch)
{
	pthread_mutex_lock(&c->lock);
	assert(c->fetches);
	struct ux_blob_fetch **at = &c->fetches;
	while (*at != fetch)
		at = &(*at)->next;
	*at = fetch->next;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

enum ux_code ux_blob_cache_put(struct ux_blob_cache *c, struct ux_blob_part *part,
			       const struct ux_blob_hash *hash, uint64_t size, struct ux_error *err)
{
	pthread_mutex_lock(&c->lock);
	enum ux_code code = c->files->part_commit(part, hash, err);
	if (code == UX_OK && !blob_cache_add(c, hash, size)) {
		(void)!c->files->remove(c->files, hash, NULL);
		code = ux_error_nomem(err);
	}
	pthread_mutex_unlock(&c->lock);
	return code;
}

void ux_blob_cache_forget(struct ux_blob_cache *c, const struct ux_blob_hash *hash)
{
	pthread_mutex_lock(&c->lock);
	if (ux_cache_remove(&c->entries, blob_cache_key(hash)))
		c->evictions--; /* it was not evicted to make room */
	pthread_mutex_unlock(&c->lock);
}

void ux_blob_cache_note(struct ux_blob_cache *c, bool hit)
{
	pthread_mutex_lock(&c->lock);
	c->hits += hit;
	c->misses += !hit;
	pthread_mutex_unlock(&c->lock);
}

void ux_blob_cache_counts(struct ux_blob_cache *c, struct ux_blob_copies *ret)
{
	pthread_mutex_lock(&c->lock);
	ret->files = c->entries.n;
	ret->bytes = c->entries.bytes;
	ret->bytes_max = c->bytes_max;
	ret->hits = c->hits;
	ret->misses = c->misses;
	ret->evictions = c->evictions;
	pthread_mutex_unlock(&c->lock);
}

/* Removes copies. Called with the lock held. */
static void blob_cache_shrink(struct ux_blob_cache *c, uint64_t bytes)
{
	while (c->entries.bytes > bytes) {
		const struct ux_blob_hash *oldest = ux_cache_next(&c->entries, NULL);
		assert(oldest);
		struct ux_blob_hash hash = *oldest;
		(void)ux_cache_remove(&c->entries, blob_cache_key(&hash));
	}
}

void ux_blob_cache_shrink(struct ux_blob_cache *c, uint64_t bytes)
{
	pthread_mutex_lock(&c->lock);
	blob_cache_shrink(c, bytes);
	pthread_mutex_unlock(&c->lock);
}

void ux_blob_cache_make_room(struct ux_blob_cache *c)
{
	pthread_mutex_lock(&c->lock);
	blob_cache_set_limit(c);
	if (c->bytes_max > 0)
		blob_cache_shrink(c, c->entries.opts.bytes_max);
	pthread_mutex_unlock(&c->lock);
}

uint64_t ux_blob_cache_bytes(struct ux_blob_cache *c)
{
	pthread_mutex_lock(&c->lock);
	uint64_t bytes = c->entries.bytes;
	pthread_mutex_unlock(&c->lock);
	return bytes;
}
