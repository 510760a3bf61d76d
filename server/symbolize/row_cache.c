/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of module rows and small files for up to one second. */
#include "row_cache.h"

#include "cache.h"
#include "clock.h"

#include <pthread.h>

enum {
	ITEMS_MAX = 512,
};

struct ux_row_cache {
	pthread_mutex_t lock;  /* guards the fields below */
	uint64_t moment;       /* number of clears so far */
	struct ux_cache items; /* values: struct ux_row_cache_item *, each with a reference */
};

void ux_row_cache_item_init(struct ux_row_cache_item *item, struct ux_bytes key,
			    void (*destroy)(struct ux_row_cache_item *item))
{
	assert(destroy);
	atomic_init(&item->refs, 1);
	item->key = key;
	item->destroy = destroy;
}

void ux_row_cache_item_unref(struct ux_row_cache_item *item)
{
	if (item && atomic_fetch_sub_explicit(&item->refs, 1, memory_order_acq_rel) == 1)
		item->destroy(item);
}

static struct ux_row_cache_item *row_cache_item_ref(struct ux_row_cache_item *item)
{
	assert(atomic_load_explicit(&item->refs, memory_order_relaxed) > 0);
	atomic_fetch_add_explicit(&item->refs, 1, memory_order_relaxed);
	return item;
}

static void row_cache_evict(void *ctx, void *value)
{
	(void)ctx;
	ux_row_cache_item_unref(*(struct ux_row_cache_item **)value);
}

struct ux_row_cache *ux_row_cache_create(void)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct ux_row_cache_item *),
					   .entries_max = ITEMS_MAX,
					   .evict = row_cache_evict};
	struct ux_row_cache *r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	if (!ux_cache_init(&r->items, &opts)) {
		free(r);
		return NULL;
	}
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void ux_row_cache_destroy(struct ux_row_cache *r)
{
	if (!r)
		return;
	ux_cache_deinit(&r->items);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

struct ux_row_cache_item *ux_row_cache_get(struct ux_row_cache *r, struct ux_bytes key,
					   uint64_t *ret_moment)
{
	int64_t now = ux_clock_coarse_ms();
	pthread_mutex_lock(&r->lock);
	struct ux_row_cache_item **at = ux_cache_find(&r->items, key, now);
	struct ux_row_cache_item *found = at ? row_cache_item_ref(*at) : NULL;
	*ret_moment = r->moment;
	pthread_mutex_unlock(&r->lock);
	return found;
}

/* Failing to add an item is not an error: the next request reads it again. */
void ux_row_cache_put(struct ux_row_cache *r, struct ux_row_cache_item *item, uint64_t moment)
{
	struct ux_row_cache_item *old = NULL;
	int64_t now = ux_clock_coarse_ms();
	pthread_mutex_lock(&r->lock);
	assert(moment <= r->moment);
	struct ux_row_cache_item **at = moment == r->moment
						? ux_cache_insert(&r->items, item->key, now,
								  now + UX_ROW_CACHE_LIFE_MS, NULL)
						: NULL;
	if (at) {
		old = *at;
		*at = row_cache_item_ref(item);
	}
	pthread_mutex_unlock(&r->lock);
	ux_row_cache_item_unref(old);
}

void ux_row_cache_clear(struct ux_row_cache *r)
{
	pthread_mutex_lock(&r->lock);
	r->moment++;
	ux_cache_clear(&r->items);
	pthread_mutex_unlock(&r->lock);
}

enum {
	ROW_ARENA = 16 << 20, /* memory for one module's row */
	KEY_MAX = 64 + UX_INDEX_ID_BYTES + 3,
};

/* First byte of a key: the type of the item. */
static const char module_mark = 'm', file_mark = 'f';

static void row_cache_destroy_module(struct ux_row_cache_item *item)
{
	struct ux_cached_row *m = ux_container_of(item, struct ux_cached_row, item);
	ux_arena_deinit(&m->arena);
	free(m);
}

static void row_cache_destroy_file(struct ux_row_cache_item *item)
{
	struct ux_small_file *f = ux_container_of(item, struct ux_small_file, item);
	ux_file_unmap(&f->mapping);
	free(f);
}

static void row_cache_drop_module(struct ux_cached_row **m)
{
	if (*m)
		ux_row_cache_item_unref(&(*m)->item);
}

static enum ux_code row_cache_read_module(struct ux_store *s, const char *ns, const char *id,
					  struct ux_bytes key, struct ux_cached_row **ret,
					  struct ux_error *err)
{
	struct ux_index *ix = s->index;
	ux_cleanup(row_cache_drop_module) struct ux_cached_row *m = calloc(1, sizeof(*m));
	if (!m)
		return ux_error_nomem(err);
	ux_row_cache_item_init(&m->item, UX_BYTES_NONE, row_cache_destroy_module);
	ux_arena_init(&m->arena, ROW_ARENA);
	const char *kept = ux_arena_strndup(&m->arena, key.data, key.size);
	if (!kept)
		return ux_arena_fail(&m->arena, err);
	m->item.key = ux_bytes(kept, key.size);
	UX_TRY(ix->modules.look_up(ix, ns, id, &m->arena, &m->row, err));
	*ret = ux_take(&m);
	return UX_OK;
}

/*
 * A module that retention has marked is not cached, since each use of it must be written to the
 * index.
 */
enum ux_code ux_row_cache_module(struct ux_row_cache *r, struct ux_store *s, const char *ns,
				 const char *id, struct ux_cached_row **ret, struct ux_error *err)
{
	char key[KEY_MAX];
	uint64_t moment = 0;
	int n = snprintf(key, sizeof(key), "%c%s/%s", module_mark, ns, id);
	if (n < 0 || (size_t)n >= sizeof(key))
		return ux_error_set(err, UX_ENOTFOUND, "no module has that ID");
	struct ux_row_cache_item *item = ux_row_cache_get(r, ux_bytes(key, (size_t)n), &moment);
	if (item) {
		*ret = ux_container_of(item, struct ux_cached_row, item);
		return UX_OK;
	}
	UX_TRY(row_cache_read_module(s, ns, id, ux_bytes(key, (size_t)n), ret, err));
	ux_store_used(s, &(*ret)->row);
	if ((*ret)->row.marked == 0)
		ux_row_cache_put(r, &(*ret)->item, moment);
	return UX_OK;
}

enum ux_code ux_row_cache_file(struct ux_row_cache *r, struct ux_store *s,
			       const struct ux_blob_hash *hash, uint64_t size,
			       struct ux_small_file **ret, struct ux_error *err)
{
	assert(size <= UX_SMALL_FILE_MAX);
	uint64_t moment = 0;
	uint8_t key[1 + UX_BLOB_HASH_SIZE] = {(uint8_t)file_mark};
	memcpy(key + 1, hash->bytes, sizeof(hash->bytes));
	struct ux_row_cache_item *item = ux_row_cache_get(r, ux_bytes(key, sizeof(key)), &moment);
	if (item) {
		*ret = ux_container_of(item, struct ux_small_file, item);
		return UX_OK;
	}
	assert(size <= UX_SMALL_FILE_MAX);
	struct ux_small_file *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	memcpy(f->key, key, sizeof(key));
	ux_row_cache_item_init(&f->item, ux_bytes(f->key, sizeof(f->key)), row_cache_destroy_file);
	enum ux_code code = ux_blobs_map(s->blobs, hash, size, &f->mapping, err);
	if (code != UX_OK) {
		ux_row_cache_item_unref(&f->item);
		return code;
	}
	ux_row_cache_put(r, &f->item, moment);
	*ret = f;
	return UX_OK;
}
