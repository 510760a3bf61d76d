/* SPDX-License-Identifier: Apache-2.0 */
/* Reloads settings while the server runs. */
#include "serve.h"

#include "auth.h"
#include "event_log.h"
#include "module_cache.h"
#include "profile_keeper.h"
#include "routes.h"
#include "service_manager.h"
#include "tls.h"
#include "upstream_set.h"
#include "watch.h"

enum {
	DAY_S = 24 * 60 * 60
};

struct ux_http_limits ux_limits_of_settings(const struct ux_settings *s)
{
	struct ux_http_limits l = ux_http_limits_default((struct ux_http_limits){
		.header_bytes = s->header_bytes,
		.body_bytes = s->body_bytes,
		.coded_bytes = s->otlp_bytes,
		.upload_bytes = s->upload_bytes,
		.arena_bytes = s->request_memory,
		.memory_bytes = s->memory_bytes,
		.idle_seconds = ux_seconds_of(s->idle_ms),
		.rate_bytes = s->slowest_rate,
		.address_connections = (unsigned)s->address_connections,
		.connections = (unsigned)s->connections,
		.threads = (unsigned)s->threads,
		.client_queue = (unsigned)s->client_queue,
		.request_ms = (unsigned)s->request_ms,
	});
	l.drain_bytes = s->drain_bytes; /* 0 is a valid setting here, not the default */
	l.stop_seconds = ux_seconds_of(s->stop_ms);
	return l;
}

static void reload_apply_limits(struct ux_running *r)
{
	const struct ux_http_limits next = ux_limits_of_settings(r->settings);
	ux_http_limits_change(r->limits, &next);
	atomic_store_explicit(&r->server->upload_max, next.upload_bytes, memory_order_relaxed);
	atomic_store_explicit(&r->server->memory.max, next.memory_bytes, memory_order_relaxed);
	ux_module_cache_limit(r->server->cache, next.memory_bytes);
	atomic_store_explicit(&r->server->crawl_of_host, (unsigned)r->settings->crawl_host_jobs,
			      memory_order_relaxed);
	struct ux_index_packages *packages = &r->server->store->index->packages;
	atomic_store_explicit(&packages->max, r->settings->crawl_packages, memory_order_relaxed);
	atomic_store_explicit(&packages->repositories_max, r->settings->crawl_repositories,
			      memory_order_relaxed);
}

static void reload_apply_keeping(struct ux_keeper *k, const struct ux_settings *s)
{
	k->retention.default_s = (int64_t)s->keep_days * DAY_S;
	k->retention.cache_bytes = s->cache_bytes;
	k->audit_s = (int64_t)s->audit_days * DAY_S;
	k->sweep_every_s = ux_seconds_of(s->sweep_every_ms);
	k->sweep_grace_s = ux_seconds_of(s->sweep_grace_ms);
}

void ux_settings_apply(struct ux_running *r)
{
	const struct ux_settings *s = r->settings;
	ux_log_configure((enum ux_log_format)s->log_format, (enum ux_log_level)s->log_level);
	ux_log_sample((unsigned)s->log_sample);
	reload_apply_limits(r);
	ux_watch_set_limits(r->server->watch, (int64_t)s->watchdog_ms, (int64_t)s->stop_ms);
	reload_apply_keeping(r->keeper, s);
	ux_profile_keeper_configure(r->server->profiles, s->keep_profiles_ms, s->profile_bytes,
				    s->profile_count);
	atomic_store_explicit(&r->server->store->room.min_free, s->min_free_bytes,
			      memory_order_relaxed);
}

/* The changed keys; logged after all of them are in force. */
struct changes {
	const struct ux_setting *rows[UX_SETTINGS_MAX];
	size_t n;
	bool upstreams;
};

static void reload_note_change(void *ctx, const struct ux_setting *row)
{
	struct changes *c = ctx;
	c->rows[c->n++] = row;
	c->upstreams |= strncmp(row->key, "upstream", 8) == 0;
}

static void reload_log_changes(const struct changes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct ux_setting *row = c->rows[i];
		if ((row->flags & UX_SETTING_LIVE) != 0)
			ux_log_line("info", "setting", "key=%s changed=yes", row->key);
		else
			ux_log_line("warning", "setting",
				    "key=%s changed=no reason=\"needs a restart\"", row->key);
	}
}

/* Ignores new upstreams if the server started without any. */
static void reload_keep_alone(struct ux_settings *next)
{
	if (next->upstreams.n == 0)
		return;
	ux_log_line("warning", "setting",
		    "key=upstreams changed=no reason=\"enabling upstreams needs a restart\"");
	next->upstreams = (struct ux_setting_list){0};
}

/* Keeps TLS on or off as it was: that cannot change without a restart. */
static enum ux_code reload_keep_tls(const struct ux_settings *now, struct ux_settings *next,
				    struct ux_error *err)
{
	if (!now->tls_certificate == !next->tls_certificate)
		return UX_OK;
	ux_log_line("warning", "setting",
		    "key=tls-certificate changed=no reason=\"enabling or disabling TLS needs a "
		    "restart\"");
	next->tls_certificate = next->tls_key = NULL;
	if (!now->tls_certificate)
		return UX_OK;
	next->tls_certificate =
		ux_arena_strndup(&next->arena, now->tls_certificate, strlen(now->tls_certificate));
	next->tls_key = ux_arena_strndup(&next->arena, now->tls_key, strlen(now->tls_key));
	return next->tls_certificate && next->tls_key ? UX_OK : ux_arena_fail(&next->arena, err);
}

