/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes. docs/api/openapi.yaml describes the same routes; a test compares them. */
#include "routes.h"

#include "auth.h"
#include "crawl.h"
#include "forwarder.h"
#include "frame_filler.h"
#include "http_server.h"
#include "module_cache.h"
#include "modules.h"
#include "node_state.h"
#include "otlp_exchange.h"
#include "pages.h"
#include "probes.h"
#include "profile_keeper.h"
#include "profiles.h"
#include "protocols.h"
#include "serve.h"
#include "symbolize.h"
#include "upload.h"
#include "upstream_set.h"

enum {
	/* scopes that may upload; ux_caller_trust() tells how far their symbols are trusted */
	UPLOADS = UX_SCOPE_UPLOAD | UX_SCOPE_AGENT,
};

const struct ux_route ux_server_routes[] = {
	{UX_METHOD_GET, "/", ux_handle_root, NULL, 0, "this list; a page for browsers", true,
	 .works = true},
	{UX_METHOD_GET, "/healthz", ux_handle_health, NULL, 0, "liveness probe", .probe = true},
	{UX_METHOD_GET, "/readyz", ux_handle_ready, NULL, 0, "readiness probe", .probe = true},
	{UX_METHOD_GET, "/metrics", ux_handle_metrics, NULL, UX_SCOPE_METRICS, "for Prometheus",
	 .works = true, .probe = true},
	{UX_METHOD_POST, "/v1/query", ux_handle_query, NULL, UPLOADS,
	 "which of these uploads are wanted?", .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_POST, "/v1/uploads", ux_handle_upload_announce, NULL, UPLOADS,
	 "announce an upload", .body = UX_BODY_SMALL},
	{UX_METHOD_GET, "/v1/uploads/{uid}", ux_handle_upload_state, NULL, UPLOADS,
	 "progress of the upload"},
	{UX_METHOD_PUT, "/v1/uploads/{uid}", ux_handle_upload_data, ux_handle_upload_begin, UPLOADS,
	 "send bytes"},
	{UX_METHOD_POST, "/v1/uploads/{uid}/finish", ux_handle_upload_finish, NULL, UPLOADS,
	 "verify the upload and make it a candidate", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_POST, "/v1/symbolize", ux_handle_symbolize, NULL, UX_SCOPE_SYMBOLIZE,
	 "names of many addresses", .works = true, .quick = true, .body = UX_BODY_LARGE},
	{UX_METHOD_GET, "/v1/symbolize/{id}", ux_handle_symbolize_one, NULL, UX_SCOPE_SYMBOLIZE,
	 "names of a few addresses: ?addr=0x1,0x2", .works = true, .quick = true},
	{UX_METHOD_GET, "/v1/modules", ux_handle_modules, NULL, UX_SCOPE_READ, "list of modules",
	 .works = true},
	{UX_METHOD_GET, "/v1/modules/{id}", ux_handle_module, NULL, UX_SCOPE_READ,
	 "one module with its candidates", .works = true},
	{UX_METHOD_DELETE, "/v1/modules/{id}", ux_handle_module_delete, NULL, UX_SCOPE_DELETE,
	 "forget a module", .works = true},
	{UX_METHOD_PUT, "/v1/modules/{id}/pins/{label}", ux_handle_pin, NULL, UX_SCOPE_UPLOAD,
	 "keep a module even if it is unused", .works = true},
	{UX_METHOD_DELETE, "/v1/modules/{id}/pins/{label}", ux_handle_unpin, NULL, UX_SCOPE_DELETE,
	 "remove a pin", .works = true},
	{UX_METHOD_GET, "/v1/audit", ux_handle_audit, NULL, UX_SCOPE_ADMIN, "audit log",
	 .works = true},
	{UX_METHOD_GET, "/v1/keys", ux_handle_keys, NULL, UX_SCOPE_ADMIN, "keys of the namespace",
	 .works = true},
	{UX_METHOD_POST, "/v1/keys", ux_handle_key_create, NULL, UX_SCOPE_ADMIN,
	 "a new key, whose token is shown once", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_POST, "/v1/keys/{id}/rotate", ux_handle_key_rotate, NULL, UX_SCOPE_ADMIN,
	 "rotate a key's token", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_DELETE, "/v1/keys/{id}", ux_handle_key_revoke, NULL, UX_SCOPE_ADMIN,
	 "revoke a key", .works = true},
	{UX_METHOD_GET, "/v1/whoami", ux_handle_whoami, NULL, UX_SCOPES_ALL,
	 "permissions of a key, or without one"},
	{UX_METHOD_GET, "/buildid/{id}/debuginfo", ux_handle_debuginfod_debuginfo, NULL,
	 UX_SCOPE_READ, "debuginfod: the file with debug information", .waits = true},
	{UX_METHOD_GET, "/buildid/{id}/executable", ux_handle_debuginfod_executable, NULL,
	 UX_SCOPE_READ, "debuginfod: the file with code", .waits = true},
	{UX_METHOD_GET, "/buildid/{id}/section/{name}", ux_handle_debuginfod_section, NULL,
	 UX_SCOPE_READ, "debuginfod: one section", .waits = true, .works = true},
	{UX_METHOD_GET, "/buildid/{id}/source/{path...}", ux_handle_debuginfod_source, NULL,
	 UX_SCOPE_READ, "debuginfod: a source file", .waits = true},
	{UX_METHOD_GET, "/metadata", ux_handle_debuginfod_metadata, NULL, UX_SCOPE_READ,
	 "debuginfod: files by name", .waits = true, .works = true},
	{UX_METHOD_POST, "/symbolicate/v5", ux_handle_symbolicate_v5, NULL, UX_SCOPE_SYMBOLIZE,
	 "Mozilla's symbolication API: the Firefox Profiler", .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_POST, "/source/v1", ux_handle_source_v1, NULL, UX_SCOPE_READ,
	 "a source file for the Firefox Profiler", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_POST, "/asm/v1", ux_handle_asm_v1, NULL, UX_SCOPE_READ,
	 "machine code for the Firefox Profiler", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_GET, "/pprof/{id}/symbol", ux_handle_pprof_probe, NULL, UX_SCOPE_SYMBOLIZE,
	 "does pprof find symbols here?", .works = true},
	{UX_METHOD_POST, "/pprof/{id}/symbol", ux_handle_pprof_symbol, NULL, UX_SCOPE_SYMBOLIZE,
	 "pprof's remote symbolization", .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_POST, "/v1development/profiles", ux_handle_otlp_profiles, NULL,
	 UX_SCOPE_SYMBOLIZE, "OpenTelemetry profiles to symbolize and forward", .works = true,
	 .body = UX_BODY_LARGE, .keeps = true, .coded = true, .error = ux_otlp_error},
	{UX_METHOD_POST, "/v1/symbolize/otlp", ux_handle_symbolize_otlp, NULL, UX_SCOPE_SYMBOLIZE,
	 "the same; returns the symbolized message", .works = true, .body = UX_BODY_LARGE,
	 .coded = true, .error = ux_otlp_error},
	{UX_METHOD_POST, "/v1/crawl/packages", ux_handle_crawl_packages, NULL, UX_SCOPE_CRAWL,
	 "announce packages of a repository", .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_GET, "/v1/crawl/repositories", ux_handle_crawl_repositories, NULL, UX_SCOPE_READ,
	 "repositories that were announced", .works = true},
	{UX_METHOD_POST, "/v1/crawl/jobs/take", ux_handle_crawl_take, NULL, UX_SCOPE_CRAWL,
	 "lease packages", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_POST, "/v1/crawl/jobs/{id}/renew", ux_handle_crawl_renew, NULL, UX_SCOPE_CRAWL,
	 "renew a lease", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_POST, "/v1/crawl/jobs/{id}/end", ux_handle_crawl_end, NULL, UX_SCOPE_CRAWL,
	 "end a lease", .works = true, .body = UX_BODY_SMALL},
	{UX_METHOD_GET, "/v1/crawl/status", ux_handle_crawl_status, NULL, UX_SCOPE_READ,
	 "progress of crawls", .works = true},
	{UX_METHOD_POST, "/v1/profiles", ux_handle_profile_upload, NULL, UX_SCOPE_UPLOAD,
	 "keep a profile: ?service=NAME", .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_GET, "/v1/profiles", ux_handle_profiles, NULL, UX_SCOPE_READ,
	 "profiles that are kept", .works = true},
	{UX_METHOD_GET, "/v1/profiles/services", ux_handle_profile_services, NULL, UX_SCOPE_READ,
	 "services with profiles", .works = true},
	{UX_METHOD_GET, "/v1/profiles/merged", ux_handle_profile_merged, NULL, UX_SCOPE_READ,
	 "merged profile of a time span: ?service=NAME&format=pprof", .works = true},
	{UX_METHOD_GET, "/v1/profiles/{id}", ux_handle_profile, NULL, UX_SCOPE_READ, "one profile",
	 .works = true},
	{UX_METHOD_DELETE, "/v1/profiles/{id}", ux_handle_profile_delete, NULL, UX_SCOPE_DELETE,
	 "forget a profile", .works = true},
	{UX_METHOD_GET, "/p/{id}/pprof/profile", ux_handle_profile_pprof, NULL, UX_SCOPE_READ,
	 "a profile for pprof's tools", .works = true},
	{UX_METHOD_GET, "/p/{id}/pprof/symbol", ux_handle_profile_symbol_probe, NULL, UX_SCOPE_READ,
	 "does pprof find its symbols here?", .works = true},
	{UX_METHOD_POST, "/p/{id}/pprof/symbol", ux_handle_profile_symbol, NULL, UX_SCOPE_READ,
	 "names of a profile's addresses, for pprof's tools", .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_GET, "/v1/explain/{id}", ux_handle_explain, NULL, UX_SCOPE_READ,
	 "why a module has or lacks symbols: ?addr=0x1", .works = true},
	{UX_METHOD_GET, "/v1/export", ux_handle_export, NULL, UX_SCOPE_READ,
	 "all objects, to copy the store: ?since=", .works = true},
	{UX_METHOD_GET, "/v1/export/{sha256}", ux_handle_export_object, NULL, UX_SCOPE_READ,
	 "the content of an object", .works = true},
	{UX_METHOD_GET, "/v1/gsym/{id}", ux_handle_gsym, NULL, UX_SCOPE_READ, "the best GSYM"},

	/* Web pages. */
	{UX_METHOD_GET, "/modules", ux_web_modules, NULL, UX_SCOPE_READ, "modules", true,
	 .works = true},
	{UX_METHOD_GET, "/modules/{id}", ux_web_module, NULL, UX_SCOPE_READ, "a module", true,
	 .works = true},
	{UX_METHOD_GET, "/modules/{id}/functions", ux_web_functions, NULL, UX_SCOPE_READ,
	 "functions of a module", true, .works = true},
	{UX_METHOD_GET, "/modules/{id}/sources", ux_web_sources, NULL, UX_SCOPE_READ,
	 "source files of a module", true, .works = true},
	{UX_METHOD_GET, "/modules/{id}/source/{path...}", ux_web_source, NULL, UX_SCOPE_READ,
	 "a source file", true, .works = true},
	{UX_METHOD_GET, "/search", ux_web_search, NULL, UX_SCOPE_READ,
	 "modules by ID or name, functions by name", true, .works = true},
	{UX_METHOD_GET, "/symbolize", ux_web_symbolize_form, NULL, UX_SCOPE_SYMBOLIZE,
	 "paste a stack", true, .works = true},
	{UX_METHOD_POST, "/symbolize", ux_web_symbolize, NULL, UX_SCOPE_SYMBOLIZE,
	 "a pasted stack with names", true, .works = true, .body = UX_BODY_LARGE},
	{UX_METHOD_GET, "/frame", ux_web_frame, NULL, UX_SCOPE_SYMBOLIZE,
	 "source and machine code at ?id=&addr=", true, .works = true},
	{UX_METHOD_GET, "/profiles", ux_web_profiles, NULL, UX_SCOPE_READ, "services with profiles",
	 true, .works = true},
	{UX_METHOD_GET, "/profiles/{service}", ux_web_service, NULL, UX_SCOPE_READ,
	 "a service in a time span", true, .works = true},
	{UX_METHOD_GET, "/profiles/{service}/flame", ux_web_service_flame, NULL, UX_SCOPE_READ,
	 "its flame graph", true, .works = true},
	{UX_METHOD_GET, "/profiles/{service}/picture", ux_web_service_picture, NULL, UX_SCOPE_READ,
	 "its flame graph as a picture", true, .works = true},
	{UX_METHOD_GET, "/profiles/{service}/speedscope", ux_web_service_speedscope, NULL,
	 UX_SCOPE_READ, "its profile in speedscope", true, .works = true},
	{UX_METHOD_GET, "/explain", ux_handle_page_explain, NULL, UX_SCOPE_READ,
	 "why an address has or lacks a name", true, .works = true},
	{UX_METHOD_GET, "/uploads", ux_web_uploads, NULL, UX_SCOPE_READ, "uploads and jobs", true,
	 .works = true},
	{UX_METHOD_GET, "/crawl", ux_web_crawl, NULL, UX_SCOPE_READ, "progress of crawls", true,
	 .works = true},
	{UX_METHOD_GET, "/status", ux_web_status, NULL, UX_SCOPE_READ, "usage and health", true,
	 .works = true},
	{UX_METHOD_GET, "/keys", ux_web_keys, NULL, UX_SCOPE_ADMIN, "keys", true, .works = true},
	{UX_METHOD_POST, "/keys", ux_web_key_create, NULL, UX_SCOPE_ADMIN, "a new key", true,
	 .works = true, .body = UX_BODY_FORM},
	{UX_METHOD_POST, "/keys/{id}/rotate", ux_web_key_rotate, NULL, UX_SCOPE_ADMIN,
	 "rotate a key's token", true, .works = true, .body = UX_BODY_FORM},
	{UX_METHOD_POST, "/keys/{id}/revoke", ux_web_key_revoke, NULL, UX_SCOPE_ADMIN,
	 "revoke a key", true, .works = true, .body = UX_BODY_FORM},
	{UX_METHOD_GET, "/sign-in", ux_web_sign_in_form, NULL, 0, "sign-in form", true},
	{UX_METHOD_POST, "/sign-in", ux_web_sign_in, NULL, 0, "sign in with a token", true,
	 .body = UX_BODY_FORM},
	{UX_METHOD_POST, "/sign-out", ux_web_sign_out, NULL, 0, "end the session", true,
	 .body = UX_BODY_FORM},
	{UX_METHOD_GET, "/assets/{name}", ux_web_asset, NULL, 0, "style, script, icon", true},
	{UX_METHOD_GET, "/viewers/speedscope/{name}", ux_web_viewer, NULL, 0,
	 "speedscope, if installed", true},
};
const size_t ux_server_route_count = ux_countof(ux_server_routes);
enum {
	CRAWL_ARENA = 64 << 10, /* bytes for causes of failures */
};

