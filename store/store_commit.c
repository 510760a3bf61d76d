/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commit protocol: a blob is durable before a row refers to it, and no sweep runs in between.
 */
#include "store.h"

#include "clock.h"

#include <unistd.h>

/* State of one commit; commit_end() releases it on every path. */
struct commit {
	struct ux_store *store;
	const struct ux_blob_hash *hash;
	struct ux_blob_part *own; /* a part made by this file, not by a client */
	char uid[UX_UPLOAD_UID_SIZE];
	bool locked;
	bool durable;                /* the blob has been committed */
	struct ux_stage_clock clock; /* durations of the stages of uploads */
};

static void commit_end(struct commit *c)
{
	struct ux_blobs *b = c->store->blobs;
	if (c->locked)
		pthread_rwlock_unlock(&c->store->commit_lock);
	if (!c->own)
		return;
	b->part_close(c->own);
	if (!c->durable)
		(void)!b->part_remove(b, c->uid, NULL);
}

/*
 * Checks under the lock that the blob exists: nothing removes it then until the row is written. It
 * may have been removed since the caller saw it, when the last module with it was deleted.
 */
static enum ux_code commit_check_stored(struct commit *c, struct ux_error *err)
{
	assert(c->locked);
	int fd = -1;
	uint64_t size = 0;
	struct ux_error why = UX_ERROR_INIT;
	struct ux_blobs *b = c->store->blobs;
	enum ux_code code = b->open(b, c->hash, &fd, &size, &why);
	if (code == UX_OK) {
		close(fd);
		if (b->confirm) /* this node may have a copy of a removed blob */
			code = b->confirm(b, c->hash, &why);
	}
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, UX_ENOTFOUND, "the blob was removed by another process");
	if (code == UX_ECORRUPT) /* of the bucket, not of the client's file */
		return ux_error_set(err, UX_ENOTFOUND, "%s", why.text);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/*
 * Prevents removals until commit_end(). part NULL: no blob is committed. Other commits may run at
 * the same time, so that several waits for the disk are combined.
 */
static enum ux_code commit_begin(struct commit *c, struct ux_blob_part *part, struct ux_error *err)
{
	assert(!c->locked);
	if (part)
		UX_TRY(c->store->blobs->part_sync(part, c->hash, err));
	ux_stage_end(&c->clock, UX_STAGE_BLOB_SYNC);
	pthread_rwlock_rdlock(&c->store->commit_lock);
	c->locked = true;
	if (part)
		UX_TRY(c->store->blobs->part_commit(part, c->hash, err));
	ux_stage_end(&c->clock, UX_STAGE_BLOB_NAME);
	c->durable = true;
	return UX_OK;
}

/* Like commit_begin(), for a row of a blob. part NULL: it is already stored. */
static enum ux_code commit_begin_row(struct commit *c, struct ux_blob_part *part,
				     struct ux_error *err)
{
	UX_TRY(commit_begin(c, part, err));
	return part ? UX_OK : commit_check_stored(c, err);
}

/* Like commit_begin(), for bytes in memory, which are written before the lock is taken. */
static enum ux_code commit_begin_bytes(struct commit *c, struct ux_bytes bytes,
				       struct ux_error *err)
{
	assert(!c->own);
	struct ux_blobs *b = c->store->blobs;
	uint64_t size = 0;
	UX_TRY(ux_upload_uid_make(c->uid, err));
	UX_TRY(b->part_open(b, c->uid, &c->own, &size, err));
	UX_TRY(b->part_write(c->own, bytes, err));
	return commit_begin(c, c->own, err);
}

/*
 * Called after the row was written, and before the caller is told: another node may have removed
 * the blob just before the row existed. From now on no node removes it.
 */
static enum ux_code commit_confirm(const struct commit *c, enum ux_code code, struct ux_error *err)
{
	assert(c->locked);
	struct ux_blobs *b = c->store->blobs;
	return code == UX_OK && c->store->fleet && b->confirm ? b->confirm(b, c->hash, err) : code;
}

/* Prevents commits until commit_end(). */
static void commit_begin_removal(struct commit *c)
{
	assert(!c->locked);
	pthread_rwlock_wrlock(&c->store->commit_lock);
	c->locked = true;
}

enum {
	/* ms after which a delayed removal is abandoned; a later one claims it again */
	REMOVAL_MAX_MS = 60 * 1000
};

