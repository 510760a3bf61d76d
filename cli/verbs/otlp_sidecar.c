/* SPDX-License-Identifier: Apache-2.0 */
/* unhex symbolize --otlp-listen: names OpenTelemetry profiles in transit. */
#include "otlp_sidecar.h"

#include "commands.h"
#include "forwarder.h"
#include "http_server.h"
#include "metric_text.h"
#include "otlp_exchange.h"
#include "otlp_names.h"
#include "output.h"

#include <pthread.h>
#include <signal.h>

enum {
	QUEUE_BYTES = 1 << 30, /* default of --otlp-queue-bytes */
	RETRY_S = 5,           /* sent while the queue is full or cannot be written */
};

struct otlp_sidecar {
	struct ux_profile_input input; /* the cache of files, and the server to query */
	struct ux_profile_sources sources;
	pthread_mutex_t lock; /* held while a message is named: sources have one user at a time */
	struct ux_forwarder *forwarder;
	_Atomic uint64_t messages; /* sums, which need no memory order */
	_Atomic uint64_t locations;
};

/* --- requests --------------------------------------------------------------------------------- */

static enum ux_code sidecar_refuse(struct ux_response *res, unsigned status, enum ux_code code)
{
	res->retry_s = RETRY_S;
	res->status = status;
	return code;
}

/* Names the locations that have no lines. If a source fails, its locations stay unchanged. */
static enum ux_code sidecar_name(struct otlp_sidecar *s, struct ux_otlp_names *n,
				 struct ux_error *err)
{
	UX_TRY(ux_otlp_names_read(n, err));
	atomic_fetch_add_explicit(&s->messages, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&s->locations, n->locations.size, memory_order_relaxed);
	pthread_mutex_lock(&s->lock);
	enum ux_code code = ux_otlp_names_symbolize(n, &s->sources, err);
	pthread_mutex_unlock(&s->lock);
	return code;
}

/*
 * Refuses pages in a browser. They are of other sites, since there are none here, and could have
 * their messages forwarded with the credentials of --otlp-headers. Programs send neither header.
 */
static enum ux_code sidecar_check_sender(struct ux_request *req)
{
	struct ux_bytes v;
	if (!ux_request_header(req, "Origin", &v) && !ux_request_header(req, "Sec-Fetch-Site", &v))
		return UX_OK;
	return ux_error_set(&req->err, UX_EDENIED, "no page in a browser may send profiles here");
}

static enum ux_code sidecar_take(struct ux_request *req, struct ux_response *res)
{
	struct otlp_sidecar *s = req->app;
	ux_cleanup(ux_otlp_body_deinit) struct ux_otlp_body body = {0};
	ux_cleanup(ux_out_deinit) struct ux_out named = {.quota = &req->answer};
	ux_cleanup(ux_otlp_names_deinit) struct ux_otlp_names n = {.quota = &req->answer};
	UX_TRY(sidecar_check_sender(req));
	if (!ux_forwarder_has_room(s->forwarder))
		return sidecar_refuse(res, 429,
				      ux_error_set(&req->err, UX_EUNAVAILABLE,
						   "the queue of waiting profiles is full"));
	enum ux_code code = ux_otlp_body_read(req, res, &body);
	n.bytes = body.message;
	if (code == UX_OK)
		code = sidecar_name(s, &n, &req->err);
	if (code == UX_ECORRUPT)
		res->status = 400;
	UX_TRY(code);
	UX_TRY(ux_otlp_names_write(&n, &named, &req->err));
	code = ux_forwarder_add(s->forwarder, req->client, ux_out_bytes(&named), &req->err);
	if (code != UX_OK)
		return sidecar_refuse(res, code == UX_ELIMIT ? 429 : 503, code);
	return ux_otlp_accept(req, res, NULL);
}

static enum ux_code sidecar_health(struct ux_request *req, struct ux_response *res)
{
	(void)req;
	res->type = "application/json";
	res->body = UX_STR("{\"status\":\"ok\"}\n");
	return UX_OK;
}

static enum ux_code sidecar_metrics(struct ux_request *req, struct ux_response *res)
{
	struct otlp_sidecar *s = req->app;
	ux_metric_one(&req->out, "unhex_otlp_messages_total", "counter",
		      "Messages of OpenTelemetry profiles that were read.",
		      atomic_load_explicit(&s->messages, memory_order_relaxed));
	ux_metric_one(&req->out, "unhex_otlp_unnamed_locations_total", "counter",
		      "Locations in them without lines.",
		      atomic_load_explicit(&s->locations, memory_order_relaxed));
	ux_forwarder_metrics(s->forwarder, &req->out);
	return ux_response_out(req, res, UX_METRIC_TEXT_TYPE);
}