static_assert(ux_countof(ux_server_routes) <= UX_METRICS_ROUTES_MAX, "each is counted");

/* --- monitoring ------------------------------------------------------------------------------- */

static void metrics_put_disk(struct ux_request *req)
{
	struct ux_room_state room;
	if (ux_room_get(&ux_server_of(req)->store->room, &room, NULL) != UX_OK)
		return;
	ux_metric_one(&req->out, "unhex_disk_free_bytes", "gauge",
		      "Free bytes of the store's file system.", room.free_bytes);
	ux_metric_one(&req->out, "unhex_disk_bytes", "gauge",
		      "Size of the store's file system in bytes.", room.total_bytes);
	ux_metric_one(&req->out, "unhex_disk_least_free_bytes", "gauge",
		      "Free bytes below which uploads are refused.", room.least_bytes);
}

/* Writes metrics that are read from the index at each scrape. Omits metrics that cannot be read. */
static void metrics_put_index(struct ux_request *req)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_usage usage;
	struct ux_job_counts jobs;
	if (ix->namespaces.usage(ix, NULL, &usage, NULL) == UX_OK) {
		ux_metric_one(out, "unhex_modules", "gauge", "Modules in the index.",
			      usage.modules);
		ux_metric_one(out, "unhex_stored_bytes", "gauge", "Bytes of uploaded data.",
			      usage.bytes);
		ux_metric_one(out, "unhex_cache_bytes", "gauge",
			      "Bytes of recreatable data: extracted, or fetched from upstreams.",
			      usage.cache_bytes);
	}
	if (ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(ux_server_of(req)->store), &jobs,
			    NULL) == UX_OK) {
		ux_metric_one(out, "unhex_extract_waiting", "gauge",
			      "Uploaded files waiting for extraction.", jobs.waiting);
		ux_metric_one(out, "unhex_extract_running", "gauge",
			      "Uploaded files that are being extracted.", jobs.running);
		ux_metric_one(out, "unhex_extract_set_aside", "gauge",
			      "Extractions that failed for good; their candidates have the reason.",
			      jobs.failed);
	}
}