static void reload_guard(struct ux_settings **s)
{
	ux_settings_destroy(*s);
}

static enum ux_code reload_take_over(struct ux_running *r, struct ux_error *err)
{
	ux_cleanup(reload_guard) struct ux_settings *next = NULL;
	struct changes changes = {.n = 0};
	UX_TRY(ux_settings_load(r->source, &next, err));
	UX_TRY(ux_server_upstreams_expand(next, err));
	UX_TRY(ux_server_upstreams_check(next, err));
	UX_TRY(reload_keep_tls(r->settings, next, err));
	if (!r->server->fetcher)
		reload_keep_alone(next);
	if (next->tls_certificate)
		UX_TRY(ux_tls_load(next->tls_certificate, next->tls_key, err));
	UX_TRY(ux_settings_keep(r->settings, next, reload_note_change, &changes, err));
	UX_TRY(ux_access_apply(r->server, next, err));
	if (changes.upstreams) {
		UX_TRY(ux_server_upstreams_change(r->server, next, err));
		ux_server_upstreams_report(next);
	}
	struct ux_settings *old = r->settings;
	r->settings = ux_take(&next);
	ux_settings_apply(r);
	ux_settings_destroy(old);
	reload_log_changes(&changes);
	return UX_OK;
}

void ux_reload(struct ux_running *r)
{
	struct ux_error err = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128], quoted[400];
	const char *file = r->source->file ? r->source->file : "";
	char shown[300];
	ux_log_quote(ux_bytes_cstr(file), shown, sizeof(shown));
	ux_service_reloading();
	if (reload_take_over(r, &err) == UX_OK) {
		ux_log_line("info", "reload", "file=%s", shown);
	} else {
		ux_error_format(&err, text, sizeof(text));
		ux_log_line("error", "reload",
			    "file=%s using=\"the previous configuration\" error=%s", shown,
			    ux_log_quote(ux_bytes_cstr(text), quoted, sizeof(quoted)));
	}
	ux_service_notify("READY=1");
}

/* --- access ----------------------------------------------------------------------------------- */

enum {
	ORIGINS_MAX = 1 << 20 /* memory for all origins */
};

/* One set of access settings that is or was in force. */
struct in_force {
	struct ux_access access;
	struct ux_arena arena; /* memory for the origins */
	struct in_force *before;
};

static void access_destroy(struct in_force *f)
{
	if (!f)
		return;
	ux_arena_deinit(&f->arena);
	free(f);
}

static void access_guard(struct in_force **f)
{
	access_destroy(*f);
}

static enum ux_code access_read_networks(const struct ux_setting_list *list,
					 struct ux_networks *ret, struct ux_error *err)
{
	for (size_t i = 0; i < list->n; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_networks_add(ret, list->items[i], &why);
		if (code != UX_OK)
			return ux_error_set(err, UX_EINVAL, "trusted-proxies: %s", why.text);
	}
	return UX_OK;
}

static enum ux_code access_copy_origins(struct in_force *f, const struct ux_setting_list *list,
					struct ux_error *err)
{
	const char **origins = ux_arena_array(&f->arena, const char *, list->n + 1);
	if (!origins)
		return ux_arena_fail(&f->arena, err);
	for (size_t i = 0; i < list->n; i++) {
		origins[i] = ux_arena_strndup(&f->arena, list->items[i], strlen(list->items[i]));
		if (!origins[i])
			return ux_arena_fail(&f->arena, err);
	}
	f->access.origins = origins;
	f->access.n_origins = list->n;
	return UX_OK;
}

static enum ux_openness access_metrics_openness(enum ux_reading metrics)
{
	switch (metrics) {
	case UX_READING_OPEN:
		return UX_OPEN_TO_ALL;
	case UX_READING_KEYED:
		return UX_OPEN_TO_NONE;
	case UX_READING_AUTO:
		break;
	}
	return UX_OPEN_TO_MACHINE;
}

enum ux_code ux_access_apply(struct ux_server *s, const struct ux_settings *settings,
			     struct ux_error *err)
{
	ux_cleanup(access_guard) struct in_force *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	ux_arena_init(&f->arena, ORIGINS_MAX);
	f->access = (struct ux_access){
		.metrics = access_metrics_openness((enum ux_reading)settings->metrics),
		.key_rate = {settings->rate_key, settings->rate_key_burst},
		.address_rate = {settings->rate_address, settings->rate_address_burst},
		.wait_max_ms = (unsigned)settings->queue_ms,
		.uploads_key = settings->uploads_key,
		.uploads_all = settings->uploads_all,
		.upload_bytes_key = settings->uploads_bytes_key,
		.upload_bytes_all = settings->uploads_bytes_all,
	};
	UX_TRY(access_read_networks(&settings->trusted_proxies, &f->access.proxies, err));
	UX_TRY(access_copy_origins(f, &settings->origins, err));
	const struct ux_access *before = atomic_load_explicit(&s->access, memory_order_relaxed);
	f->before = before ? ux_container_of(before, struct in_force, access) : NULL;
	/* Release: a thread that sees the pointer also sees the settings. */
	atomic_store_explicit(&s->access, &ux_take(&f)->access, memory_order_release);
	return UX_OK;
}

void ux_access_forget(struct ux_server *s)
{
	const struct ux_access *a = atomic_exchange(&s->access, NULL);
	struct in_force *f = a ? ux_container_of(a, struct in_force, access) : NULL;
	while (f) {
		struct in_force *before = f->before;
		access_destroy(f);
		f = before;
	}
}
