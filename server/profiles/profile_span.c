/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the profiles of a time range. */
#include "profile_span.h"

#include "cache.h"
#include "clock.h"
#include "profile_keeper.h"
#include "profile_merge.h"
#include "profile_naming.h"
#include "request_work.h"
#include "stored_profile.h"

#include <pthread.h>

enum {
	NAMES_HOLD_MS = 30000, /* ms for which a sum with unnamed locations is cached */
};

struct ux_span_cache {
	pthread_mutex_t lock;  /* guards the cache */
	struct ux_cache cache; /* values are struct span_slot; keys are hashes of the sum's parts */
};

struct span_slot {
	struct ux_profile_span *span; /* a reference */
};

/* --- references ------------------------------------------------------------------------------- */

void ux_profile_span_unref(struct ux_profile_span *s)
{
	/* Acquire-release: all reads by other threads happen before the memory is freed here. */
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	ux_profile_deinit(&s->profile);
	free(s);
}

static enum ux_code span_create(struct ux_profile_span **ret, struct ux_error *err)
{
	struct ux_profile_span *s = calloc(1, sizeof(*s));
	if (!s)
		return ux_error_nomem(err);
	atomic_init(&s->refs, 1);
	*ret = s;
	UX_TRY(ux_profile_init(&s->profile, err));
	/* including the memory of the merger */
	s->profile.max = (uint64_t)2 * UX_PROFILE_MEMORY_MAX;
	return UX_OK;
}

/* --- the cache -------------------------------------------------------------------------------- */

static void span_evict(void *ctx, void *value)
{
	struct span_slot *slot = value;
	(void)ctx;
	ux_profile_span_unref(slot->span);
}

enum ux_code ux_span_cache_create(struct ux_span_cache **ret, struct ux_error *err)
{
	const struct ux_cache_opts opts = {
		.value_size = sizeof(struct span_slot),
		.entries_max = UX_SPAN_CACHE_ENTRIES_MAX,
		.bytes_max = UX_SPAN_CACHE_MAX,
		.evict = span_evict,
	};
	struct ux_span_cache *c = calloc(1, sizeof(*c));
	if (!c || !ux_cache_init(&c->cache, &opts)) {
		free(c);
		return ux_error_nomem(err);
	}
	pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return UX_OK;
}

void ux_span_cache_destroy(struct ux_span_cache *c)
{
	if (!c)
		return;
	ux_cache_deinit(&c->cache);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

static struct ux_profile_span *span_cache_find(struct ux_span_cache *c,
					       const struct ux_blob_hash *key)
{
	struct ux_profile_span *span = NULL;
	pthread_mutex_lock(&c->lock);
	struct span_slot *slot =
		ux_cache_find(&c->cache, ux_bytes(key, sizeof(*key)), ux_clock_ms());
	if (slot) {
		span = slot->span;
		atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&c->lock);
	return span;
}

static bool span_is_named(const struct ux_profile *p)
{
	for (size_t i = 1; i < p->locations.size; i++)
		if (p->locations.data[i].n == 0)
			return false;
	return true;
}

/* Caches a sum, unless it would take most of the cache, or lacks something. */
static void span_cache_put(struct ux_span_cache *c, const struct ux_blob_hash *key,
			   struct ux_profile_span *span)
{
	bool fresh = false;
	if (span->profile.charged > UX_SPAN_CACHE_MAX / 2 || span->n_lost > 0)
		return;
	int64_t expires =
		span_is_named(&span->profile) ? UX_CACHE_FOREVER : ux_clock_ms() + NAMES_HOLD_MS;
	pthread_mutex_lock(&c->lock);
	struct span_slot *slot = ux_cache_insert(&c->cache, ux_bytes(key, sizeof(*key)),
						 ux_clock_ms(), expires, &fresh);
	if (slot && fresh) { /* otherwise another thread added it first */
		slot->span = span;
		atomic_fetch_add_explicit(&span->refs, 1, memory_order_relaxed);
		ux_cache_charge(&c->cache, slot, (size_t)span->profile.charged);
	}
	pthread_mutex_unlock(&c->lock);
}

/* --- adding up -------------------------------------------------------------------------------- */

enum ux_code ux_kept_profile_read(struct ux_store *s, const struct ux_kept_profile *row,
				  struct ux_profile *p, size_t *ret_size, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping blob = {0};
	UX_TRY(ux_kept_profile_check(row, err));
	UX_TRY(ux_blobs_map(s->blobs, &row->blob, row->size, &blob, err));
	if (row->off > blob.bytes.size || row->length > blob.bytes.size - row->off)
		return ux_error_set(err, UX_ECORRUPT,
				    "profile %" PRId64 " has bytes %" PRIu64 " to %" PRIu64
				    " of a blob of %zu bytes",
				    row->number, row->off, row->off + row->length, blob.bytes.size);
	return ux_stored_profile_read(ux_bytes(blob.bytes.data + row->off, (size_t)row->length), p,
				      ret_size, err);
}

/* The state of one sum. */
struct span_sum {
	struct ux_request *req;
	struct ux_work work;
	struct ux_profile_span *span;
	struct ux_profile_merger merger;
	size_t bytes;
	struct ux_error why; /* why the first lost profile cannot be read */
};

static void span_sum_deinit(struct span_sum *s)
{
	ux_profile_merger_deinit(&s->merger);
	ux_profile_span_unref(s->span);
}

/* Adds a profile. *ret_full: the limits are reached, and the profile is left out. */
static enum ux_code span_add(struct span_sum *s, const struct ux_kept_profile *row, bool *ret_full)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p = {0};
	struct ux_request *req = s->req;
	struct ux_profile *sum = &s->span->profile;
	struct ux_error why = UX_ERROR_INIT;
	size_t size = 0;
	UX_TRY(ux_request_check(req));
	UX_TRY(ux_profile_init(&p, &req->err));
	p.max = UX_PROFILE_MEMORY_MAX;
	enum ux_code code = ux_kept_profile_read(ux_server_of(req)->store, row, &p, &size, &why);
	if (code == UX_EIO || code == UX_ENOTFOUND || code == UX_ECORRUPT) {
		s->span->n_lost++; /* it may just have been removed */
		if (s->why.code == UX_OK)
			(void)!ux_error_set(&s->why, UX_EIO, "profile %" PRId64 ": %.120s",
					    row->number, why.text);
		return UX_OK;
	}
	if (code != UX_OK)
		return ux_error_set(&req->err, code, "%s", why.text);
	s->bytes += size;
	/* The sum is at most as large as its parts together. */
	*ret_full = s->span->n > 0 && (s->bytes > UX_SPAN_BYTES_MAX ||
				       sum->charged + p.charged > UX_PROFILE_MEMORY_MAX);
	if (*ret_full)
		return UX_OK;
	UX_TRY(ux_request_work_charge(&s->work, size, &req->err));
	UX_TRY(ux_request_hold(req, (size_t)(sum->charged + 2 * p.charged)));
	UX_TRY(ux_profile_merge(&s->merger, &p, &req->err));
	s->span->started = s->span->n == 0 ? row->started : ux_min(s->span->started, row->started);
	s->span->ended = ux_max(s->span->ended, row->ended);
	s->span->n++;
	return UX_OK;
}

