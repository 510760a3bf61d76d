/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps profiles, removes and merges them. */
#include "profile_keeper.h"

#include "clock.h"
#include "event_log.h"
#include "otlp.h"
#include "packed_file.h"
#include "pprof.h"
#include "profile_merge.h"
#include "profile_naming.h"
#include "profile_slots.h"
#include "profile_span.h"
#include "request_work.h"
#include "stored_profile.h"
#include "text.h"

enum {
	TICK_S = 5,
	MERGE_MS = 1000,   /* ms of each tick for merging */
	EXPIRE_MS = 1000,  /* and for removing old profiles */
	REMOVE_MAX = 1000, /* rows that one transaction removes */
	/* seconds; times further in the future are ignored */
	FUTURE_MAX_S = 24 * 60 * 60,
	/* seconds that one profile covers; a longer duration counts as damaged */
	SPAN_MAX_S = 7 * 24 * 60 * 60,
	TEXTS_MAX = 4 << 10, /* bytes of the names of one resource */
	/* work for the tables, the compressor and the row of one resource */
	RESOURCE_COST = 16 << 10,
};

enum ux_code ux_profile_keeper_create(struct ux_profile_keeper **ret, struct ux_server *server,
				      struct ux_error *err)
{
	struct ux_profile_keeper *k = calloc(1, sizeof(*k));
	if (!k)
		return ux_error_nomem(err);
	k->server = server;
	enum ux_code code = ux_span_cache_create(&k->spans, err);
	if (code == UX_OK)
		*ret = k;
	else
		free(k);
	return code;
}

void ux_profile_keeper_destroy(struct ux_profile_keeper *k)
{
	if (!k)
		return;
	ux_span_cache_destroy(k->spans);
	free(k);
}

void ux_profile_keeper_configure(struct ux_profile_keeper *k, uint64_t keep_ms, uint64_t bytes,
				 uint64_t profiles)
{
	atomic_store_explicit(&k->keep_s, (int64_t)((keep_ms + 999) / 1000), memory_order_relaxed);
	atomic_store_explicit(&k->bytes_max, bytes, memory_order_relaxed);
	atomic_store_explicit(&k->profiles_max, profiles, memory_order_relaxed);
}

bool ux_profile_keeper_is_on(const struct ux_profile_keeper *k)
{
	return k && atomic_load_explicit(&k->keep_s, memory_order_relaxed) > 0;
}

/* --- keeping ---------------------------------------------------------------------------------- */

/* Sums up the first values of all samples: in most formats, their number. */
static uint64_t keeper_count(const struct ux_profile *p)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < p->samples.size && p->n_types > 0; i++) {
		int64_t v = p->values.data[p->samples.data[i].first];
		sum += v > 0 ? (uint64_t)v : 0;
	}
	return ux_min(sum, (uint64_t)INT64_MAX);
}

/* Sets the time range of a profile, by its own times if they are plausible. */
static void keeper_set_times(const struct ux_profile *p, ux_time now, ux_time ended,
			     struct ux_kept_profile *row)
{
	const uint64_t second = 1000000000;
	int64_t duration =
		(int64_t)ux_min((p->duration_ns + second - 1) / second, (uint64_t)SPAN_MAX_S);
	int64_t start = (int64_t)(p->start_ns / second);
	if (ended > 0 && ended <= now + FUTURE_MAX_S) {
		row->ended = ended;
		row->started = ended - duration;
	} else if (start > 0 && start <= now + FUTURE_MAX_S) {
		row->started = start;
		row->ended = start + duration;
	} else {
		row->ended = now;
		row->started = now - duration;
	}
}

/* Returns the build of a profile that does not name it: the ID of its first file. */
static const char *keeper_build_of(const struct ux_profile *p, char text[UX_ID_TEXT])
{
	text[0] = '\0';
	for (size_t i = 1; i < p->modules.size && text[0] == '\0'; i++)
		if (p->modules.data[i].kind == UX_PROFILE_FILE)
			ux_id_format(&p->modules.data[i].id, text);
	return text;
}

UX_VEC(kept_rows, struct ux_kept_profile);

/* The profiles of one message: one blob, and their rows, which one transaction adds. */
struct keeper_batch {
	struct ux_profile_keeper *keeper;
	struct ux_out bytes;
	struct kept_rows rows;
	struct ux_arena arena; /* of their texts */
};