/*
 * Removes a blob, although another node may be writing a row for it right now: claims the removal
 * in the index. A node that is stopped for minutes between the check of the clock and the removal
 * could remove bytes that were stored again since; only blob storage with conditional removals
 * could prevent that.
 */
static enum ux_code commit_drop_claimed(struct ux_store *s, const struct ux_blob_hash *hash,
					bool *ret, struct ux_error *err)
{
	struct ux_index *ix = s->index;
	ux_time now = ux_store_now(s);
	int64_t begun_ms = ux_clock_ms();
	bool mine = false;
	UX_TRY(ix->blobs.remove_begin(ix, hash, now, &mine, err));
	if (!mine)
		return UX_OK;
	UX_TRY(ix->sync(ix, UX_SYNC_ALL, err));
	if (ux_clock_ms() - begun_ms > REMOVAL_MAX_MS)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "removing a blob took too long; it is retried later");
	UX_TRY(s->blobs->remove(s->blobs, hash, err));
	UX_TRY(ix->blobs.removed(ix, hash, now, err));
	*ret = true;
	return UX_OK;
}

/*
 * Called while commits are excluded. A row may have been removed by a transaction that a power cut
 * could still undo, so the index is synced before the file is removed.
 */
static enum ux_code commit_drop_unused(struct ux_store *s, const struct ux_blob_hash *hash,
				       bool dry_run, bool *ret, struct ux_error *err)
{
	bool used = true;
	*ret = false;
	if (s->fleet && !dry_run)
		return commit_drop_claimed(s, hash, ret, err);
	UX_TRY(s->index->blobs.used(s->index, hash, &used, err));
	if (!used && !dry_run) {
		UX_TRY(s->index->sync(s->index, UX_SYNC_ALL, err));
		UX_TRY(s->blobs->remove(s->blobs, hash, err));
	}
	*ret = !used;
	return UX_OK;
}

/* Removes a refused blob if no row names it; otherwise the sweep decides. */
static void commit_drop_refused(struct ux_store *s, const struct ux_blob_hash *hash,
				enum ux_code code, const struct ux_add_result *r)
{
	bool dropped = false;
	if (code == UX_ECONFLICT || code == UX_ELIMIT || (code == UX_OK && r->add == UX_ADD_POORER))
		(void)!ux_store_drop_blob(s, hash, /* dry_run= */ false, &dropped, NULL);
}

static void store_wake(struct ux_store *s)
{
	pthread_mutex_lock(&s->work_lock);
	if (s->work)
		s->work(s->work_ctx);
	pthread_mutex_unlock(&s->work_lock);
}

void ux_store_on_work(struct ux_store *s, void (*work)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&s->work_lock);
	s->work = work;
	s->work_ctx = ctx;
	pthread_mutex_unlock(&s->work_lock);
}

static bool commit_queued_work(enum ux_code code, const struct ux_add_result *r)
{
	return code == UX_OK && r->candidate != 0 &&
	       (r->state == UX_CANDIDATE_PENDING || r->queued > 0);
}

enum ux_code ux_store_commit_upload(struct ux_store *s, struct ux_blob_part *part,
				    const struct ux_upload *up, const struct ux_candidate *cand,
				    const struct ux_who *who, struct ux_add_result *ret,
				    struct ux_error *err)
{
	enum ux_code code = UX_OK;
	{
		ux_cleanup(commit_end) struct commit c = {
			.store = s, .hash = &up->hash, .clock = ux_stage_begin(&s->stages)};
		UX_TRY(commit_begin_row(&c, part, err));
		code = s->index->uploads.finish(s->index, up, cand, who, ux_store_now(s), ret, err);
		code = commit_confirm(&c, code, err);
	}
	commit_drop_refused(s, &up->hash, code, ret);
	if (commit_queued_work(code, ret))
		store_wake(s);
	return code;
}

enum ux_code ux_store_commit_candidate(struct ux_store *s, struct ux_blob_part *part,
				       const struct ux_arrival *what,
				       const struct ux_candidate *cand, const struct ux_who *who,
				       struct ux_add_result *ret, struct ux_error *err)
{
	enum ux_code code = UX_OK;
	{
		ux_cleanup(commit_end) struct commit c = {.store = s, .hash = &cand->blob};
		UX_TRY(commit_begin_row(&c, part, err));
		code = s->index->modules.add(s->index, what, cand, who, ux_store_now(s), ret, err);
		code = commit_confirm(&c, code, err);
	}
	commit_drop_refused(s, &cand->blob, code, ret);
	if (commit_queued_work(code, ret))
		store_wake(s);
	return code;
}

