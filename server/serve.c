/* SPDX-License-Identifier: Apache-2.0 */
/* unhex serve: opening everything, waiting for a signal, closing everything. */
#include "serve.h"

#include "access_log.h"
#include "http_server.h"
#include "keeper.h"
#include "handlers.h"
#include "web.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

enum {
	DESCRIPTORS = 64,       /* that the index, logs, the lock and folders take */
	DESCRIPTORS_THREAD = 4, /* that a thread takes besides its connections */
	SECOND_MS = 1000,
	DAY_S = 24 * 60 * 60,
};

static void request_done(void *ctx, const struct ux_request *req, const struct ux_response *res,
			 bool sent, uint64_t duration_us)
{
	struct ux_server *s = ctx;
	ux_metrics_request(&s->metrics, ux_server_routes, ux_server_route_count, req, res, sent,
			   duration_us);
	ux_log_request(ctx, req, res, sent, duration_us);
}

struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits)
{
	struct ux_http_app app = {
		.routes = ux_server_routes,
		.n_routes = ux_server_route_count,
		.ctx = s,
		.gate = ux_server_gate,
		.log = request_done,
		.error_page = ux_web_error,
		.memory = &s->memory,
		.limits = ux_http_limits_default(limits),
	};
	s->upload_most = app.limits.upload_bytes;
	s->memory.most = app.limits.memory_bytes;
	s->metrics.start = ux_server_now();
	ux_sessions_init(&s->sessions);
	return app;
}

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigset_t all = *set;
	sigaddset(&all, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/* The only moment at which a token is shown: it is kept nowhere. */
static enum ux_code first_key(struct ux_index *ix, struct ux_error *err)
{
	UX_ARENA(arena, (size_t)64 << 20);
	struct ux_key_list keys;
	struct ux_key key = {.scopes = UX_SCOPE_ADMIN, .description = "made on the first start"};
	const struct ux_who who = {.key_id = "", .from = "server"};
	char token[UX_TOKEN_SIZE];
	UX_TRY(ix->keys.list(ix, &arena, &keys, err));
	if (keys.n > 0)
		return UX_OK;
	UX_TRY(ux_key_create(ix, &key, &who, ux_server_now(), token, err));
	printf("unhex: admin key %s (shown only now)\n", token);
	explicit_bzero(token, sizeof(token));
	return UX_OK;
}

/* Keeps the store until a signal comes. */
static void wait_for_signal(struct ux_keeper *keeper, const sigset_t *set)
{
	const struct timespec tick = {.tv_sec = UX_KEEPER_TICK_S};
	int got = -1;
	do {
		ux_keeper_tick(keeper);
		got = sigtimedwait(set, NULL, &tick);
	} while (got < 0);
	ux_log_line("info", "stop", "signal=%d", got);
}

static unsigned seconds_of(uint64_t ms)
{
	return (unsigned)((ms + SECOND_MS - 1) / SECOND_MS);
}

static struct ux_http_limits limits_of_settings(const struct ux_settings *s)
{
	struct ux_http_limits l = ux_http_limits_default((struct ux_http_limits){
		.header_bytes = s->header_bytes,
		.body_bytes = s->body_bytes,
		.upload_bytes = s->upload_bytes,
		.arena_bytes = s->request_memory,
		.memory_bytes = s->memory_bytes,
		.idle_seconds = seconds_of(s->idle_ms),
		.connections = (unsigned)s->connections,
		.threads = (unsigned)s->threads,
	});
	l.drain_bytes = s->drain_bytes; /* 0 is a choice here */
	l.stop_seconds = seconds_of(s->stop_ms);
	return l;
}

/*
 * Each connection may need a second descriptor, for a blob or an upload; as many as are left when
 * the index, the threads and the rest have theirs. The soft limit is raised to the hard one.
 */
static struct ux_http_limits limits_of_process(const struct ux_settings *settings)
{
	struct ux_http_limits l = limits_of_settings(settings);
	rlim_t others = DESCRIPTORS + DESCRIPTORS_THREAD * (rlim_t)l.threads;
	struct rlimit r = {0};
	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return l;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) != 0 && getrlimit(RLIMIT_NOFILE, &r) != 0)
		return l;
	rlim_t most = r.rlim_cur > others ? (r.rlim_cur - others) / 2 : 1;
	l.connections = (unsigned)ux_min((rlim_t)l.connections, ux_max(most, (rlim_t)l.threads));
	return l;
}

