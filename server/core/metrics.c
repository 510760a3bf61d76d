/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in the format of Prometheus. */
#include "metrics.h"

/* Upper bounds of the buckets in microseconds. */
static const uint64_t bounds[UX_METRICS_BUCKETS] = {
	100, 250, 500, 1000, 2500, 5000, 25000, 100000, 500000, 1000000, 5000000, 30000000,
};

static void metrics_add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static uint64_t metrics_get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static size_t metrics_index_of(const struct ux_route *routes, size_t n_routes,
			       const struct ux_route *route)
{
	size_t i = route ? (size_t)(route - routes) : n_routes;
	return ux_min(ux_min(i, n_routes), (size_t)UX_METRICS_ROUTES_MAX);
}

void ux_metrics_request(struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
			const struct ux_request *req, const struct ux_response *res, bool sent,
			uint64_t duration_us)
{
	struct ux_metrics_route *r = &m->routes[metrics_index_of(routes, n_routes, req->route)];
	unsigned class = ux_min(ux_max(res->status / 100, 1U), (unsigned)UX_METRICS_CLASSES) - 1;
	size_t bucket = 0;
	while (bucket < UX_METRICS_BUCKETS && duration_us > bounds[bucket])
		bucket++;
	metrics_add(&r->requests[class], 1);
	metrics_add(bucket < UX_METRICS_BUCKETS ? &r->buckets[bucket] : &r->slower, 1);
	metrics_add(&r->duration_us, duration_us);
	metrics_add(&r->bytes_in, req->body_size);
	if (sent && req->method != UX_METHOD_HEAD)
		metrics_add(&r->bytes_out, res->fd_size > 0 ? res->fd_size : res->body.size);
	if (!sent)
		metrics_add(&m->vanished, 1);
}

/* Writes the labels of a route without the braces. */
static void metrics_put_route(struct ux_out *out, const struct ux_route *routes, size_t n_routes,
			      size_t i)
{
	if (i < n_routes)
		ux_out_fmt(out, "method=\"%s\",route=\"%s\"", ux_method_name(routes[i].method),
			   routes[i].pattern);
	else
		ux_out_cstr(out, "method=\"\",route=\"\"");
}

static uint64_t metrics_count_of(const struct ux_metrics_route *r)
{
	uint64_t sum = 0;
	for (size_t k = 0; k < UX_METRICS_CLASSES; k++)
		sum += metrics_get(&r->requests[k]);
	return sum;
}

struct table {
	const struct ux_metrics *m;
	const struct ux_route *routes;
	size_t n;
	struct ux_out *out;
};

static void metrics_put_requests(const struct table *t)
{
	ux_metric_head(t->out, "unhex_http_requests_total", "counter",
		       "Requests by route and status.");
	for (size_t i = 0; i <= t->n; i++) {
		for (size_t k = 0; k < UX_METRICS_CLASSES; k++) {
			uint64_t v = metrics_get(&t->m->routes[i].requests[k]);
			if (v == 0)
				continue;
			ux_out_cstr(t->out, "unhex_http_requests_total{");
			metrics_put_route(t->out, t->routes, t->n, i);
			ux_out_fmt(t->out, ",code=\"%zuxx\"} %" PRIu64 "\n", k + 1, v);
		}
	}
}

static void metrics_put_bucket(const struct table *t, size_t i, const char *bound, uint64_t v)
{
	ux_out_cstr(t->out, "unhex_http_request_duration_seconds_bucket{");
	metrics_put_route(t->out, t->routes, t->n, i);
	ux_out_fmt(t->out, ",le=\"%s\"} %" PRIu64 "\n", bound, v);
}

static void metrics_put_durations_of(const struct table *t, size_t i)
{
	const struct ux_metrics_route *r = &t->m->routes[i];
	uint64_t sum = 0;
	for (size_t k = 0; k < UX_METRICS_BUCKETS; k++) {
		char bound[32];
		sum += metrics_get(&r->buckets[k]);
		snprintf(bound, sizeof(bound), "%g", (double)bounds[k] / 1e6);
		metrics_put_bucket(t, i, bound, sum);
	}
	sum += metrics_get(&r->slower);
	metrics_put_bucket(t, i, "+Inf", sum);
	ux_out_cstr(t->out, "unhex_http_request_duration_seconds_sum{");
	metrics_put_route(t->out, t->routes, t->n, i);
	ux_out_fmt(t->out, "} %.6f\n", (double)metrics_get(&r->duration_us) / 1e6);
	ux_out_cstr(t->out, "unhex_http_request_duration_seconds_count{");
	metrics_put_route(t->out, t->routes, t->n, i);
	ux_out_fmt(t->out, "} %" PRIu64 "\n", sum);
}