static const struct ux_route sidecar_routes[] = {
	{UX_METHOD_POST, "/v1development/profiles", sidecar_take, NULL, 0, "profiles to name",
	 .works = true, .body = UX_BODY_LARGE, .coded = true, .error = ux_otlp_error},
	{UX_METHOD_GET, "/healthz", sidecar_health, NULL, 0, "is the process alive?",
	 .probe = true},
	{UX_METHOD_GET, "/metrics", sidecar_metrics, NULL, 0, "for Prometheus", .probe = true},
};

/* --- running ---------------------------------------------------------------------------------- */

static void sidecar_log(void *ctx, const char *level, const char *event, const char *text)
{
	(void)ctx;
	(void)event;
	ux_print_message("%s: %s", level, text);
}

static void sidecar_close(struct otlp_sidecar *s)
{
	ux_forwarder_close(s->forwarder);
	ux_profile_input_close(&s->input);
	pthread_mutex_destroy(&s->lock);
}

static enum ux_code sidecar_serve(struct otlp_sidecar *s, const char *listen, const sigset_t *set,
				  struct ux_error *err)
{
	struct ux_http_memory memory = {0};
	const struct ux_http_app app = {
		.routes = sidecar_routes,
		.n_routes = ux_countof(sidecar_routes),
		.ctx = s,
		.memory = &memory,
		.limits = ux_http_limits_default((struct ux_http_limits){0}),
	};
	struct ux_http_server *http = NULL;
	int got = 0;
	memory.max = app.limits.memory_bytes;
	UX_TRY(ux_http_server_open(&http, listen, &app, err));
	printf("unhex: taking profiles on http://%s\n", ux_http_server_address(http));
	fflush(stdout);
	while (sigwait(set, &got) != 0)
		;
	ux_http_server_close(http);
	return UX_OK;
}

/*
 * There are no keys here, and everyone who can send uses the credentials of the receiver. A server
 * that keeps or forwards profiles takes them from other machines only with a key.
 */
static enum ux_code sidecar_check_address(const struct ux_otlp_values *values, struct ux_error *err)
{
	UX_TRY(ux_http_listen_check(values->listen, err));
	if (ux_http_is_loopback(values->listen))
		return UX_OK;
	if (!values->open)
		return ux_error_set(err, UX_EDENIED,
				    "--otlp-listen %.60s: other machines could forward profiles, "
				    "and there are no keys; use 127.0.0.1, a server (unhex serve), "
				    "or --otlp-open",
				    values->listen);
	ux_print_message("warning: --otlp-open: everyone who reaches %s forwards profiles to %s, "
			 "without a key",
			 values->listen, values->forward);
	return UX_OK;
}

static enum ux_code sidecar_run(struct otlp_sidecar *s, const struct ux_otlp_values *values,
				struct ux_profile_options *options, const sigset_t *set,
				struct ux_error *err)
{
	const struct ux_forward_options forward = {
		.url = values->forward,
		.header_file = values->headers,
		.dir = values->queue,
		.bytes_max = values->queue_bytes ? values->queue_bytes : (uint64_t)QUEUE_BYTES,
		.connections = 1,
		.log = sidecar_log,
	};
	UX_TRY(sidecar_check_address(values, err));
	UX_TRY(ux_profile_input_sources(&s->input, options, &s->sources, err));
	s->sources.progress = NULL;
	s->sources.no_kernel = true; /* addresses of OTLP's kernels are relative to their images */
	UX_TRY(ux_forwarder_open(&s->forwarder, &forward, err));
	return sidecar_serve(s, values->listen, set, err);
}

int ux_otlp_sidecar_run(const struct ux_command *cmd, const struct ux_otlp_values *values,
			struct ux_profile_options *options)
{
	sigset_t set, all;
	if (!values->forward || !values->queue)
		return ux_usage_error(cmd, "--otlp-listen needs --otlp-forward and --otlp-queue");
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	all = set;
	sigaddset(&all, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &all, NULL); /* before threads start */
	ux_cleanup(sidecar_close) struct otlp_sidecar s = {.input = UX_PROFILE_INPUT_INIT};
	struct ux_error err = UX_ERROR_INIT;
	pthread_mutex_init(&s.lock, NULL);
	enum ux_code code = sidecar_run(&s, values, options, &set, &err);
	return code == UX_OK ? UX_EXIT_DONE : ux_profile_input_fail(&s.input, NULL, &err);
}