static void log_extracted(void *ctx, const struct ux_extracted_one *one)
{
	struct ux_server *s = ctx;
	char id[200], reason[300];
	bool fine = one->code == UX_OK && one->settled.state == UX_CANDIDATE_READY;
	if (one->code == UX_OK)
		atomic_fetch_add_explicit(fine ? &s->metrics.extracted : &s->metrics.extract_failed,
					  1, memory_order_relaxed);
	ux_log_line(fine ? "info" : "warning", "extract",
		    "ns=%s id=%s state=%s quality=%s functions=%" PRIu64 " reason=%s", one->ns,
		    ux_log_quote(ux_bytes_cstr(one->id), id, sizeof(id)),
		    one->code == UX_OK ? ux_candidate_state_name(one->settled.state) : "again",
		    ux_quality_name(one->settled.quality), one->settled.counts.functions,
		    ux_log_quote(ux_bytes_cstr(one->reason ? one->reason : ""), reason,
				 sizeof(reason)));
}

static void wake_extractor(void *ctx)
{
	ux_extractor_wake(ctx);
}

static enum ux_code open_extractor(struct ux_server *s, const struct ux_settings *settings,
				   struct ux_error *err)
{
	const struct ux_sandbox_limits limits = {.memory = settings->extract_memory,
						 .output = settings->extract_output,
						 .seconds = seconds_of(settings->extract_ms)};
	const struct ux_extractor_options options = {
		.limits = limits, .scratch = getenv("TMPDIR"), .log = log_extracted, .log_ctx = s};
	UX_TRY(ux_extractor_open(&s->extractor, s->store, s->cache, &options, err));
	ux_module_cache_set_waker(s->cache, wake_extractor, s->extractor);
	return UX_OK;
}

static bool is_open(enum ux_reading reading, const char *address)
{
	switch (reading) {
	case UX_READING_OPEN:
		return true;
	case UX_READING_KEYED:
		return false;
	case UX_READING_AUTO:
		break;
	}
	return ux_http_is_loopback(address);
}

static struct ux_keeper make_keeper(struct ux_server *s, const struct ux_settings *settings)
{
	struct ux_keeper k = ux_keeper_make(s);
	k.retention.default_s = (int64_t)settings->keep_days * DAY_S;
	k.retention.cache_bytes = settings->cache_bytes;
	k.audit_s = (int64_t)settings->audit_days * DAY_S;
	k.sweep_every_s = seconds_of(settings->sweep_every_ms);
	k.sweep_grace_s = seconds_of(settings->sweep_grace_ms);
	return k;
}

static enum ux_code serve(struct ux_server *s, const struct ux_settings *settings, const char *dir,
			  const sigset_t *set, struct ux_error *err)
{
	struct ux_http_server *http = NULL;
	struct ux_keeper keeper = make_keeper(s, settings);
	struct ux_http_app app = ux_server_app(s, limits_of_process(settings));
	const enum ux_reading reading = (enum ux_reading)settings->reading;
	s->local_only = reading == UX_READING_AUTO;
	UX_TRY(ux_http_server_open(&http, settings->listen, &app, err));
	/* By where it really listens: a name might be resolved to something else a second time. */
	const char *address = ux_http_server_address(http);
	atomic_store_explicit(&s->open_reading, is_open(reading, address), memory_order_relaxed);
	printf("unhex: serving on http://%s data=%s\n", address, dir);
	fflush(stdout);
	ux_log_line("info", "start", "version=%s address=%s reading=%s connections=%u", UX_VERSION,
		    address, s->open_reading ? "open" : "keyed", app.limits.connections);
	enum ux_code code = ux_extractor_start(s->extractor, err);
	if (code == UX_OK)
		wait_for_signal(&keeper, set);
	ux_http_server_close(http);
	ux_extractor_stop(ux_take(&s->extractor));
	ux_keeper_finish(&keeper);
	return code;
}

static void destroy_settings(struct ux_settings **s)
{
	ux_settings_destroy(*s);
}

enum ux_code ux_server_run(const struct ux_settings_source *source, struct ux_settings *settings,
			   struct ux_error *err)
{
	ux_cleanup(destroy_settings) struct ux_settings *now = settings;
	ux_cleanup(ux_free_ptr) char *default_dir = NULL;
	struct ux_store store;
	struct ux_server s = {.store = &store};
	sigset_t set;
	(void)source;
	/* First, so that a slip of the fingers makes no folder and no key. */
	if (!now->listen)
		return ux_error_set(err, UX_EINVAL, "listen is empty; expected HOST:PORT");
	UX_TRY(ux_http_listen_check(now->listen, err));
	block_signals(&set);
	if (!now->data)
		UX_TRY(ux_store_default_dir(&default_dir, err));
	const char *dir = now->data ? now->data : default_dir;
	UX_TRY(ux_store_open(&store, dir, err));
	enum ux_code code = ux_module_cache_create(&s.cache, &store, now->open_modules, err);
	if (code == UX_OK)
		code = first_key(store.index, err);
	if (code == UX_OK)
		code = open_extractor(&s, now, err);
	if (code == UX_OK)
		code = serve(&s, now, dir, &set, err);
	ux_extractor_stop(s.extractor);
	ux_module_cache_destroy(s.cache);
	ux_store_close(&store);
	return code;
}
