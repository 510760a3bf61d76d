/* SPDX-License-Identifier: Apache-2.0 */
/* unhex serve: starts, waits for a signal, shuts down. */
#include "serve.h"

#include "auth.h"
#include "clock.h"
#include "crawl.h"
#include "event_log.h"
#include "extractor.h"
#include "fetcher.h"
#include "finish_queue.h"
#include "forwarder.h"
#include "forwarding.h"
#include "http_server.h"
#include "keeper.h"
#include "misses.h"
#include "module_cache.h"
#include "pages.h"
#include "probes.h"
#include "profile_keeper.h"
#include "readiness.h"
#include "routes.h"
#include "s3_client.h"
#include "service_manager.h"
#include "tls.h"
#include "upstream_set.h"
#include "viewer_files.h"
#include "watch.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	DESCRIPTORS = 64,        /* file descriptors for the index, logs, the lock and folders */
	DESCRIPTORS_THREAD = 4,  /* descriptors of a thread, in addition to its connections */
	CONNECTIONS_MIN = 16,    /* with fewer connections the server is useless */
	EXTRACT_WORKERS_MIN = 2, /* minimum, so that a short job need not wait for a long one */
	FINISHERS_MIN = 2,       /* threads that hash and verify uploads */
	FINISHERS_MAX = 16,
	/* additional threads that finish small uploads and wait for the disk */
	FINISHERS_SMALL = 8,
	/*
	 * descriptors of each extracting worker: files, their duplicates, a socket; and four for
	 * each of three results that are being committed
	 */
	DESCRIPTORS_WORKER = 16 + 3 * 4,
	STOP_STEP_MS = 50,    /* ms between checks for a second signal */
	MAPPED_MIN = 2 << 20, /* bytes of an allocation that is returned to the system when freed */
	KEPT_MAX = 8 << 20,   /* freed bytes that malloc() keeps, for each of its arenas */
};

static void serve_on_request_done(void *ctx, const struct ux_request *req,
				  const struct ux_response *res, bool sent, uint64_t duration_us)
{
	struct ux_server *s = ctx;
	ux_metrics_request(&s->metrics, ux_server_routes, ux_server_route_count, req, res, sent,
			   duration_us);
	ux_log_request(ctx, req, res, sent, duration_us);
}

/* Returns a random seed; the clock if there is no random number. The seed is not a secret. */
static uint64_t serve_random_seed(void)
{
	uint64_t seed = (uint64_t)ux_clock_wall();
	(void)!getrandom(&seed, sizeof(seed), 0);
	return seed;
}

static bool serve_is_proxy(void *ctx, const struct ux_address *peer)
{
	return ux_networks_have(&ux_server_access(ctx)->proxies, peer);
}

struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits)
{
	struct ux_http_app app = {
		.routes = ux_server_routes,
		.n_routes = ux_server_route_count,
		.ctx = s,
		.gate = ux_gate_check,
		.options = ux_cors_preflight,
		.complete = ux_answer_complete,
		.log = serve_on_request_done,
		.error_page = ux_web_error,
		.is_proxy = serve_is_proxy,
		.memory = &s->memory,
		.limits = ux_http_limits_default(limits),
		.seed = serve_random_seed(),
	};
	s->upload_max = app.limits.upload_bytes;
	s->crawl_of_host = UX_CRAWL_OF_HOST;
	s->memory.max = app.limits.memory_bytes;
	s->metrics.start = ux_clock_wall();
	s->routes = ux_server_routes;
	s->n_routes = ux_server_route_count;
	return app;
}

