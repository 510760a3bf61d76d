/* SPDX-License-Identifier: Apache-2.0 */
/* Does periodic work of a running server. */
#include "keeper.h"

#include "clock.h"
#include "event_log.h"
#include "module_cache.h"
#include "profile_keeper.h"

#include <time.h>

enum {
	WRITE_SECONDS = 60,
	SWEEP_SECONDS = 3600,
	SWEEP_GRACE = 24 * 60 * 60,
	/* seconds to keep expired answers of upstreams; requests for random IDs create many */
	ANSWERS_GRACE = 60 * 60,
	RETAIN_GRACE = 7 * 24 * 60 * 60, /* seconds: a week, so that people can notice the mark */
};

struct ux_keeper ux_keeper_make(struct ux_server *server)
{
	return (struct ux_keeper){.server = server,
				  .retention = {.grace_s = RETAIN_GRACE},
				  .sweep_grace_s = SWEEP_GRACE,
				  .sweep_every_s = SWEEP_SECONDS};
}

static void keeper_log_failure(const char *event, const struct ux_error *err)
{
	char text[256], quoted[300];
	ux_log_line("warning", event, "error=%s",
		    ux_log_quote(ux_bytes_cstr(ux_error_format(err, text, sizeof(text))), quoted,
				 sizeof(quoted)));
}

static void keeper_write_uses(struct ux_keeper *k)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_store_tick(k->server->store, &err) != UX_OK)
		keeper_log_failure("uses", &err);
}

/* Removes the files of objects that were deleted some seconds ago. */
static void keeper_collect(struct ux_keeper *k)
{
	struct ux_error err = UX_ERROR_INIT;
	uint64_t n = 0;
	if (ux_store_collect(k->server->store, &n, &err) != UX_OK)
		keeper_log_failure("sweep", &err);
}

static void keeper_sweep(struct ux_keeper *k)
{
	struct ux_store *s = k->server->store;
	struct ux_sweep done;
	struct ux_error err = UX_ERROR_INIT;
	if (!ux_store_clock_agrees(&s->clock))
		ux_log_line("warning", "sweep",
			    "skipped=\"the clock was changed; periodic work continues from the new "
			    "time\"");
	else if (ux_store_sweep(s, k->sweep_grace_s, ux_store_now(s), /* dry_run= */ false, &done,
				&err) != UX_OK)
		keeper_log_failure("sweep", &err);
	else if (done.blobs + done.parts + done.uploads > 0)
		ux_log_line("info", "sweep", "blobs=%" PRIu64 " parts=%" PRIu64 " uploads=%" PRIu64,
			    done.blobs, done.parts, done.uploads);
}

/* Logs each removed module and evicts it from the cache. */
static void keeper_on_retained(void *ctx, const struct ux_retained_one *one)
{
	struct ux_keeper *k = ctx;
	char quoted[300];
	if (one->ids)
		ux_module_cache_evict(k->server->cache, one->ns, (const char *const *)one->ids,
				      one->n_ids);
	if (one->what != UX_RETAINED_IDLE)
		ux_log_line("info", "retention", "what=%s namespace=%s id=%s bytes=%" PRIu64,
			    ux_retained_name(one->what), one->ns,
			    ux_log_quote(ux_bytes_cstr(one->id), quoted, sizeof(quoted)),
			    one->bytes);
}

static void keeper_retain(struct ux_keeper *k)
{
	struct ux_retained_sum sum;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_store_retain(k->server->store, &k->retention, keeper_on_retained, k, &sum, &err) !=
	    UX_OK)
		keeper_log_failure("retention", &err);
}

static void keeper_expire(struct ux_keeper *k)
{
	struct ux_store *s = k->server->store;
	struct ux_index *ix = s->index;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t n = 0;
	ux_time now = ux_store_now(s);
	enum ux_code code = ix->fetched.expire(
		ix, NULL, now - ux_min(k->sweep_grace_s, (int64_t)ANSWERS_GRACE), &n, &err);
	if (code == UX_OK && k->audit_s > 0)
		code = ix->audit.expire(ix, now - k->audit_s, &n, &err);
	if (code != UX_OK)
		keeper_log_failure("expire", &err);
}

static void keeper_on_lost(void *ctx, const char *hash)
{
	(void)ctx;
	ux_log_line("error", "blob_lost", "sha256=%s", hash);
}

/* Handles blobs that requests missed in the bucket. */
static void keeper_heal(struct ux_keeper *k)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_store_heal(k->server->store, keeper_on_lost, k, &err) != UX_OK)
		keeper_log_failure("heal", &err);
}

/* Finds blobs that the bucket has lost before a request does. */
static void keeper_find_lost(struct ux_keeper *k, int64_t now)
{
	struct ux_error err = UX_ERROR_INIT;
	bool more = false;
	if (now < k->next_find)
		return;
	if (ux_store_find_lost(k->server->store, keeper_on_lost, k, &more, &err) != UX_OK)
		keeper_log_failure("heal", &err);
	k->next_find = ux_clock_s() + (more ? WRITE_SECONDS : k->sweep_every_s);
}

void ux_keeper_tick(struct ux_keeper *k)
{
	int64_t now = ux_clock_s();
	struct ux_store *s = k->server->store;
	ux_trends_note(&k->server->trends, &k->server->metrics, ux_store_now(s));
	if (now >= k->next_write || ux_last_use_urgent(&s->last_use) ||
	    ux_store_clock_urgent(&s->clock)) {
		keeper_write_uses(k);
		k->next_write = now + WRITE_SECONDS;
	}
	ux_node_log(k->server, &k->logged);
	keeper_heal(k);
	if (!ux_store_does_maintenance(s))
		return;
	ux_profile_keeper_tick(k->server->profiles);
	keeper_collect(k);
	keeper_find_lost(k, now);
	if (now < k->next_sweep)
		return;
	keeper_retain(k);
	keeper_expire(k);
	keeper_sweep(k);
	k->next_sweep = now + k->sweep_every_s;
}

void ux_keeper_finish(struct ux_keeper *k)
{
	keeper_write_uses(k);
}