static void keeper_batch_deinit(struct keeper_batch *b)
{
	ux_out_deinit(&b->bytes);
	kept_rows_deinit(&b->rows);
	ux_arena_deinit(&b->arena);
}

/* Appends a profile in its stored form. The origin's texts must stay until the commit. */
static enum ux_code keeper_put(struct keeper_batch *b, const struct ux_profile_origin *o,
			       const struct ux_profile *p, struct ux_error *err)
{
	ux_time now = ux_store_now(b->keeper->server->store);
	char build[UX_ID_TEXT];
	struct ux_kept_profile row = {
		.ns = o->ns,
		.service = o->service,
		.host = o->host,
		.build = o->build,
		.samples = keeper_count(p),
		.level = o->alone ? UX_PROFILE_LEVEL_ALONE : 0,
		.off = b->bytes.size,
		.key_id = o->key_id,
		.created = now,
	};
	if (row.build[0] == '\0') {
		const char *id = keeper_build_of(p, build);
		row.build = ux_arena_strndup(&b->arena, id, strlen(id));
		if (!row.build)
			return ux_arena_fail(&b->arena, err);
	}
	keeper_set_times(p, now, o->ended, &row);
	UX_TRY(ux_stored_profile_write(p, &b->bytes, err));
	row.length = b->bytes.size - row.off;
	return kept_rows_append(&b->rows, row) ? UX_OK : ux_error_nomem(err);
}

/* Commits all profiles of a batch or none, and appends their numbers to `ret`, if it is set. */
static enum ux_code keeper_commit(struct keeper_batch *b, struct ux_kept_numbers *ret,
				  struct ux_error *err)
{
	struct ux_profile_keeper *k = b->keeper;
	const struct ux_profile_addition what = {
		.rows = b->rows.data,
		.n = b->rows.size,
		.profiles_max = atomic_load_explicit(&k->profiles_max, memory_order_relaxed)};
	uint64_t trimmed = 0;
	if (what.n == 0)
		return UX_OK;
	if (what.profiles_max > 0 && what.n > what.profiles_max)
		return ux_error_set(err, UX_ELIMIT,
				    "the message has %zu profiles; a namespace keeps at most "
				    "%" PRIu64 " (setting profile-count)",
				    what.n, what.profiles_max);
	if (ret && !ux_kept_numbers_reserve(ret, ret->size + what.n))
		return ux_error_nomem(err);
	UX_TRY(ux_store_commit_profiles(k->server->store, ux_out_bytes(&b->bytes), &what,
					ret ? ret->data + ret->size : NULL, &trimmed, err));
	if (ret)
		ret->size += what.n;
	atomic_fetch_add_explicit(&k->kept, what.n, memory_order_relaxed);
	atomic_fetch_add_explicit(&k->removed, trimmed, memory_order_relaxed);
	return UX_OK;
}

static enum ux_code keeper_keep_whole(struct ux_profile_keeper *k,
				      const struct ux_profile_origin *o, struct ux_bytes bytes,
				      struct ux_work *work, struct ux_kept_numbers *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p = {0};
	ux_cleanup(keeper_batch_deinit) struct keeper_batch batch = {.keeper = k,
								     .arena.budget = TEXTS_MAX};
	UX_TRY(ux_profile_init(&p, err));
	p.max = UX_PROFILE_MEMORY_MAX;
	UX_TRY(ux_profile_parse(bytes, &p, err));
	UX_TRY(ux_profile_bound(&p, err));
	UX_TRY(ux_profile_name_all(k->server, o->ns, &p, work, err));
	UX_TRY(keeper_put(&batch, o, &p, err));
	UX_TRY(ux_request_work_charge(work, UX_WORK_CHECK, err));
	return keeper_commit(&batch, ret, err);
}

/* --- messages of OpenTelemetry ---------------------------------------------------------------- */

/*
 * Returns a text that a sender chose in its stored form: truncated, with '?' for bytes that are not
 * printable.
 */
