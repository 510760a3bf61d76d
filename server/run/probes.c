/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to probes: /healthz and /readyz, and a listener for nothing else. */
#include "probes.h"

#include "auth.h"
#include "http_server.h"
#include "readiness.h"
#include "watch.h"

enum {
	/* of one host, so that none takes all connections; this machine has no such limit */
	ADDRESS_CONNECTIONS = 16,
	IDLE_S = 5,
};

struct ux_probes {
	struct ux_http_app app;
	struct ux_http_server *http;
};

/*
 * Reports that the process answers and its threads make progress. Otherwise a supervisor should
 * restart it: nothing else frees a stuck thread.
 */
enum ux_code ux_handle_health(struct ux_request *req, struct ux_response *res)
{
	const char *what = "";
	int64_t ms = 0;
	if (!ux_watch_is_fine(ux_server_of(req)->watch, &what, &ms)) {
		res->status = 503;
		res->word = "stuck";
		return ux_error_set(&req->err, UX_EUNAVAILABLE,
				    "%s has been busy for %" PRId64 " s", what, ms / 1000);
	}
	res->type = "application/json";
	res->body = UX_STR("{\"status\":\"ok\"}\n");
	return UX_OK;
}

/* /healthz checks less, because a restart does not help against, for example, a full disk. */
enum ux_code ux_handle_ready(struct ux_request *req, struct ux_response *res)
{
	const struct ux_ready_state state = ux_ready_state_of(ux_server_of(req));
	ux_ready_state_write(&state, &req->out);
	res->status = ux_ready_state_refuses(&state) ? 503 : 200;
	return ux_response_out(req, res, "application/json");
}

static const struct ux_route probes_routes[] = {
	{UX_METHOD_GET, "/healthz", ux_handle_health, NULL, 0, "liveness probe", .probe = true},
	{UX_METHOD_GET, "/readyz", ux_handle_ready, NULL, 0, "readiness probe", .probe = true},
};

/* One request for each connection, so that no client keeps one of the few. */
static void probes_complete(struct ux_request *req, struct ux_response *res)
{
	ux_answer_complete(req, res);
	res->close = true;
}

enum ux_code ux_probes_open(struct ux_probes **ret, struct ux_server *s, const char *listen,
			    uint64_t seed, struct ux_error *err)
{
	struct ux_probes *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	p->app = (struct ux_http_app){
		.routes = probes_routes,
		.n_routes = ux_countof(probes_routes),
		.ctx = s,
		.complete = probes_complete,
		.limits = ux_http_limits_default((struct ux_http_limits){
			.connections = UX_PROBES_CONNECTIONS,
			.address_connections = ADDRESS_CONNECTIONS,
			.idle_seconds = IDLE_S,
			.threads = 1,
		}),
		.seed = seed,
	};
	enum ux_code code = ux_http_server_open(&p->http, listen, &p->app, err);
	if (code != UX_OK) {
		free(p);
		return code;
	}
	*ret = p;
	return UX_OK;
}

void ux_probes_close(struct ux_probes *p)
{
	if (!p)
		return;
	ux_http_server_cut(p->http);
	free(p);
}

const char *ux_probes_address(const struct ux_probes *p)
{
	return ux_http_server_address(p->http);
}