static void serve_block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
	sigset_t all = *set;
	sigaddset(&all, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/* Runs the periodic work and reloads until a signal requests a stop. */
static void serve_wait_for_signal(struct ux_running *r)
{
	int got = -1;
	while (got < 0 || got == SIGHUP) {
		ux_keeper_tick(r->keeper);
		got = ux_watch_wait(r->server->watch, UX_KEEPER_TICK_S * 1000);
		if (got == SIGHUP)
			ux_reload(r);
	}
	ux_log_line("info", "stop", "signal=%d", got);
}

/*
 * Stops the server: closes the listening socket, so that new clients are refused and can try
 * another server; then gives requests in flight time to end, which a second signal cuts short; then
 * closes the remaining connections.
 */
static void serve_stop(struct ux_running *r, struct ux_http_server *http)
{
	uint64_t left_ms = r->settings->stop_ms;
	unsigned in_flight = 1;
	atomic_store_explicit(&r->server->stopping, true, memory_order_relaxed);
	ux_service_notify("STOPPING=1");
	ux_http_server_quiesce(http);
	ux_extractor_interrupt(r->server->extractor);
	do {
		unsigned step = (unsigned)ux_min(left_ms, (uint64_t)STOP_STEP_MS);
		in_flight = ux_http_server_wait(http, step);
		left_ms -= step;
	} while (in_flight > 0 && left_ms > 0 && ux_watch_wait(r->server->watch, 0) < 0);
	ux_watch_set_server(r->server->watch, NULL);
	ux_http_server_cut(http);
	ux_log_line(in_flight > 0 ? "warning" : "info", "stopped", "cut=%u", in_flight);
}

static unsigned serve_extract_workers(const struct ux_settings *settings)
{
	if (settings->extract_workers != 0)
		return (unsigned)settings->extract_workers;
	return (unsigned)ux_max(sysconf(_SC_NPROCESSORS_ONLN), (long)EXTRACT_WORKERS_MIN);
}

/*
 * Limits the connections. Each may need a second descriptor, for a blob or an upload. Connections
 * get the descriptors that the index, the threads and the rest leave. Raises the soft limit to the
 * hard one. UX_EUNAVAILABLE: too few are left for a useful server.
 */
static enum ux_code serve_limit_connections(struct ux_http_limits *l, unsigned workers, bool probes,
					    struct ux_error *err)
{
	/* threads serve connections, and as many run handlers */
	const rlim_t others = DESCRIPTORS + DESCRIPTORS_THREAD * 2 * (rlim_t)l->threads +
			      DESCRIPTORS_WORKER * (rlim_t)workers +
			      (probes ? UX_PROBES_DESCRIPTORS : 0);
	const rlim_t min = others + 2 * ux_min((rlim_t)l->connections, (rlim_t)CONNECTIONS_MIN);
	struct rlimit r = {0};
	if (getrlimit(RLIMIT_NOFILE, &r) != 0)
		return UX_OK;
	r.rlim_cur = r.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &r) != 0 && getrlimit(RLIMIT_NOFILE, &r) != 0)
		return UX_OK;
	if (r.rlim_cur < min)
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "the limit of open files is %" PRIu64
				    "; the server needs %" PRIu64 " (ulimit -n, LimitNOFILE=)",
				    (uint64_t)r.rlim_cur, (uint64_t)min);
	rlim_t max = (r.rlim_cur - others) / 2;
	if (max < l->connections) {
		ux_log_line("warning", "limit",
			    "connections=%" PRIu64 " instead_of=%u open_files=%" PRIu64
			    " needed=%" PRIu64,
			    (uint64_t)max, l->connections, (uint64_t)r.rlim_cur,
			    (uint64_t)(others + 2 * (rlim_t)l->connections));
		l->connections = (unsigned)max;
	}
	return UX_OK;
}

static void serve_log_extracted(void *ctx, const struct ux_extracted_one *one)
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
	ux_upstream_extracted(s, one);
}

static enum ux_code serve_open_extractor(struct ux_server *s, const struct ux_settings *settings,
					 struct ux_error *err)
{
	const struct ux_sandbox_limits limits = {.memory = settings->extract_memory,
						 .output = settings->extract_output,
						 .seconds = ux_seconds_of(settings->extract_ms)};
	const struct ux_extractor_options options = {.limits = limits,
						     .workers = serve_extract_workers(settings),
						     .scratch = getenv("TMPDIR"),
						     .log = serve_log_extracted,
						     .log_ctx = s};
	return ux_extractor_open(&s->extractor, s->store, s->cache, &options, err);
}

