/* SPDX-License-Identifier: Apache-2.0 */
/* unhex serve: opening everything, waiting for a signal, closing everything. */
#include "serve.h"

#include "access_log.h"
#include "http_server.h"
#include "server.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum {
	OPEN_MODULES = 256,         /* that the cache keeps mapped */
	SWEEP_SECONDS = 3600,       /* between two sweeps */
	SWEEP_GRACE = 24 * 60 * 60, /* seconds that garbage is left alone */
};

static const char default_listen[] = "127.0.0.1:8420";

struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits)
{
	struct ux_http_app app = {
		.routes = ux_server_routes,
		.n_routes = ux_server_route_count,
		.ctx = s,
		.gate = ux_server_gate,
		.log = ux_log_request,
		.limits = ux_http_limits_default(limits),
	};
	s->upload_most = app.limits.upload_bytes;
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
	char token[UX_TOKEN_SIZE];
	UX_TRY(ix->key_list(ix, &arena, &keys, err));
	if (keys.n > 0)
		return UX_OK;
	UX_TRY(ux_key_create(ix, &key, ux_server_now(), token, err));
	printf("unhex: admin key %s (shown only now)\n", token);
	explicit_bzero(token, sizeof(token));
	return UX_OK;
}

static void sweep(struct ux_store *s)
{
	struct ux_sweep done;
	struct ux_error err = UX_ERROR_INIT;
	char text[256], quoted[300];
	if (ux_store_sweep(s, SWEEP_GRACE, ux_server_now(), &done, &err) != UX_OK)
		ux_log_line("warning", "sweep", "error=%s",
			    ux_log_quote(ux_bytes_cstr(ux_error_format(&err, text, sizeof(text))),
					 quoted, sizeof(quoted)));
	else if (done.blobs + done.parts + done.uploads > 0)
		ux_log_line("info", "sweep", "blobs=%" PRIu64 " parts=%" PRIu64 " uploads=%" PRIu64,
			    done.blobs, done.parts, done.uploads);
}

/* Sweeps at once, then every hour, until a signal comes. */
static void wait_for_signal(struct ux_store *store, const sigset_t *set)
{
	const struct timespec hour = {.tv_sec = SWEEP_SECONDS};
	int got = -1;
	do {
		sweep(store);
		do {
			got = sigtimedwait(set, NULL, &hour);
		} while (got < 0 && errno == EINTR);
	} while (got < 0);
	ux_log_line("info", "stop", "signal=%d", got);
}

static enum ux_code serve(struct ux_server *s, const char *listen, const char *dir,
			  const sigset_t *set, struct ux_error *err)
{
	struct ux_http_server *http = NULL;
	struct ux_http_app app = ux_server_app(s, (struct ux_http_limits){0});
	UX_TRY(ux_http_server_open(&http, listen, &app, err));
	printf("unhex: serving on http://%s data=%s\n", ux_http_server_address(http), dir);
	fflush(stdout);
	ux_log_line("info", "start", "version=%s address=%s reading=%s", UX_VERSION,
		    ux_http_server_address(http), s->open_reading ? "open" : "keyed");
	wait_for_signal(s->store, set);
	ux_http_server_close(http);
	return UX_OK;
}

static bool open_reading(enum ux_reading reading, const char *listen)
{
	switch (reading) {
	case UX_READING_OPEN:
		return true;
	case UX_READING_KEYED:
		return false;
	case UX_READING_AUTO:
		break;
	}
	return ux_http_is_loopback(listen);
}

enum ux_code ux_server_run(const struct ux_server_options *options, struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *default_dir = NULL;
	const char *listen = options->listen ? options->listen : default_listen;
	struct ux_store store;
	struct ux_server s = {.store = &store,
			      .open_reading = open_reading(options->reading, listen)};
	sigset_t set;
	/* First, so that a slip of the fingers makes no folder and no key. */
	UX_TRY(ux_http_listen_check(listen, err));
	block_signals(&set);
	if (!options->data)
		UX_TRY(ux_store_default_dir(&default_dir, err));
	const char *dir = options->data ? options->data : default_dir;
	UX_TRY(ux_store_open(&store, dir, err));
	enum ux_code code = ux_module_cache_create(&s.cache, &store, OPEN_MODULES, err);
	if (code == UX_OK)
		code = first_key(store.index, err);
	if (code == UX_OK)
		code = serve(&s, listen, dir, &set, err);
	ux_module_cache_destroy(s.cache);
	ux_store_close(&store);
	return code;
}
