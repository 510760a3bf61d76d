/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of what routes for programs say. */
#include "handlers.h"
#include "page.h"
#include "web.h"

/* GET /: a page for who wants one, the routes for everybody else. */
enum ux_code ux_handle_root(struct ux_request *req, struct ux_response *res)
{
	if (ux_page_wanted(req))
		return ux_web_home(req, res);
	ux_response_field(res, "Vary", UX_STR("Accept"));
	ux_out_cstr(&req->out, "unhex " UX_VERSION "\n\n");
	for (size_t i = 0; i < ux_server_route_count; i++) {
		const struct ux_route *r = &ux_server_routes[i];
		if (!r->page || r->handler == ux_handle_root)
			ux_out_fmt(&req->out, "%-6s %-26s %s\n", ux_method_name(r->method),
				   r->pattern, r->what);
	}
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}

static void drop(json_t **doc)
{
	json_decref(*doc);
}

/* GET /explain?id=&addr=: exactly what /v1/explain/{id}?addr= says. */
enum ux_code ux_handle_page_explain(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(drop) json_t *doc = NULL;
	struct ux_bytes id = ux_page_query(req, "id"), addr;
	if (id.size == 0)
		return ux_web_explain_form(req, res);
	/* A form sends the field that is left empty. */
	for (size_t i = 0; i < req->n_query; i++)
		if (ux_bytes_eq(req->query[i].name, UX_STR("addr"))) {
			addr = ux_page_trim(req->query[i].value);
			req->query[i].value = addr;
			if (addr.size == 0)
				req->query[i].name = UX_STR("");
		}
	req->params[0] = id;
	req->n_params = 1;
	UX_TRY(ux_handle_explain(req, res));
	doc = json_loadb((const char *)req->out.data, req->out.size, 0, NULL);
	if (!doc)
		return ux_error_nomem(&req->err);
	ux_out_reset(&req->out);
	return ux_web_explain(req, res, doc);
}
