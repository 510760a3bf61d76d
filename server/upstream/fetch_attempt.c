/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a fetch to one upstream: sends it, stores the received file, records the answer.
 */
#include "fetcher_internal.h"

#include "clock.h"

enum {
	ARENA = 1 << 20,
	MAGIC = 4, /* bytes that identify a format */
};

/* State of one request, used by one thread. */
struct attempt {
	struct ux_fetcher *f;
	struct ux_fetch *fetch;
	int index; /* index of the item */
	struct ux_fetch_item item;
	const struct ux_upstream *up;
	struct ux_arena arena;
	const char *artifact;
	struct ux_http_client *client;
	struct ux_fetch_places places;
	struct ux_fetched_files files; /* kept from a package */
	char uid[UX_UPLOAD_UID_SIZE];
	struct ux_blob_part *part;
	struct ux_mapping bytes;
	struct ux_upstream_answer answer;
	struct ux_fetched row;
	int64_t began_ms;
	uint64_t took_ms;
	uint64_t size;
	uint8_t start[MAGIC];
	bool ours; /* the failure was caused by this machine */
};

static bool attempt_is_beaten(const struct attempt *q)
{
	int winner = atomic_load_explicit(&q->fetch->winner, memory_order_relaxed);
	return winner >= 0 && winner != q->index;
}

static bool attempt_claim(void *ctx)
{
	struct attempt *q = ctx;
	int none = -1;
	if (atomic_compare_exchange_strong(&q->fetch->winner, &none, q->index))
		return false;
	return none != q->index;
}

static bool attempt_is_cancelled(void *ctx)
{
	const struct attempt *q = ctx;
	return attempt_is_beaten(q) || atomic_load_explicit(&q->f->stopping, memory_order_relaxed);
}

/*
 * Checks the first bytes for the magic of the format, so that anything else is refused early: it
 * may be an endless stream.
 */
static enum ux_code attempt_check_start(struct attempt *q, struct ux_bytes bytes,
					struct ux_error *err)
{
	static const char *const formats[][2] = {
		[UX_ARTIFACT_GSYM] = {"GSYM", "MYSG"}, /* little and big endian */
		[UX_ARTIFACT_DEBUGINFO] = {"\177ELF", "\177ELF"},
		[UX_ARTIFACT_EXECUTABLE] = {"\177ELF", "\177ELF"},
	};
	const enum ux_artifact artifact = q->item.artifact;
	size_t n = q->size < MAGIC ? ux_min(MAGIC - (size_t)q->size, bytes.size) : 0;
	memcpy(q->start + ux_min((size_t)MAGIC, q->size), bytes.data, n);
	if (n == 0 || q->size + n < MAGIC || artifact == UX_ARTIFACT_SOURCE ||
	    q->up->kind == UX_UPSTREAM_PACKAGES || /* its hash is checked instead */
	    memcmp(q->start, formats[artifact][0], MAGIC) == 0 ||
	    memcmp(q->start, formats[artifact][1], MAGIC) == 0)
		return UX_OK;
	return ux_error_set(err, UX_ECORRUPT,
			    "the file begins with %02x %02x %02x %02x; expected %s file",
			    q->start[0], q->start[1], q->start[2], q->start[3],
			    artifact == UX_ARTIFACT_GSYM ? "a GSYM" : "an ELF");
}

static enum ux_code attempt_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct attempt *q = ctx;
	UX_TRY(attempt_check_start(q, bytes, err));
	q->size += bytes.size;
	return q->f->store->blobs->part_write(q->part, bytes, err);
}

/* Opens a part for the received bytes; no upload uses its name. */
static enum ux_code attempt_open_part(struct attempt *q, struct ux_error *err)
{
	struct ux_blobs *b = q->f->store->blobs;
	uint64_t size = 0;
	UX_TRY(ux_upload_uid_make(q->uid, err));
	return b->part_open(b, q->uid, &q->part, &size, err);
}