static void metrics_put_bytes(const struct table *t, const char *name, const char *help,
			      size_t member)
{
	ux_metric_head(t->out, name, "counter", help);
	for (size_t i = 0; i <= t->n; i++) {
		const struct ux_metrics_route *r = &t->m->routes[i];
		uint64_t v = metrics_get(
			(const _Atomic uint64_t *)(const void *)((const char *)r + member));
		if (v == 0)
			continue;
		ux_out_fmt(t->out, "%s{", name);
		metrics_put_route(t->out, t->routes, t->n, i);
		ux_out_fmt(t->out, "} %" PRIu64 "\n", v);
	}
}

static void metrics_put_otlp(const struct ux_metrics *m, struct ux_out *out)
{
	static const char *const results[UX_OTLP_COUNTS] = {
		[UX_OTLP_KEPT] = "already",       [UX_OTLP_NAMED] = "named",
		[UX_OTLP_NAMELESS] = "no_symbol", [UX_OTLP_PENDING] = "pending",
		[UX_OTLP_MISSING] = "missing",    [UX_OTLP_UNKNOWN] = "no_id",
	};
	ux_metric_one(out, "unhex_otlp_messages_total", "counter",
		      "Messages of OpenTelemetry profiles that were read.",
		      metrics_get(&m->otlp[UX_OTLP_MESSAGES]));
	ux_metric_one(
		out, "unhex_otlp_partial_messages_total", "counter",
		"Messages of OpenTelemetry profiles that exceeded the work budget of a request.",
		metrics_get(&m->otlp[UX_OTLP_OVER_BUDGET]));
	ux_metric_head(out, "unhex_otlp_locations_total", "counter",
		       "Locations in these messages by result.");
	for (size_t i = 0; i < UX_OTLP_COUNTS; i++)
		if (results[i])
			ux_out_fmt(out, "unhex_otlp_locations_total{result=\"%s\"} %" PRIu64 "\n",
				   results[i], metrics_get(&m->otlp[i]));
}

void ux_metrics_write(const struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
		      struct ux_out *out)
{
	const struct table t = {m, routes, ux_min(n_routes, (size_t)UX_METRICS_ROUTES_MAX), out};
	ux_metric_head(out, "unhex_build_info", "gauge", "Version of unhex; always 1.");
	ux_out_fmt(out, "unhex_build_info{version=\"%s\"} 1\n", UX_VERSION);
	ux_metric_one(out, "process_start_time_seconds", "gauge",
		      "When the process started, in seconds since 1970.", (uint64_t)m->start);
	metrics_put_requests(&t);
	ux_metric_head(out, "unhex_http_request_duration_seconds", "histogram",
		       "Time from the first line of a request to the last byte of its response.");
	for (size_t i = 0; i <= t.n; i++)
		if (metrics_count_of(&m->routes[i]) > 0)
			metrics_put_durations_of(&t, i);
	metrics_put_bytes(&t, "unhex_http_request_bytes_total", "Bytes of request bodies received.",
			  offsetof(struct ux_metrics_route, bytes_in));
	metrics_put_bytes(&t, "unhex_http_response_bytes_total", "Bytes of response bodies sent.",
			  offsetof(struct ux_metrics_route, bytes_out));
	ux_metric_one(out, "unhex_http_vanished_total", "counter",
		      "Responses that the client did not wait for.", metrics_get(&m->vanished));
	ux_metric_one(out, "unhex_extracted_total", "counter",
		      "Uploaded files that were extracted.", metrics_get(&m->extracted));
	ux_metric_one(out, "unhex_extract_failed_total", "counter",
		      "Uploaded files that could not be extracted.",
		      metrics_get(&m->extract_failed));
	ux_metric_one(out, "unhex_build_id_conflicts_total", "counter",
		      "Uploads kept apart because another file has their build ID.",
		      metrics_get(&m->kept_apart));
	metrics_put_otlp(m, out);
}

void ux_metrics_otlp(struct ux_metrics *m, const uint64_t *n)
{
	for (size_t i = 0; i < UX_OTLP_COUNTS; i++)
		metrics_add(&m->otlp[i], n[i]);
}