/* Writes counts of requests that compute, and of requests that wait for a thread. */
static void metrics_put_work(struct ux_server *s, struct ux_out *out)
{
	struct ux_http_server *http = atomic_load_explicit(&s->http, memory_order_acquire);
	if (!http)
		return;
	struct ux_work_counts n = ux_http_server_work(http);
	/* this request itself is one of the running */
	ux_metric_one(out, "unhex_work_running", "gauge", "Other requests in progress.",
		      n.running - ux_min(n.running, 1U));
	ux_metric_one(out, "unhex_work_waiting", "gauge", "Requests waiting for a thread.",
		      n.waiting);
}

/* Writes metrics of the caches of resolved addresses. */
static void metrics_put_frame_caches(struct ux_server *s, struct ux_out *out)
{
	const struct ux_frame_filler_counts n =
		ux_frame_filler_count(ux_module_cache_filler(s->cache));
	ux_metric_one(out, "unhex_frame_cache_bytes", "gauge",
		      "Memory of the frame caches and indexes of open modules in bytes.",
		      ux_module_cache_bytes(s->cache));
	ux_metric_one(out, "unhex_frame_caches_filled_total", "counter",
		      "Frame caches that were filled with all functions of their module.",
		      n.filled);
	ux_metric_one(out, "unhex_frame_caches_not_filled_total", "counter",
		      "Frame caches not filled, for lack of room or time.", n.refused);
	ux_metric_one(out, "unhex_frame_caches_filling_microseconds_total", "counter",
		      "CPU time of filling frame caches.", n.cpu_ns / 1000);
}