static enum ux_code serve_open_finisher(struct ux_server *s, struct ux_error *err)
{
	long threads = sysconf(_SC_NPROCESSORS_ONLN) / 2;
	threads = ux_min(ux_max(threads, (long)FINISHERS_MIN), (long)FINISHERS_MAX);
	return ux_finisher_open(&s->finisher, (unsigned)threads, FINISHERS_SMALL, ux_finish_upload,
				s, err);
}

static bool serve_is_open(enum ux_reading reading, const char *address)
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

/* Reports readiness to users and to the service manager. */
static void serve_report_ready(const struct ux_server *s, const char *address, bool tls,
			       const char *dir, unsigned connections)
{
	bool socket = strncmp(address, "unix:", 5) == 0;
	const char *scheme = socket ? "" : tls ? "https://" : "http://";
	printf("unhex: serving on %s%s data=%s\n", scheme, address, dir);
	fflush(stdout);
	ux_log_line("info", "start", "version=%s address=%s tls=%s reading=%s connections=%u",
		    UX_VERSION, address, tls ? "yes" : "no", s->open_reading ? "open" : "keyed",
		    connections);
	ux_service_notify("READY=1\nMAINPID=%ld\nSTATUS=serving on %s%s", (long)getpid(), scheme,
			  address);
}

/* Opens the listener for probes, if there is one. */
static enum ux_code serve_open_probes(struct ux_probes **ret, struct ux_server *s,
				      const char *listen, uint64_t seed, struct ux_error *err)
{
	if (!listen)
		return UX_OK;
	UX_TRY(ux_probes_open(ret, s, listen, seed, err));
	ux_log_line("info", "probes", "address=%s", ux_probes_address(*ret));
	return UX_OK;
}

static enum ux_code serve_until_signal(struct ux_running *r, int fd, const char *dir,
				       struct ux_error *err)
{
	struct ux_server *s = r->server;
	struct ux_http_server *http = NULL;
	struct ux_probes *probes = NULL;
	struct ux_keeper keeper = ux_keeper_make(s);
	struct ux_http_limits limits = ux_limits_of_settings(r->settings);
	UX_TRY(serve_limit_connections(&limits, serve_extract_workers(r->settings),
				       r->settings->probe_listen != NULL, err));
	struct ux_http_app app = ux_server_app(s, limits);
	const enum ux_reading reading = (enum ux_reading)r->settings->reading;
	const struct ux_http_endpoint endpoint = {
		.listen = r->settings->listen, .fd = fd, .tls = r->settings->tls_certificate};
	r->keeper = &keeper;
	r->limits = &app.limits;
	ux_settings_apply(r);
	s->tls = r->settings->tls_certificate != NULL;
	s->local_only = reading == UX_READING_AUTO;
	UX_TRY(ux_http_server_open_at(&http, &endpoint, &app, err));
	atomic_store_explicit(&s->http, http, memory_order_release);
	ux_watch_set_server(s->watch, http);
	/* Uses the actual address, since a host name might resolve differently a second time. */
	const char *address = ux_http_server_address(http);
	atomic_store_explicit(&s->open_reading, serve_is_open(reading, address),
			      memory_order_relaxed);
	enum ux_code code = serve_open_probes(&probes, s, r->settings->probe_listen, app.seed, err);
	if (code == UX_OK)
		code = ux_extractor_start(s->extractor, err);
	if (code == UX_OK) {
		serve_report_ready(s, address, endpoint.tls, dir, app.limits.connections);
		ux_extractor_report_sandbox(s->extractor);
		ux_server_upstreams_report(r->settings);
		serve_wait_for_signal(r);
	}
	serve_stop(r, http);
	ux_fetcher_close(atomic_exchange(&s->fetcher, NULL));
	ux_extractor_stop(ux_take(&s->extractor));
	ux_keeper_finish(&keeper);
	ux_probes_close(probes);
	return code;
}

