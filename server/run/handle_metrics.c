/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics and /readyz: for those who watch over the server. */
#include "routes.h"
#include "upstreams.h"

/* What is asked of the index when somebody looks; one that does not answer is left out. */
static void put_index(struct ux_request *req)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_usage usage;
	struct ux_job_counts jobs;
	if (ix->namespaces.usage(ix, NULL, &usage, NULL) == UX_OK) {
		ux_metrics_one(out, "unhex_modules", "gauge", "Modules that are known.",
			       usage.modules);
		ux_metrics_one(out, "unhex_stored_bytes", "gauge", "Bytes that were uploaded.",
			       usage.bytes);
		ux_metrics_one(out, "unhex_cache_bytes", "gauge",
			       "Bytes that can be had again: extracted, or from others.",
			       usage.cache_bytes);
	}
	if (ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(ux_server_of(req)->store), &jobs,
			    NULL) == UX_OK) {
		ux_metrics_one(out, "unhex_extract_waiting", "gauge",
			       "Uploaded files that wait to be extracted.", jobs.waiting);
		ux_metrics_one(out, "unhex_extract_running", "gauge",
			       "Uploaded files that are being extracted.", jobs.running);
	}
}

enum ux_code ux_handle_metrics(struct ux_request *req, struct ux_response *res)
{
	struct ux_server *s = ux_server_of(req);
	ux_metrics_write(&s->metrics, ux_server_routes, ux_server_route_count, &req->out);
	ux_metrics_one(&req->out, "unhex_request_memory_bytes", "gauge",
		       "Bytes of bodies and answers that requests keep now.",
		       atomic_load_explicit(&s->memory.used, memory_order_relaxed));
	ux_upstreams_metrics(s, &req->out);
	put_index(req);
	return ux_response_out(req, res, "text/plain; version=0.0.4; charset=utf-8");
}

static enum ux_code not_ready(struct ux_response *res, enum ux_code code)
{
	res->status = 503;
	res->word = "not_ready";
	return code;
}

/*
 * Ready: the index answers, and the server is not about to stop (only a connection that was open
 * before gets to see that). Alive (/healthz) is less: a restart mends no full disk.
 */
enum ux_code ux_handle_ready(struct ux_request *req, struct ux_response *res)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	struct ux_usage usage;
	if (atomic_load_explicit(&s->stopping, memory_order_relaxed))
		return not_ready(res, ux_error_set(&req->err, UX_EUNAVAILABLE, "it is stopping"));
	enum ux_code code = ix->namespaces.usage(ix, NULL, &usage, &req->err);
	if (code != UX_OK)
		return not_ready(res, code);
	res->type = "application/json";
	res->body = UX_STR("{\"status\":\"ready\"}\n");
	return UX_OK;
}