static void metrics_put_profiles(const struct ux_server *s, struct ux_out *out)
{
	const struct {
		const char *name, *help;
		const _Atomic uint64_t *count;
	} counters[] = {
		{"unhex_profiles_kept_total", "Profiles that were kept.", &s->profiles->kept},
		{"unhex_profiles_failed_total", "Profiles that could not be kept.",
		 &s->profiles->failed},
		{"unhex_profiles_merged_total", "Profiles that were merged into others.",
		 &s->profiles->merged},
		{"unhex_profiles_removed_total", "Profiles removed by age, size or number.",
		 &s->profiles->removed},
	};
	struct ux_profile_usage usage;
	struct ux_index *ix = s->store->index;
	for (size_t i = 0; i < ux_countof(counters); i++)
		ux_metric_one(out, counters[i].name, "counter", counters[i].help,
			      atomic_load_explicit(counters[i].count, memory_order_relaxed));
	if (ix->profiles.usage(ix, NULL, &usage, NULL) != UX_OK)
		return;
	ux_metric_one(out, "unhex_profiles", "gauge", "Kept profiles.", usage.profiles);
	ux_metric_one(out, "unhex_profile_bytes", "gauge", "Bytes of kept profiles on disk.",
		      usage.bytes);
}

/* Writes counts of packages of all namespaces. */
static void metrics_put_crawl(const struct ux_server *s, struct ux_out *out)
{
	UX_ARENA(arena, CRAWL_ARENA);
	struct ux_package_status status;
	struct ux_index *ix = s->store->index;
	if (ix->packages.status(ix, NULL, ux_store_now(s->store), &arena, &status, NULL) != UX_OK)
		return;
	ux_out_cstr(out, "# HELP unhex_crawl_packages Packages by state.\n"
			 "# TYPE unhex_crawl_packages gauge\n");
	for (int i = 0; i < UX_PACKAGE_STATES; i++)
		ux_out_fmt(out, "unhex_crawl_packages{state=\"%s\"} %" PRIu64 "\n",
			   ux_package_state_name((enum ux_package_state)i),
			   status.states[i].packages);
	const struct ux_package_sum *done = &status.states[UX_PACKAGE_DONE];
	ux_metric_one(out, "unhex_crawl_workers", "gauge", "Workers with leases.", status.workers);
	ux_metric_one(out, "unhex_crawl_modules", "gauge", "Modules of finished packages.",
		      done->modules);
	ux_metric_one(out, "unhex_crawl_fetched_bytes", "gauge",
		      "Bytes fetched of finished packages.", done->fetched);
	ux_metric_one(out, "unhex_crawl_stored_bytes", "gauge",
		      "Bytes stored of finished packages.", done->stored);
}