/* Opens the viewer. A configured one must exist; the packaged one need not. */
static enum ux_code serve_open_viewer(struct ux_server *s, const struct ux_settings *settings,
				      struct ux_error *err)
{
	struct ux_error absent = UX_ERROR_INIT;
	if (settings->speedscope)
		return ux_viewer_open(settings->speedscope, &s->viewer, err);
	enum ux_code code = ux_viewer_open(UX_SPEEDSCOPE_DIR, &s->viewer, &absent);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

/*
 * Evicts modules that any node changed, so that they are opened again. Called by the store's
 * thread.
 */
static void serve_take_changes(void *ctx, const struct ux_change_batch *batch)
{
	ux_module_cache_evict_numbers(ctx, batch->everything ? NULL : batch->modules,
				      batch->n_modules);
}

static enum ux_code serve_open(struct ux_running *r, int fd, const char *dir, const sigset_t *set,
			       struct ux_served_folder *served, struct ux_error *err)
{
	struct ux_server *s = r->server;
	struct ux_store_place place = ux_store_place_of(r->settings, dir);
	if (served)
		place.index = place.blobs = NULL;
	UX_TRY(ux_store_open_at(s->store, &place, err));
	enum ux_code code =
		ux_module_cache_create(&s->cache, s->store, r->settings->open_modules, err);
	if (code == UX_OK) {
		ux_module_cache_limit(s->cache, r->settings->memory_bytes);
		ux_store_on_changes(s->store, serve_take_changes, s->cache);
		code = served ? ux_served_folder_attach(served, s->store, err)
			      : ux_first_key(s->store, dir, r->settings->admin_key, err);
	}
	if (code == UX_OK)
		code = ux_gate_create(&s->gate, r->settings->session_key, err);
	s->presigned =
		(struct ux_presigned){.downloads = r->settings->presigned_downloads,
				      .uploads = r->settings->presigned_uploads,
				      .expires_s = ux_seconds_of(r->settings->presigned_expiry_ms)};
	if (code == UX_OK && !(s->misses = ux_misses_create()))
		code = ux_error_nomem(err);
	if (code == UX_OK)
		code = serve_open_extractor(s, r->settings, err);
	if (code == UX_OK)
		code = serve_open_finisher(s, err);
	if (code == UX_OK)
		code = ux_profile_keeper_create(&s->profiles, s, err);
	if (code == UX_OK)
		code = ux_server_upstreams_open(s, r->settings, err);
	if (code == UX_OK)
		code = ux_forwarding_open(s, r->settings, dir, err);
	if (code == UX_OK)
		code = serve_open_viewer(s, r->settings, err);
	if (code == UX_OK)
		code = ux_watch_open(&s->watch, set, err);
	if (code == UX_OK)
		code = ux_readiness_open(&s->readiness, s, err);
	if (code == UX_OK)
		code = serve_until_signal(r, fd, dir, err);
	ux_readiness_close(ux_take(&s->readiness)); /* no request is running any more */
	ux_forwarder_close(s->forwarder);
	ux_fetcher_close(s->fetcher);
	ux_finisher_close(s->finisher);
	ux_extractor_stop(s->extractor);
	ux_gate_destroy(s->gate);
	ux_profile_keeper_destroy(s->profiles);
	ux_viewer_close(ux_take(&s->viewer));
	ux_store_on_changes(s->store, NULL, NULL);
	ux_module_cache_destroy(s->cache);
	ux_misses_destroy(ux_take(&s->misses));
	ux_store_close(s->store);
	ux_watch_close(ux_take(&s->watch)); /* last, after everything that may take long */
	return code;
}

/*
 * Checks everything that can be wrong first, so that a typing error creates neither a folder nor a
 * key.
 */
static enum ux_code serve_check_address(const struct ux_settings *s, int *ret_fd,
					struct ux_error *err)
{
	UX_TRY(ux_passed_socket(ret_fd, err));
	if (*ret_fd < 0 && !s->listen)
		return ux_error_set(err, UX_EINVAL, "listen is empty; expected HOST:PORT");
	if (s->index && !ux_index_is_url(s->index))
		return ux_error_set(err, UX_EINVAL, "index %.100s; expected postgres://HOST/NAME",
				    s->index);
	if (s->blobs && !ux_s3_is_place(s->blobs))
		return ux_error_set(err, UX_EINVAL, "blobs %.100s; expected s3://BUCKET/PREFIX",
				    s->blobs);
	if (*ret_fd < 0)
		UX_TRY(ux_http_listen_check(s->listen, err));
	if (s->probe_listen)
		UX_TRY(ux_http_listen_check(s->probe_listen, err));
	return s->tls_certificate ? ux_tls_load(s->tls_certificate, s->tls_key, err) : UX_OK;
}

/*
 * Lowers two limits of malloc(). By default it raises both to 32 MiB and more when large buffers
 * are freed; then the buffers of a few large answers stay in fragmented arenas: 290 MiB after
 * answers that were limited to 32 MiB.
 */
static void serve_tune_malloc(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, MAPPED_MIN);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_MAX);
}