static enum ux_code attempt_request(struct attempt *q, struct ux_error *err)
{
	struct ux_upstream_limits limits = q->f->options.limits;
	if (q->item.artifact == UX_ARTIFACT_SOURCE && q->up->kind != UX_UPSTREAM_PACKAGES)
		limits.bytes = ux_min(limits.bytes, (uint64_t)UX_FETCH_SOURCE_MAX);
	const struct ux_upstream_request request = {
		.up = q->up,
		.paths = &q->places.paths,
		.hops = &q->fetch->hops,
		.limits = &limits,
		.sink = attempt_write,
		.first = attempt_claim,
		.cancelled = attempt_is_cancelled,
		.ctx = q,
	};
	struct ux_upstream_request with = request;
	q->artifact = ux_fetch_artifact(q->fetch, q->item.artifact, &q->arena);
	if (!q->artifact)
		return ux_arena_fail(&q->arena, err);
	UX_TRY(ux_fetch_places_get(q->fetch, q->f->store, q->up, q->item.artifact, &q->arena,
				   &q->places, err));
	if (!q->client && !ux_upstream_is_local(q->up))
		UX_TRY(ux_upstream_client(q->up, q->fetch->hops.agent, &q->client, err));
	UX_TRY(attempt_open_part(q, err));
	with.client = q->client;
	if (q->up->kind == UX_UPSTREAM_PACKAGES && q->places.paths.n > 0 &&
	    ux_fetch_is_source_package(&q->places.packages[0]))
		ux_fetch_source_package(&with, &q->places.packages[0], &q->answer);
	else
		ux_upstream_request(&with, &q->answer);
	return UX_OK;
}

/*
 * Stores a source file together with the answer. The callback makes a candidate of anything else.
 */
static enum ux_code attempt_store_package(struct attempt *q, struct ux_error *err)
{
	const struct ux_fetched_package package = {
		.fetch = q->fetch,
		.up = q->up,
		.artifact = q->item.artifact,
		.package = &q->places.packages[q->answer.path],
		.part = q->part,
		.bytes = q->bytes.bytes,
	};
	UX_TRY(ux_fetched_package_store(q->f, &package, &q->files, err));
	q->row.size = q->files.size;
	return UX_OK;
}

static enum ux_code attempt_store(struct attempt *q, struct ux_error *err)
{
	struct ux_store *s = q->f->store;
	struct ux_blobs *b = s->blobs;
	UX_TRY(b->part_map(q->part, &q->bytes, err));
	if (q->up->kind == UX_UPSTREAM_PACKAGES)
		return attempt_store_package(q, err);
	struct ux_arrived arrived = {
		.ns = q->fetch->ns,
		.id = q->fetch->id,
		.upstream = q->up->name,
		.artifact = q->item.artifact,
		.source = q->fetch->source,
		.file = "",
		.part = q->part,
		.bytes = q->bytes.bytes,
		.hash = ux_blob_hash_of(q->bytes.bytes),
	};
	q->row.size = q->bytes.bytes.size;
	if (q->f->options.make_room)
		UX_TRY(q->f->options.make_room(q->f->options.ctx, &arrived, err));
	if (arrived.artifact != UX_ARTIFACT_SOURCE)
		return q->f->options.arrived(q->f->options.ctx, &arrived, err);
	if (q->f->options.source_arrived)
		UX_TRY(q->f->options.source_arrived(q->f->options.ctx, &arrived, err));
	q->row.has_blob = true;
	q->row.blob = arrived.hash;
	return UX_OK;
}

/* Records the answer. Failures of this machine are not recorded: the next attempt may work. */
static enum ux_code attempt_record(struct attempt *q, struct ux_error *err)
{
	struct ux_store *s = q->f->store;
	ux_time now = ux_store_now(s);
	struct ux_fetched *row = &q->row;
	row->ns = q->fetch->ns;
	row->id = q->fetch->id;
	row->upstream = q->up->name;
	row->artifact = q->artifact;
	row->outcome = q->answer.outcome;
	row->status = q->answer.status;
	row->reason = q->answer.reason;
	row->queried = now;
	row->expires = ux_fetch_expires(&q->f->options.times, row->outcome, now);
	bool absent = row->outcome == UX_FETCH_ABSENT, away = row->outcome == UX_FETCH_AWAY;
	if ((absent || away) && q->answer.retry_s > 0)
		row->expires = ux_min(row->expires, now + (ux_time)q->answer.retry_s);
	row->took_ms = q->took_ms;
	row->file_name = "";
	return ux_store_commit_answer(s, q->part, row, err);
}