static const char *keeper_text(const struct ux_profile *p, uint32_t string, const char *otherwise,
			       struct ux_arena *arena)
{
	struct ux_bytes text = ux_profile_text(p, string);
	(void)ux_text_cut(&text, UX_PROFILE_TEXT_BYTES);
	if (text.size == 0)
		return otherwise;
	char *copy = ux_arena_strndup(arena, text.data, text.size);
	for (size_t i = 0, n = 0; copy && i < text.size; i += n) {
		n = ux_utf8_printable_size(ux_bytes(copy + i, text.size - i));
		if (n > 0)
			continue;
		copy[i] = '?';
		n = 1;
	}
	return copy;
}

/* A message on its way to a batch. In its profile, each resource is a thread. */
struct keeper_message {
	const struct ux_profile_origin *origin; /* of all resources */
	struct ux_profile profile;
	struct ux_otlp_resources resources;
	struct ux_profile_splitter *splitter;
	struct keeper_batch batch;
};

static void keeper_message_deinit(struct keeper_message *m)
{
	keeper_batch_deinit(&m->batch);
	ux_profile_splitter_free(&m->splitter);
	ux_otlp_resources_deinit(&m->resources);
	ux_profile_deinit(&m->profile);
}

static enum ux_code keeper_put_resource(struct keeper_message *m, uint32_t number,
					struct ux_work *work, struct ux_error *err)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile part = {0};
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger merger = {0};
	const struct ux_profile *all = &m->profile;
	const struct ux_otlp_resource *resource = &m->resources.data[number];
	struct ux_arena *arena = &m->batch.arena;
	struct ux_profile_origin origin = *m->origin;
	uint64_t cost = 0;
	UX_TRY(ux_request_work_charge(work, RESOURCE_COST, err));
	origin.service = keeper_text(all, resource->service, "unknown", arena);
	origin.host = keeper_text(all, resource->host, m->origin->host, arena);
	origin.build = keeper_text(all, resource->build, m->origin->build, arena);
	if (!origin.service || !origin.host || !origin.build)
		return ux_arena_fail(arena, err);
	UX_TRY(ux_profile_init(&part, err));
	UX_TRY(ux_profile_merger_init(&merger, &part, err));
	UX_TRY(ux_profile_split(m->splitter, number + 1, &merger, &cost, err));
	UX_TRY(ux_request_work_charge(work, cost, err));
	part.start_ns = resource->start_ns;
	part.duration_ns = resource->duration_ns;
	return part.samples.size > 0 ? keeper_put(&m->batch, &origin, &part, err) : UX_OK;
}

static enum ux_code keeper_put_message(struct keeper_message *m, struct ux_bytes message,
				       struct ux_work *work, struct ux_error *err)
{
	struct ux_otlp otlp;
	struct ux_profile *p = &m->profile;
	UX_TRY(ux_profile_init(p, err));
	p->max = UX_PROFILE_MEMORY_MAX;
	UX_TRY(ux_otlp_read_resources(&otlp, message, p, &m->resources, err));
	UX_TRY(ux_profile_bound(p, err));
	if (!m->origin->named)
		UX_TRY(ux_profile_name_all(m->batch.keeper->server, m->origin->ns, p, work, err));
	UX_TRY(ux_profile_splitter_create(&m->splitter, p, err));
	for (uint32_t i = 0; i < m->resources.size; i++)
		UX_TRY(keeper_put_resource(m, i, work, err));
	return ux_request_work_charge(work, UX_WORK_CHECK, err);
}

static enum ux_code keeper_keep_message(struct ux_profile_keeper *k,
					const struct ux_profile_origin *origin,
					struct ux_bytes message, struct ux_work *work,
					struct ux_kept_numbers *ret, struct ux_error *err)
{
	ux_cleanup(keeper_message_deinit) struct keeper_message m = {
		.origin = origin,
		.batch = {.keeper = k, .arena.budget = UX_OTLP_RESOURCES_MAX * TEXTS_MAX}};
	UX_TRY(keeper_put_message(&m, message, work, err));
	return keeper_commit(&m.batch, ret, err);
}

/* --- interface -------------------------------------------------------------------------------- */

/*
 * Keeps a profile of an unnamed service: only an OpenTelemetry message names its services itself.
 */