/*
 * Opens the folder to serve. It has everything that is served, so it excludes a store of the
 * server's own.
 */
static enum ux_code serve_open_folder(const struct ux_settings *s, struct ux_served_folder **ret,
				      struct ux_error *err)
{
	if (s->data || s->index || s->blobs)
		return ux_error_set(err, UX_EINVAL, "serve-from cannot be used with %s",
				    s->data    ? "data"
				    : s->index ? "index"
					       : "blobs");
	const struct ux_s3_options bucket = {.place = s->serve_from,
					     .endpoint = s->s3_endpoint,
					     .region = s->s3_region,
					     .keys = s->s3_keys,
					     .cafile = s->s3_cafile,
					     .host_style = s->s3_style == UX_S3_STYLE_HOST};
	return ux_served_folder_open(
		ret, s->serve_from, s->serve_from_key, ux_seconds_of(s->serve_from_max_age_ms),
		ux_s3_is_place(s->serve_from) ? &bucket : NULL, s->blob_cache, err);
}

enum ux_code ux_server_run(const struct ux_settings_source *source, struct ux_settings *settings,
			   struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *default_dir = NULL;
	struct ux_served_folder *served = NULL;
	struct ux_store store;
	ux_cleanup(ux_access_forget) struct ux_server s = {.store = &store};
	struct ux_running running = {.source = source, .settings = settings, .server = &s};
	sigset_t set;
	int fd = -1;
	ux_log_configure((enum ux_log_format)settings->log_format,
			 (enum ux_log_level)settings->log_level);
	enum ux_code code = ux_server_upstreams_expand(settings, err);
	if (code == UX_OK)
		code = ux_server_upstreams_check(settings, err);
	if (code == UX_OK)
		code = ux_forwarding_check(settings, err);
	if (code == UX_OK)
		code = serve_check_address(settings, &fd, err);
	if (code == UX_OK)
		code = ux_access_apply(&s, settings, err);
	serve_block_signals(&set);
	serve_tune_malloc();
	if (code == UX_OK && settings->serve_from)
		code = serve_open_folder(settings, &served, err);
	if (code == UX_OK && !settings->data && !served)
		code = ux_store_default_dir(&default_dir, err);
	const char *dir = served        ? ux_served_folder_scratch(served)
			  : default_dir ? default_dir
					: settings->data;
	/* The folder is open, so a reload must not change its path. */
	ux_cleanup(ux_free_ptr) char *kept = dir ? strdup(dir) : NULL;
	if (code == UX_OK && !kept)
		code = ux_error_nomem(err);
	if (code == UX_OK)
		code = serve_open(&running, fd, kept, &set, served, err);
	ux_served_folder_close(served);
	ux_tls_unload();
	ux_settings_destroy(running.settings);
	return code;
}