static void attempt_fail(struct attempt *q, enum ux_code code, const struct ux_error *why)
{
	q->ours = why->os_errno != 0 || code == UX_ENOMEM || code == UX_EUNAVAILABLE;
	q->answer.outcome = q->ours ? UX_FETCH_AWAY : UX_FETCH_FAILED;
	snprintf(q->answer.reason, sizeof(q->answer.reason), "%s",
		 why->os_errno != 0 ? "this server could not store it" : why->text);
}

static void attempt_log(const struct attempt *q)
{
	const struct ux_fetch_event event = {
		.upstream = q->up,
		.ns = q->fetch->ns,
		.id = q->fetch->id,
		.artifact = q->artifact,
		.outcome = q->answer.outcome,
		.status = q->answer.status,
		.reason = q->answer.reason,
		.took_ms = q->took_ms,
		.bytes = q->size,
	};
	if (q->f->options.log)
		q->f->options.log(q->f->options.ctx, &event);
}

static bool attempt_is_final(const struct attempt *q)
{
	return !q->answer.cancelled && !(q->answer.later && q->item.laters < UX_FETCH_LATER_MAX);
}

static void attempt_run(struct attempt *q)
{
	struct ux_error why = UX_ERROR_INIT;
	q->began_ms = ux_clock_ms();
	enum ux_code code = attempt_request(q, &why);
	q->took_ms = (uint64_t)(ux_clock_ms() - q->began_ms);
	if (code == UX_OK && q->answer.outcome == UX_FETCH_FOUND) {
		code = attempt_store(q, &why);
		if (code != UX_OK) /* the received file is unusable */
			attempt_fail(q, code, &why);
		if (code == UX_ENOTFOUND && !q->ours && q->up->kind == UX_UPSTREAM_PACKAGES)
			q->answer.outcome = UX_FETCH_ABSENT;
	} else if (code != UX_OK) {
		attempt_fail(q, code, &why);
		q->answer.outcome = UX_FETCH_AWAY;
		q->answer.reachable = true;
		q->ours = true;
	}
	if (q->artifact && !q->ours && attempt_is_final(q) && attempt_record(q, &why) != UX_OK)
		q->row.has_blob = false;
	if (q->artifact && attempt_is_final(q))
		attempt_log(q);
	if (q->part) {
		q->f->store->blobs->part_close(q->part);
		(void)!q->f->store->blobs->part_remove(q->f->store->blobs, q->uid, NULL);
	}
	ux_file_unmap(&q->bytes);
}

/* --- functions called with the lock held ------------------------------------------------------ */

static void attempt_update_breaker(struct ux_fetcher_upstream *up, const struct attempt *q,
				   int64_t now)
{
	if (q->answer.cancelled)
		ux_breaker_unknown(&up->breaker, now);
	else if (q->answer.reachable)
		ux_breaker_succeeded(&up->breaker);
	else
		ux_breaker_failed(&up->breaker, now, (int64_t)q->answer.retry_s * 1000);
}

static void attempt_count(struct ux_fetcher_upstream *up, const struct attempt *q)
{
	if (!attempt_is_final(q))
		return;
	up->answers[q->answer.outcome]++;
	up->bytes += q->size;
	up->took_ms += q->took_ms;
}

static void attempt_end_item(struct ux_fetcher *f, struct ux_fetch *fetch, const struct attempt *q,
			     int64_t now)
{
	struct ux_fetch_item *item = &fetch->items[q->index];
	int expected = q->index;
	bool found = q->answer.outcome == UX_FETCH_FOUND && !q->answer.cancelled;
	item->state = UX_ITEM_ENDED;
	fetch->next_ms = now;
	if (!found) /* if this item was the winner, it no longer is */
		atomic_compare_exchange_strong(&fetch->winner, &expected, -1);
	if (q->answer.cancelled) {
		item->state = UX_ITEM_WAITS;
	} else if (q->answer.later && item->laters < UX_FETCH_LATER_MAX) {
		item->state = UX_ITEM_WAITS;
		item->laters++;
		memcpy(fetch->waits_for, q->answer.waits_for, sizeof(fetch->waits_for));
		item->not_before = now + 1000 * (int64_t)q->answer.retry_s;
	} else if (!found) { /* no longer than the answer is valid */
		fetch->away = fetch->away || q->answer.outcome == UX_FETCH_AWAY;
		fetch->quiet_s = ux_min(fetch->quiet_s,
					q->ours ? (int64_t)1 : q->row.expires - q->row.queried);
	}
	if (found)
		ux_fetcher_end(f, fetch, 0);
}