static enum ux_code span_add_all(struct span_sum *s, const struct ux_kept_profiles *rows,
				 const char *ns)
{
	bool full = false;
	for (size_t i = 0; i < rows->n && !full; i++)
		UX_TRY(span_add(s, &rows->items[i], &full));
	s->span->more = full || rows->more;
	/* an empty sum would look like a time without samples */
	if (s->span->n == 0 && s->span->n_lost > 0)
		return ux_error_set(&s->req->err, UX_EIO, "%s", s->why.text);
	UX_TRY(ux_profile_bound(&s->span->profile, &s->req->err));
	return ux_profile_name_all(ux_server_of(s->req), ns, &s->span->profile, &s->work,
				   &s->req->err);
}

/* Returns a hash of the sum's parts, so that sums of different profiles differ. */
static struct ux_blob_hash span_key(const char *ns, const struct ux_kept_profiles *rows)
{
	struct ux_blob_hash key = ux_blob_hash_of(ux_bytes_cstr(ns));
	for (size_t i = 0; i < rows->n; i++) {
		uint8_t both[sizeof(key) + sizeof(int64_t)];
		memcpy(both, &key, sizeof(key));
		memcpy(both + sizeof(key), &rows->items[i].number, sizeof(int64_t));
		key = ux_blob_hash_of(ux_bytes(both, sizeof(both)));
	}
	return key;
}

static enum ux_code span_rows(struct ux_request *req, const struct ux_profile_filter *filter,
			      int64_t number, struct ux_kept_profiles *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_profile_filter all = *filter;
	if (number == 0) {
		all.limit = UX_SPAN_PROFILES_MAX;
		return ix->profiles.span(ix, &all, &req->arena, ret, &req->err);
	}
	*ret = (struct ux_kept_profiles){.items = ux_arena_new(&req->arena, struct ux_kept_profile),
					 .n = 1};
	if (!ret->items)
		return ux_arena_fail(&req->arena, &req->err);
	return ix->profiles.find(ix, filter->ns, number, &req->arena, ret->items, &req->err);
}

enum ux_code ux_profile_span_get(struct ux_request *req, const struct ux_profile_filter *filter,
				 int64_t number, struct ux_profile_span **ret)
{
	struct ux_span_cache *cache = ux_server_of(req)->profiles->spans;
	struct ux_kept_profiles rows;
	UX_TRY(span_rows(req, filter, number, &rows));
	const struct ux_blob_hash key = span_key(filter->ns, &rows);
	*ret = span_cache_find(cache, &key);
	if (*ret)
		return UX_OK;
	ux_cleanup(span_sum_deinit) struct span_sum s = {
		.req = req, .work = ux_request_work(req), .why = UX_ERROR_INIT};
	UX_TRY(span_create(&s.span, &req->err));
	UX_TRY(ux_profile_merger_init(&s.merger, &s.span->profile, &req->err));
	UX_TRY(span_add_all(&s, &rows, filter->ns));
	span_cache_put(cache, &key, s.span);
	*ret = ux_take(&s.span);
	return UX_OK;
}
