/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /profiles/{service}: its flame graph and its functions in a span of time, and their change
 * since another span or build; /profiles/{service}/flame and flame.svg: the graph itself.
 */
#include "page.h"
#include "pages.h"
#include "profile_output.h"
#include "profile_request.h"
#include "profile_span.h"
#include "profiles.h"

enum {
	CHOICES = 100, /* hosts and builds that a form offers */
	ANSWER_MOST = 64 << 20,
};

/* A page about a span. */
struct service_page {
	struct ux_request *req;
	const char *service;
	struct ux_profile_request request;
	struct ux_profile_span *span, *before;
	struct ux_bytes query; /* of the links to other views of the same span */
};

static void service_page_deinit(struct service_page *p)
{
	ux_profile_span_unref(p->span);
	ux_profile_span_unref(p->before);
}

static void service_put_parameter(struct ux_out *out, const char *name, const char *value)
{
	if (!value)
		return;
	ux_out_fmt(out, "%s%s=", out->size > 0 ? "&" : "?", name);
	ux_html_percent(out, ux_bytes_cstr(value));
}

static void service_put_number(struct ux_out *out, const char *name, int64_t value)
{
	ux_out_fmt(out, "%s%s=%" PRId64, out->size > 0 ? "&" : "?", name, value);
}

/* Times are absolute in links, so that all views are about the same profiles. */
static enum ux_code service_make_query(struct service_page *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct ux_profile_request *r = &p->request;
	struct ux_request *req = p->req;
	service_put_number(&out, "from", r->filter.from);
	service_put_number(&out, "until", r->filter.until);
	service_put_parameter(&out, "host", r->filter.host);
	service_put_parameter(&out, "build", r->filter.build);
	service_put_parameter(&out, "value", ux_profile_parameter(req, "value"));
	if (r->compared) {
		service_put_number(&out, "before_from", r->before.from);
		service_put_number(&out, "before_until", r->before.until);
		service_put_parameter(&out, "before_build", r->before.build);
	}
	UX_TRY(ux_out_status(&out, &req->err));
	char *kept = ux_arena_strndup(&req->arena, out.data, out.size);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	p->query = ux_bytes(kept, out.size);
	return UX_OK;
}

static enum ux_code service_page_open(struct ux_request *req, struct service_page *p)
{
	struct ux_bytes name = req->params[0];
	p->req = req;
	p->service = ux_arena_strndup(&req->arena, name.data, name.size);
	if (!p->service)
		return ux_arena_fail(&req->arena, &req->err);
	UX_TRY(ux_profiles_check(req));
	UX_TRY(ux_profile_request_read(req, p->service, &p->request));
	UX_TRY(ux_profile_span_get(req, &p->request.filter, 0, &p->span));
	if (p->request.compared)
		UX_TRY(ux_profile_span_get(req, &p->request.before, 0, &p->before));
	return service_make_query(p);
}

/* --- the graph -------------------------------------------------------------------------------- */

static enum ux_code service_put_graph(struct ux_request *req, struct ux_response *res,
				      enum ux_profile_output format)
{
	ux_cleanup(service_page_deinit) struct service_page p = {0};
	ux_cleanup(ux_out_deinit) struct ux_out back = {0};
	UX_TRY(service_page_open(req, &p));
	ux_out_put(&back, req->prefix.data, req->prefix.size);
	ux_out_cstr(&back, "/profiles/");
	ux_html_percent(&back, ux_bytes_cstr(p.service));
	ux_out_put(&back, p.query.data, p.query.size);
	UX_TRY(ux_out_status(&back, &req->err));
	const struct ux_profile_output_options o = {
		.format = format,
		.profile = &p.span->profile,
		.before = p.before ? &p.before->profile : NULL,
		.value = p.request.value,
		.flame = {.title = ux_bytes_cstr(p.service),
			  .other = UX_STR("before"),
			  .back_url = ux_out_bytes(&back),
			  .back_text = UX_STR("Table, other spans and hosts")},
	};
	ux_request_answer_most(req, ANSWER_MOST);
	return ux_profile_output_put(req, res, &o);
}

enum ux_code ux_web_service_flame(struct ux_request *req, struct ux_response *res)
{
	return service_put_graph(req, res, UX_OUTPUT_HTML);
}

enum ux_code ux_web_service_picture(struct ux_request *req, struct ux_response *res)
{
	return service_put_graph(req, res, UX_OUTPUT_SVG);
}

/* --- the page --------------------------------------------------------------------------------- */

static void service_put_picture(struct service_page *p)
{
	UX_HTML(&p->req->out,
		"<p class=\"flame\"><a href=\"/profiles/$/flame$\"><img src=\"/profiles/$/picture$\" "
		"alt=\"Flame graph; open it to search and zoom\"></a></p>\n",
		ux_html_url(p->service), p->query, ux_html_url(p->service), p->query);
}

enum ux_code ux_web_service(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(service_page_deinit) struct service_page p = {0};
	UX_TRY(service_page_open(req, &p));
	const struct ux_page page = {.title = "Profiles - unhex", .section = UX_PAGE_PROFILES};
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1>$</h1>\n", p.service);
	service_put_picture(&p);
	return ux_page_end(req, res, &page);
}