enum ux_code ux_handle_metrics(struct ux_request *req, struct ux_response *res)
{
	struct ux_server *s = ux_server_of(req);
	ux_metrics_write(&s->metrics, ux_server_routes, ux_server_route_count, &req->out);
	ux_metric_one(&req->out, "unhex_request_memory_bytes", "gauge",
		      "Bytes of bodies and responses in memory.",
		      atomic_load_explicit(&s->memory.used, memory_order_relaxed));
	metrics_put_work(s, &req->out);
	metrics_put_frame_caches(s, &req->out);
	ux_metric_one(&req->out, "unhex_request_memory_limit_bytes", "gauge",
		      "Maximum bytes of bodies and responses in memory: the setting memory.",
		      atomic_load_explicit(&s->memory.max, memory_order_relaxed));
	ux_upstream_set_metrics(s, &req->out);
	if (s->forwarder)
		ux_forwarder_metrics(s->forwarder, &req->out);
	metrics_put_index(req);
	ux_node_metrics(s, &req->out);
	ux_upload_metrics(s, &req->out);
	metrics_put_disk(req);
	ux_bucket_metrics(s->store, &req->out);
	metrics_put_crawl(s, &req->out);
	if (s->profiles)
		metrics_put_profiles(s, &req->out);
	return ux_response_out(req, res, "text/plain; version=0.0.4; charset=utf-8");
}