static enum ux_code keeper_keep_unnamed(struct ux_profile_keeper *k,
					const struct ux_profile_origin *origin,
					struct ux_bytes bytes, struct ux_work *work,
					struct ux_kept_numbers *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping plain = {0};
	struct ux_bytes message = bytes;
	if (ux_packed_is(bytes)) {
		UX_TRY(ux_packed_inflate(bytes, UX_PROFILE_MESSAGE_MAX, &plain, err));
		message = plain.bytes;
	}
	if (!ux_otlp_is(message) || ux_pprof_is(message))
		return ux_error_set(err, UX_EINVAL, "missing service; expected ?service=NAME");
	return keeper_keep_message(k, origin, message, work, ret, err);
}

static enum ux_code keeper_count_failure(struct ux_profile_keeper *k, enum ux_code code)
{
	if (code != UX_OK)
		atomic_fetch_add_explicit(&k->failed, 1, memory_order_relaxed);
	return code;
}

enum ux_code ux_profile_keep_as(struct ux_profile_keeper *k, const struct ux_profile_origin *origin,
				struct ux_bytes bytes, struct ux_work *work,
				struct ux_kept_numbers *ret, struct ux_error *err)
{
	if (!ux_profile_keeper_is_on(k))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "this server keeps no profiles (setting keep-profiles)");
	bool named = origin->service[0] != '\0';
	return keeper_count_failure(k,
				    named ? keeper_keep_whole(k, origin, bytes, work, ret, err)
					  : keeper_keep_unnamed(k, origin, bytes, work, ret, err));
}

enum ux_code ux_profile_keep(struct ux_profile_keeper *k, const char *ns, struct ux_bytes message,
			     struct ux_work *work, struct ux_error *err)
{
	const struct ux_profile_origin origin = {
		.ns = ns, .service = "", .host = "", .build = "", .key_id = "", .named = true};
	if (!ux_profile_keeper_is_on(k))
		return UX_OK;
	return keeper_count_failure(k, keeper_keep_message(k, &origin, message, work, NULL, err));
}

/* --- removing --------------------------------------------------------------------------------- */

/* Removes old profiles, some in each transaction: one message may have brought thousands. */
static enum ux_code keeper_expire(struct ux_profile_keeper *k, struct ux_error *err)
{
	struct ux_index *ix = k->server->store->index;
	const int64_t end = ux_clock_ms() + EXPIRE_MS;
	int64_t keep_s = atomic_load_explicit(&k->keep_s, memory_order_relaxed);
	uint64_t n = keep_s > 0 ? REMOVE_MAX : 0;
	while (n == REMOVE_MAX && ux_clock_ms() < end) {
		UX_TRY(ix->profiles.expire(ix, ux_store_now(k->server->store) - keep_s, REMOVE_MAX,
					   &n, err));
		atomic_fetch_add_explicit(&k->removed, n, memory_order_relaxed);
	}
	return UX_OK;
}

static enum ux_code keeper_evict(struct ux_profile_keeper *k, struct ux_error *err)
{
	struct ux_index *ix = k->server->store->index;
	uint64_t max = atomic_load_explicit(&k->bytes_max, memory_order_relaxed), n = 1;
	struct ux_profile_usage usage;
	UX_TRY(ix->profiles.usage(ix, NULL, &usage, err));
	while (max > 0 && usage.bytes > max && n > 0) {
		UX_TRY(ix->profiles.evict(ix, usage.bytes - max, REMOVE_MAX, &n, err));
		atomic_fetch_add_explicit(&k->removed, n, memory_order_relaxed);
		UX_TRY(ix->profiles.usage(ix, NULL, &usage, err));
	}
	return UX_OK;
}

void ux_profile_keeper_tick(struct ux_profile_keeper *k)
{
	struct ux_error err = UX_ERROR_INIT;
	int64_t now = ux_clock_s();
	if (!k || now < k->next_tick)
		return;
	k->next_tick = now + TICK_S;
	uint64_t merged = 0;
	enum ux_code code = keeper_expire(k, &err);
	if (code == UX_OK)
		code = keeper_evict(k, &err);
	if (code == UX_OK)
		code = ux_profile_slots_merge(k, MERGE_MS, &merged, &err);
	atomic_fetch_add_explicit(&k->merged, merged, memory_order_relaxed);
	if (code != UX_OK) {
		char text[256], quoted[300];
		ux_log_line("warning", "profiles", "error=%s",
			    ux_log_quote(ux_bytes_cstr(ux_error_format(&err, text, sizeof(text))),
					 quoted, sizeof(quoted)));
	}
}
