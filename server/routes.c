/* SPDX-License-Identifier: Apache-2.0 */
/* The routes. docs/api/openapi.yaml describes exactly these; a test compares. */
#include "handlers.h"
#include "protocols.h"

const struct ux_route ux_server_routes[] = {
	{UX_METHOD_GET, "/", ux_handle_root, NULL, 0, "these lines"},
	{UX_METHOD_GET, "/healthz", ux_handle_health, NULL, 0, "is the process alive?"},
	{UX_METHOD_GET, "/readyz", ux_handle_ready, NULL, 0, "does it answer?"},
	{UX_METHOD_GET, "/metrics", ux_handle_metrics, NULL, UX_SCOPE_READ, "for Prometheus"},
	{UX_METHOD_POST, "/v1/query", ux_handle_query, NULL, UX_SCOPE_UPLOAD,
	 "which of these do you want?"},
	{UX_METHOD_POST, "/v1/uploads", ux_handle_upload_announce, NULL, UX_SCOPE_UPLOAD,
	 "announce an upload"},
	{UX_METHOD_GET, "/v1/uploads/{uid}", ux_handle_upload_state, NULL, UX_SCOPE_UPLOAD,
	 "how far is it?"},
	{UX_METHOD_PUT, "/v1/uploads/{uid}", ux_handle_upload_data, ux_handle_upload_begin,
	 UX_SCOPE_UPLOAD, "send bytes"},
	{UX_METHOD_POST, "/v1/uploads/{uid}/finish", ux_handle_upload_finish, NULL, UX_SCOPE_UPLOAD,
	 "check it and make it a candidate"},
	{UX_METHOD_POST, "/v1/symbolize", ux_handle_symbolize, NULL, UX_SCOPE_SYMBOLIZE,
	 "names of many addresses"},
	{UX_METHOD_GET, "/v1/symbolize/{id}", ux_handle_symbolize_one, NULL, UX_SCOPE_SYMBOLIZE,
	 "names of a few addresses: ?addr=0x1,0x2"},
	{UX_METHOD_GET, "/v1/modules", ux_handle_modules, NULL, UX_SCOPE_READ, "what is there"},
	{UX_METHOD_GET, "/v1/modules/{id}", ux_handle_module, NULL, UX_SCOPE_READ,
	 "one module with its candidates"},
	{UX_METHOD_DELETE, "/v1/modules/{id}", ux_handle_module_delete, NULL, UX_SCOPE_DELETE,
	 "forget a module"},
	{UX_METHOD_GET, "/buildid/{id}/debuginfo", ux_handle_debuginfod_debuginfo, NULL,
	 UX_SCOPE_READ, "debuginfod: the file with debug information"},
	{UX_METHOD_GET, "/buildid/{id}/executable", ux_handle_debuginfod_executable, NULL,
	 UX_SCOPE_READ, "debuginfod: the file with code"},
	{UX_METHOD_GET, "/buildid/{id}/section/{name}", ux_handle_debuginfod_section, NULL,
	 UX_SCOPE_READ, "debuginfod: one section"},
	{UX_METHOD_GET, "/buildid/{id}/source/{path...}", ux_handle_debuginfod_source, NULL,
	 UX_SCOPE_READ, "debuginfod: a source file"},
	{UX_METHOD_GET, "/metadata", ux_handle_debuginfod_metadata, NULL, UX_SCOPE_READ,
	 "debuginfod: which files have that name"},
	{UX_METHOD_POST, "/symbolicate/v5", ux_handle_symbolicate_v5, NULL, UX_SCOPE_SYMBOLIZE,
	 "Mozilla's symbolication API: the Firefox Profiler"},
	{UX_METHOD_GET, "/pprof/{id}/symbol", ux_handle_pprof_probe, NULL, UX_SCOPE_SYMBOLIZE,
	 "does pprof find symbols here?"},
	{UX_METHOD_POST, "/pprof/{id}/symbol", ux_handle_pprof_symbol, NULL, UX_SCOPE_SYMBOLIZE,
	 "pprof's remote symbolization"},
	{UX_METHOD_GET, "/v1/explain/{id}", ux_handle_explain, NULL, UX_SCOPE_READ,
	 "why this has, or lacks, symbols: ?addr=0x1"},
	{UX_METHOD_GET, "/v1/gsym/{id}", ux_handle_gsym, NULL, UX_SCOPE_READ, "the best GSYM"},
};
const size_t ux_server_route_count = ux_countof(ux_server_routes);
static_assert(ux_countof(ux_server_routes) <= UX_METRICS_ROUTES_MOST, "each is counted");

enum ux_code ux_handle_root(struct ux_request *req, struct ux_response *res)
{
	ux_out_cstr(&req->out, "unhex " UX_VERSION "\n\n");
	for (size_t i = 0; i < ux_server_route_count; i++) {
		const struct ux_route *r = &ux_server_routes[i];
		ux_out_fmt(&req->out, "%-6s %-26s %s\n", ux_method_name(r->method), r->pattern,
			   r->what);
	}
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}

enum ux_code ux_handle_health(struct ux_request *req, struct ux_response *res)
{
	(void)req;
	res->type = "application/json";
	res->body = UX_STR("{\"status\":\"ok\"}\n");
	return UX_OK;
}
