/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs that rows name and the bucket lacks: requests note them as they miss them, and a comparison
 * with the list of the bucket finds the others. A folder is not treated so, because a disk that is
 * not mounted lacks every file; a bucket says "NoSuchKey", which is not "NoSuchBucket".
 */
#include "store.h"

enum {
	PAGE = 1000, /* rows of blobs read at a time */
	PAGE_BUDGET = 4 << 20,
};

static void lost_note(void *ctx, const struct ux_blob_hash *hash)
{
	struct ux_lost_blobs *l = ctx;
	pthread_mutex_lock(&l->lock);
	size_t i = 0;
	while (i < l->n && memcmp(&l->hashes[i], hash, sizeof(*hash)) != 0)
		i++;
	if (i == l->n && l->n < UX_LOST_NOTED) /* the comparison finds further ones */
		l->hashes[l->n++] = *hash;
	pthread_mutex_unlock(&l->lock);
}

void ux_store_watch_lost(struct ux_store *s)
{
	if (!s->blobs->confirm)
		return;
	s->blobs->missed_ctx = &s->lost;
	s->blobs->missed = lost_note;
}

static enum ux_code lost_handle(struct ux_store *s, const struct ux_blob_hash *hash,
				ux_store_lost_fn *fn, void *ctx, struct ux_error *err)
{
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	bool lost = false;
	UX_TRY(ux_store_fail_lost(s, hash, &lost, err));
	if (!lost)
		return UX_OK;
	atomic_fetch_add_explicit(&s->lost.lost, 1, memory_order_relaxed);
	ux_blob_hash_text(hash, text);
	fn(ctx, text);
	return UX_OK;
}

static bool lost_take(struct ux_lost_blobs *l, struct ux_blob_hash *ret)
{
	pthread_mutex_lock(&l->lock);
	bool any = l->n > 0;
	if (any)
		*ret = l->hashes[--l->n];
	pthread_mutex_unlock(&l->lock);
	return any;
}

enum ux_code ux_store_heal(struct ux_store *s, ux_store_lost_fn *fn, void *ctx,
			   struct ux_error *err)
{
	struct ux_blob_hash hash;
	/* a blob that cannot be handled now is noted again by the next request for it */
	while (lost_take(&s->lost, &hash))
		UX_TRY(lost_handle(s, &hash, fn, ctx, err));
	return UX_OK;
}

/* --- comparison with the list of the bucket --------------------------------------------------- */

/* Both lists are in the order of hashes, so one pass over them needs no memory. */
struct lost_walk {
	struct ux_store *store;
	ux_store_lost_fn *fn;
	void *ctx;
	struct ux_arena arena; /* has the page */
	struct ux_blob_rows page;
	size_t next; /* row of the page that is compared next */
	bool begun;
	struct ux_blob_hash last; /* of the page */
	size_t n;                 /* rows whose blobs are not in the list */
};

/* Sets *ret to the row to compare next; NULL: there is none. */
static enum ux_code walk_row(struct lost_walk *w, const struct ux_blob_row **ret,
			     struct ux_error *err)
{
	struct ux_index *ix = w->store->index;
	if (w->next == w->page.n && (!w->begun || w->page.more)) {
		ux_arena_deinit(&w->arena);
		ux_arena_init(&w->arena, PAGE_BUDGET);
		UX_TRY(ix->blobs.list(ix, w->begun ? &w->last : NULL, PAGE, &w->arena, &w->page,
				      err));
		w->begun = true;
		w->next = 0;
		if (w->page.n > 0)
			w->last = w->page.rows[w->page.n - 1].hash;
	}
	*ret = w->next < w->page.n ? &w->page.rows[w->next] : NULL;
	return UX_OK;
}

/* Handles the rows before a hash of the list; NULL: all that are left. */
static enum ux_code walk_upto(struct lost_walk *w, const struct ux_blob_hash *listed,
			      struct ux_error *err)
{
	const struct ux_blob_row *row = NULL;
	UX_TRY(walk_row(w, &row, err));
	while (row) {
		int order = listed ? memcmp(&row->hash, listed, sizeof(*listed)) : -1;
		if (order > 0 || w->n >= UX_LOST_ROUND)
			return UX_OK;
		atomic_fetch_add_explicit(&w->store->lost.compared, 1, memory_order_relaxed);
		if (order < 0) {
			w->n++;
			UX_TRY(lost_handle(w->store, &row->hash, w->fn, w->ctx, err));
		}
		w->next++;
		UX_TRY(walk_row(w, &row, err));
	}
	return UX_OK;
}

static enum ux_code walk_listed(void *ctx, const char *name, int64_t age_s, struct ux_error *err)
{
	struct ux_blob_hash hash;
	(void)age_s;
	return ux_blob_hash_parse(ux_bytes_cstr(name), &hash) ? walk_upto(ctx, &hash, err) : UX_OK;
}

enum ux_code ux_store_find_lost(struct ux_store *s, ux_store_lost_fn *fn, void *ctx, bool *ret_more,
				struct ux_error *err)
{
	struct ux_blobs *b = s->blobs;
	*ret_more = false;
	if (!b->confirm)
		return UX_OK;
	struct lost_walk w = {.store = s, .fn = fn, .ctx = ctx};
	ux_arena_init(&w.arena, PAGE_BUDGET);
	enum ux_code code = b->each_blob(b, walk_listed, &w, err);
	if (code == UX_OK)
		code = walk_upto(&w, NULL, err);
	ux_arena_deinit(&w.arena);
	*ret_more = w.n >= UX_LOST_ROUND;
	return code;
}