static void attempt_return_client(struct ux_fetcher_upstream *up, struct ux_http_client *client)
{
	if (client && up->n_idle < UX_FETCHERS_UPSTREAM)
		up->idle[up->n_idle++] = client;
	else
		ux_http_client_destroy(client);
}

static bool attempt_has_brought(const struct attempt *q, const struct ux_fetch *fetch)
{
	for (size_t i = 0; i < q->files.n; i++)
		if (ux_id_eq(&q->files.beside[i], &fetch->parsed))
			return strcmp(fetch->ns, q->fetch->ns) == 0;
	return false;
}

/* Ends the other fetches that waited for this package and got their files from it. */
static void attempt_end_others(struct ux_fetcher *f, const struct attempt *q)
{
	struct ux_fetch *next = NULL;
	for (struct ux_fetch *fetch = f->first; fetch; fetch = next) {
		next = fetch->next;
		if (fetch != q->fetch && fetch->state == UX_FETCH_ASKING && fetch->running == 0 &&
		    fetch->want != UX_FETCH_SOURCE && attempt_has_brought(q, fetch))
			ux_fetcher_end(f, fetch, 0);
	}
}

/* Replaces a number in the list of packages that are being fetched; 0 is a free entry. */
static void attempt_note_package(struct ux_fetcher *f, int64_t from, int64_t to)
{
	for (size_t i = 0; i < UX_FETCHERS; i++)
		if (f->packages[i] == from) {
			f->packages[i] = to;
			return;
		}
}

void ux_fetch_attempt(struct ux_fetcher *f, struct ux_fetch *fetch, size_t index)
{
	struct ux_fetch_item *item = &fetch->items[index];
	struct ux_fetcher_upstream *up = &f->upstreams[item->upstream];
	struct attempt q = {.f = f,
			    .fetch = fetch,
			    .index = (int)index,
			    .item = *item,
			    .up = &f->configured[item->upstream]};
	ux_arena_init(&q.arena, ARENA);
	item->state = UX_ITEM_RUNS;
	fetch->running++;
	fetch->next_ms = ux_clock_ms() + UX_FETCH_HEAD_START_MS;
	up->running++;
	q.client = up->n_idle > 0 ? up->idle[--up->n_idle] : NULL;
	if (q.item.package != 0)
		attempt_note_package(f, 0, q.item.package);
	/* another thread may be waiting for the end of the head start */
	pthread_cond_signal(&f->changed);
	pthread_mutex_unlock(&f->lock);
	attempt_run(&q);
	pthread_mutex_lock(&f->lock);
	int64_t now = ux_clock_ms();
	up->running--;
	fetch->running--;
	attempt_update_breaker(up, &q, now);
	attempt_count(up, &q);
	attempt_return_client(up, q.client);
	if (q.item.package != 0)
		attempt_note_package(f, q.item.package, 0);
	attempt_end_others(f, &q);
	if (fetch->state != UX_FETCH_OVER)
		attempt_end_item(f, fetch, &q, now);
	else if (fetch->running == 0)
		ux_fetch_destroy(fetch);
	ux_arena_deinit(&q.arena);
	pthread_cond_broadcast(&f->changed);
}

void ux_fetcher_reject(struct ux_fetcher *f, const char *ns, const char *id,
		       enum ux_artifact artifact, const char *upstream, const char *reason)
{
	struct ux_index *ix = f->store->index;
	ux_time now = ux_store_now(f->store);
	const struct ux_fetched row = {
		.ns = ns,
		.upstream = upstream,
		.id = id,
		.artifact = ux_artifact_name(artifact),
		.outcome = UX_FETCH_FAILED,
		.status = 200,
		.reason = reason,
		.queried = now,
		.expires = ux_fetch_expires(&f->options.times, UX_FETCH_ABSENT, now),
		.file_name = "",
	};
	(void)!ix->fetched.put(ix, &row, NULL);
}