enum ux_code ux_store_commit_settled(struct ux_store *s, int64_t candidate,
				     const struct ux_settled *what, struct ux_bytes derived,
				     struct ux_add_result *ret, struct ux_error *err)
{
	enum ux_code code = UX_OK;
	{
		ux_cleanup(commit_end) struct commit c = {.store = s};
		if (what->derived) {
			c.hash = &what->derived->blob;
			UX_TRY(commit_begin_bytes(&c, derived, err));
		} else {
			UX_TRY(commit_begin(&c, NULL, err));
		}
		code = s->index->modules.settle(s->index, candidate, what, ux_store_now(s), ret,
						err);
		if (what->derived)
			code = commit_confirm(&c, code, err);
	}
	if (commit_queued_work(code, ret))
		store_wake(s);
	return code;
}

enum ux_code ux_store_commit_sources(struct ux_store *s, int64_t candidate, struct ux_bytes pack,
				     const struct ux_blob_hash *hash,
				     const struct ux_source *sources, size_t n,
				     struct ux_error *err)
{
	ux_cleanup(commit_end) struct commit c = {.store = s, .hash = hash};
	UX_TRY(commit_begin_bytes(&c, pack, err));
	return commit_confirm(&c, s->index->sources.put(s->index, candidate, sources, n, err), err);
}

enum ux_code ux_store_commit_answer(struct ux_store *s, struct ux_blob_part *part,
				    const struct ux_fetched *answer, struct ux_error *err)
{
	ux_cleanup(commit_end) struct commit c = {.store = s, .hash = &answer->blob};
	UX_TRY(commit_begin(&c, answer->has_blob ? part : NULL, err));
	enum ux_code code = s->index->fetched.put(s->index, answer, err);
	return answer->has_blob ? commit_confirm(&c, code, err) : code;
}

enum ux_code ux_store_commit_profiles(struct ux_store *s, struct ux_bytes bytes,
				      const struct ux_profile_addition *what, int64_t *numbers,
				      uint64_t *ret_trimmed, struct ux_error *err)
{
	const struct ux_blob_hash hash = ux_blob_hash_of(bytes);
	for (size_t i = 0; i < what->n; i++) {
		struct ux_kept_profile *row = &what->rows[i];
		assert(row->length <= bytes.size && row->off <= bytes.size - row->length);
		row->blob = hash;
		row->size = bytes.size;
	}
	ux_cleanup(commit_end) struct commit c = {.store = s, .hash = &hash};
	UX_TRY(commit_begin_bytes(&c, bytes, err));
	return commit_confirm(&c, s->index->profiles.add(s->index, what, numbers, ret_trimmed, err),
			      err);
}

enum ux_code ux_store_commit_blob(struct ux_store *s, struct ux_blob_part *part,
				  const struct ux_blob_hash *hash, struct ux_error *err)
{
	ux_cleanup(commit_end) struct commit c = {.store = s, .hash = hash};
	return commit_begin(&c, part, err);
}

enum ux_code ux_store_drop_blob(struct ux_store *s, const struct ux_blob_hash *hash, bool dry_run,
				bool *ret_dropped, struct ux_error *err)
{
	ux_cleanup(commit_end) struct commit c = {.store = s, .hash = hash};
	commit_begin_removal(&c);
	return commit_drop_unused(s, hash, dry_run, ret_dropped, err);
}

enum {
	COLLECT_PAGE = 256, /* blobs that are removed before their rows */
	COLLECT_BUDGET = 1 << 20
};

static enum ux_code collect_page(struct ux_store *s, int64_t upto, bool *ret_more, uint64_t *ret,
				 struct ux_error *err)
{
	UX_ARENA(arena, COLLECT_BUDGET);
	struct ux_blob_rows page;
	const uint64_t before = *ret;
	UX_TRY(s->index->blobs.garbage(s->index, upto, COLLECT_PAGE, &arena, &page, err));
	for (size_t i = 0; i < page.n; i++) {
		bool dropped = false;
		UX_TRY(ux_store_drop_blob(s, &page.rows[i].hash, /* dry_run= */ false, &dropped,
					  err));
		*ret += dropped;
	}
	/* blobs that others are removing stay in the list */
	*ret_more = page.more && *ret > before;
	return page.n > 0 ? s->index->blobs.collected(s->index, page.rows, page.n, err) : UX_OK;
}

static enum ux_code collect_upto(struct ux_store *s, int64_t upto, uint64_t *ret,
				 struct ux_error *err)
{
	bool more = true;
	*ret = 0;
	while (more)
		UX_TRY(collect_page(s, upto, &more, ret, err));
	return UX_OK;
}

enum ux_code ux_store_collect_all(struct ux_store *s, uint64_t *ret, struct ux_error *err)
{
	return collect_upto(s, INT64_MAX, ret, err);
}

static bool collect_is_urgent(struct ux_store *s)
{
	struct ux_room_state now;
	return ux_room_get(&s->room, &now, NULL) == UX_OK && !now.accepts;
}

enum ux_code ux_store_collect(struct ux_store *s, uint64_t *ret, struct ux_error *err)
{
	int64_t now = ux_clock_s();
	*ret = 0;
	if (collect_is_urgent(s))
		return ux_store_collect_all(s, ret, err);
	if (now < s->collect_s)
		return UX_OK;
	if (s->collect_upto > 0)
		UX_TRY(collect_upto(s, s->collect_upto, ret, err));
	s->collect_s = now + UX_STORE_COLLECT_S;
	return s->index->blobs.garbage_last(s->index, &s->collect_upto, err);
}

/* Removes a module. If its files cannot be removed now, the next collection removes them. */
enum ux_code ux_store_remove_module(struct ux_store *s, const char *ns, const char *id,
				    const struct ux_who *who, struct ux_error *err)
{
	uint64_t n = 0;
	UX_TRY(s->index->modules.remove(s->index, ns, id, who, ux_store_now(s), err));
	if (collect_is_urgent(s))
		(void)!ux_store_collect_all(s, &n, NULL);
	return UX_OK;
}

/* Asks the bucket; stores the blob again if this node has a copy. */
static enum ux_code commit_is_lost(void *ctx, const struct ux_blob_hash *hash, bool *ret,
				   struct ux_error *err)
{
	struct ux_blobs *b = ((struct ux_store *)ctx)->blobs;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = b->confirm(b, hash, &why);
	*ret = code == UX_ENOTFOUND;
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	if (err && err->code == UX_OK)
		*err = why;
	return code;
}

enum ux_code ux_store_fail_lost(struct ux_store *s, const struct ux_blob_hash *hash, bool *ret_lost,
				struct ux_error *err)
{
	static const char reason[] = "the bucket has lost these bytes; send them again";
	struct ux_index *ix = s->index;
	struct ux_blob_loss loss;
	bool now = false;
	uint64_t n = 0;
	*ret_lost = false;
	UX_TRY(ix->blobs.expected(ix, hash, &now, err));
	if (!now)
		return UX_OK;
	UX_TRY(commit_is_lost(s, hash, &now, err));
	if (!now)
		return UX_OK;
	UX_TRY(ix->blobs.fail_lost(ix, hash, reason, ux_store_now(s), commit_is_lost, s, &loss,
				   err));
	*ret_lost = loss.candidates + loss.sources + loss.fetched + loss.profiles > 0;
	UX_TRY(ix->modules.requeue(ix, ux_store_now(s), &n, err));
	if (n > 0)
		store_wake(s);
	return UX_OK;
}

enum ux_code ux_store_lose_blob(struct ux_store *s, const struct ux_blob_hash *hash,
				const char *reason, struct ux_error *err)
{
	struct ux_blob_loss loss;
	ux_cleanup(commit_end) struct commit c = {.store = s, .hash = hash};
	commit_begin_removal(&c);
	UX_TRY(s->index->blobs.lose(s->index, hash, reason, ux_store_now(s), &loss, err));
	bool dropped = false;
	return s->fleet ? commit_drop_claimed(s, hash, &dropped, err)
			: s->blobs->remove(s->blobs, hash, err);
}

enum ux_code ux_store_extract(struct ux_store *s, const char *ns, int64_t candidate,
			      struct ux_error *err)
{
	char subject[24];
	int64_t number = 0;
	ux_time now = ux_store_now(s);
	snprintf(subject, sizeof(subject), "%" PRId64, candidate);
	const struct ux_job job = {.kind = UX_JOB_EXTRACT,
				   .subject = subject,
				   .ns = ns,
				   .candidate = candidate,
				   .payload = "",
				   .next = now};
	UX_TRY(s->index->jobs.add(s->index, &job, now, &number, err));
	store_wake(s);
	return UX_OK;
}
