/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /profiles/{service}: its flame graph and functions over a time range, and their change since
 * another range or build; /profiles/{service}/flame and flame.svg: only the graph.
 */
#include "page.h"
#include "pages.h"
#include "profile_output.h"
#include "profile_request.h"
#include "profile_span.h"
#include "profile_table.h"
#include "profiles.h"

enum {
	CHOICES = 100, /* hosts and builds that a form offers */
	ANSWER_MAX = 64 << 20,
};

/* A page about one time range. */
struct service_page {
	struct ux_request *req;
	const char *service;
	struct ux_profile_request request;
	struct ux_profile_span *span, *before;
	struct ux_bytes query; /* query of the links to other views of the same range */
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

/* Writes the query. Times are absolute in links, so that all views show the same profiles. */
static enum ux_code service_make_query(struct service_page *p)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const struct ux_profile_request *r = &p->request;
	struct ux_request *req = p->req;
	const char *value = NULL;
	UX_TRY(ux_profile_parameter(req, "value", &value));
	service_put_number(&out, "from", r->filter.from);
	service_put_number(&out, "until", r->filter.until);
	service_put_parameter(&out, "host", r->filter.host);
	service_put_parameter(&out, "build", r->filter.build);
	service_put_parameter(&out, "value", value);
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
	ux_cleanup(ux_out_deinit) struct ux_out back = {0}, frame = {0};
	UX_TRY(service_page_open(req, &p));
	ux_out_put(&back, req->prefix.data, req->prefix.size);
	ux_out_cstr(&back, "/profiles/");
	ux_html_percent(&back, ux_bytes_cstr(p.service));
	ux_out_put(&back, p.query.data, p.query.size);
	UX_TRY(ux_out_status(&back, &req->err));
	ux_out_put(&frame, req->prefix.data, req->prefix.size);
	ux_out_cstr(&frame, "/frame");
	UX_TRY(ux_out_status(&frame, &req->err));
	const struct ux_profile_output_options o = {
		.format = format,
		.profile = &p.span->profile,
		.before = p.before ? &p.before->profile : NULL,
		.value = p.request.value,
		.flame = {.title = ux_bytes_cstr(p.service),
			  .other = UX_STR("before"),
			  .back_url = ux_out_bytes(&back),
			  .back_text = UX_STR("Table, other spans and hosts"),
			  .frame_url =
				  format == UX_OUTPUT_HTML ? ux_out_bytes(&frame) : UX_BYTES_NONE},
	};
	ux_request_answer_max(req, ANSWER_MAX);
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

/* Writes a time for an input of type datetime-local. */
static void service_put_time(struct ux_out *out, const char *name, const char *label, ux_time t)
{
	char text[UX_TIME_TEXT];
	ux_time_text(t, text);
	text[strcspn(text, "Z")] = '\0';
	UX_HTML(out,
		"<label>$<input type=\"datetime-local\" step=\"1\" name=\"$\" "
		"value=\"$\"></label>\n",
		label, name, text);
}

static void service_put_option(struct ux_out *out, const char *value, const char *text, bool chosen)
{
	UX_HTML(out, "<option value=\"$\"$>$</option>", value,
		chosen ? UX_HTML_OURS(" selected") : UX_HTML_OURS(""), text);
}

/*
 * Writes a choice of hosts or builds. Also offers the chosen one if the range has no profile of it.
 */
static enum ux_code service_put_texts(struct service_page *p, enum ux_profile_column column,
				      const char *name, const char *label, const char *any,
				      const char *chosen)
{
	struct ux_request *req = p->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_profile_filter filter = {.ns = p->request.filter.ns,
					   .service = p->service,
					   .from = p->request.compared ? 0 : p->request.filter.from,
					   .until = p->request.filter.until,
					   .limit = CHOICES};
	struct ux_profile_texts list;
	bool seen = !chosen;
	UX_TRY(ix->profiles.texts(ix, column, &filter, &req->arena, &list, &req->err));
	UX_HTML(&req->out, "<label>$<select name=\"$\">", label, name);
	service_put_option(&req->out, "", any, !chosen);
	for (size_t i = 0; i < list.n; i++) {
		bool is = chosen && strcmp(chosen, list.items[i]) == 0;
		seen |= is;
		if (list.items[i][0] != '\0')
			service_put_option(&req->out, list.items[i], list.items[i], is);
	}
	if (!seen)
		service_put_option(&req->out, chosen, chosen, true);
	ux_out_cstr(&req->out, "</select></label>\n");
	return UX_OK;
}

static void service_put_values(struct service_page *p)
{
	struct ux_out *out = &p->req->out;
	const struct ux_profile *profile = &p->span->profile;
	size_t type = 0;
	if (profile->n_types < 2 ||
	    ux_profile_type_find(profile, p->request.value, &type, NULL) != UX_OK)
		return;
	ux_out_cstr(out, "<label>Value<select name=\"value\">");
	for (size_t i = 0; i < profile->n_types; i++) {
		const char *name =
			(const char *)ux_profile_text(profile, profile->types[i].name).data;
		service_put_option(out, name, name, i == type);
	}
	ux_out_cstr(out, "</select></label>\n");
}

static enum ux_code service_put_form(struct service_page *p)
{
	const struct ux_profile_request *r = &p->request;
	struct ux_out *out = &p->req->out;
	bool other_build = r->compared && r->before.build &&
			   (!r->filter.build || strcmp(r->before.build, r->filter.build) != 0);
	bool other_time = r->compared && r->before.until != r->filter.until;
	UX_HTML(out, "<form class=\"span\" action=\"/profiles/$\" method=\"get\">\n",
		ux_html_url(p->service));
	service_put_time(out, "from", "From (UTC)", r->filter.from);
	service_put_time(out, "until", "Until (UTC)", r->filter.until);
	UX_TRY(service_put_texts(p, UX_PROFILE_HOSTS, "host", "Host", "all", r->filter.host));
	UX_TRY(service_put_texts(p, UX_PROFILE_BUILDS, "build", "Build", "all", r->filter.build));
	service_put_values(p);
	ux_out_cstr(out, "<label>Compare with<select name=\"compare\">");
	service_put_option(out, "", "no other time", !other_time);
	service_put_option(out, "before", "the span before", other_time);
	ux_out_cstr(out, "</select></label>\n");
	UX_TRY(service_put_texts(p, UX_PROFILE_BUILDS, "before_build", "Compare with build",
				 "no other", other_build ? r->before.build : NULL));
	if (r->lines)
		ux_out_cstr(out, "<input type=\"hidden\" name=\"level\" value=\"lines\">");
	ux_out_cstr(out, "<button class=\"main\">Show</button>\n</form>\n");
	return UX_OK;
}

/* Writes links to time ranges that end where this one does. */
static void service_put_spans(struct service_page *p)
{
	static const struct {
		const char *word;
		int64_t seconds;
	} spans[] = {{"10 minutes", 600},
		     {"1 hour", 3600},
		     {"6 hours", 6 * 3600},
		     {"1 day", 24 * 3600},
		     {"7 days", 7 * 24 * 3600}};
	struct ux_out *out = &p->req->out;
	ux_out_cstr(out, "<p class=\"hint spans\">The last");
	for (size_t i = 0; i < ux_countof(spans); i++)
		UX_HTML(out, " <a href=\"/profiles/$?from=$&amp;until=$\">$</a>",
			ux_html_url(p->service), p->request.filter.until - spans[i].seconds,
			p->request.filter.until, spans[i].word);
	ux_out_cstr(out, "</p>\n");
}

static void service_put_span(struct ux_out *out, const char *word,
			     const struct ux_profile_span *span)
{
	if (span->n == 0) {
		UX_HTML(out, "<p class=\"why\">$: there are no profiles.</p>\n", word);
		return;
	}
	UX_HTML(out, "<p class=\"facts\"><span>$: $ profiles</span><span>$ to $</span>", word,
		ux_html_count(span->n), ux_html_time(span->started), ux_html_time(span->ended));
	if (span->more)
		ux_out_cstr(out,
			    "<span class=\"tag busy\">the latest ones; the span has more</span>");
	if (span->n_lost > 0)
		UX_HTML(out, "<span class=\"tag bad\">$ cannot be read</span>", span->n_lost);
	ux_out_cstr(out, "</p>\n");
}

static void service_put_picture(struct service_page *p)
{
	struct ux_out *out = &p->req->out;
	if (p->span->n == 0)
		return;
	UX_HTML(out,
		"<p class=\"flame wide\"><a href=\"/profiles/$/flame$\"><img "
		"src=\"/profiles/$/picture$\" "
		"alt=\"Flame graph of $\"></a></p>\n",
		ux_html_url(p->service), p->query, ux_html_url(p->service), p->query, p->service);
	UX_HTML(out,
		"<p class=\"hint\"><a href=\"/profiles/$/flame$\">Open the flame graph</a> to "
		"search, "
		"zoom and invert it (with scripts).</p>\n",
		ux_html_url(p->service), p->query);
}

static enum ux_code service_put_table(struct service_page *p)
{
	struct ux_out *out = &p->req->out;
	bool lines = p->request.lines;
	const struct ux_profile_table table = {
		.profile = &p->span->profile,
		.before = p->before ? &p->before->profile : NULL,
		.value = p->request.value,
		.level = lines ? UX_TOP_LINES : UX_TOP_FUNCTIONS,
	};
	UX_HTML(out,
		"<div>\n<h2 id=\"table\">$</h2>\n"
		"<p class=\"hint\"><a href=\"/profiles/$$$\">$</a></p>\n",
		lines ? "Lines" : "Functions", ux_html_url(p->service), p->query,
		lines ? "" : "&level=lines",
		lines ? "Functions instead of lines" : "Down to lines");
	UX_TRY(ux_profile_table_put(p->req, &table));
	ux_out_cstr(out, "</div>\n");
	return UX_OK;
}

static void service_put_download(struct service_page *p, const char *format, const char *text)
{
	struct ux_bytes query = p->query;
	query = ux_bytes(query.data + 1, query.size - 1); /* skip its '?' */
	UX_HTML(&p->req->out,
		" <a href=\"/v1/profiles/merged?service=$&amp;format=$&amp;download=1&amp;$\">$</a>",
		ux_html_url(p->service), format, query, text);
}

/*
 * Writes a link to a viewer of another site. The link contains the URL of the profile on this
 * server, which the viewer fetches.
 */
static void service_put_viewer(struct service_page *p, const char *url, struct ux_bytes host,
			       const char *format, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out from = {0}, whole = {0};
	const struct ux_request *req = p->req;
	bool https = ux_caller_of(req)->https;
	ux_out_fmt(&from, "%s://%.*s", https ? "https" : "http", (int)host.size,
		   (const char *)host.data);
	ux_out_put(&from, req->prefix.data, req->prefix.size);
	ux_out_cstr(&from, "/v1/profiles/merged?service=");
	ux_html_percent(&from, ux_bytes_cstr(p->service));
	ux_out_fmt(&from, "&format=%s&", format);
	ux_out_put(&from, p->query.data + 1, p->query.size - 1); /* without its '?' */
	ux_out_cstr(&whole, url);
	ux_html_percent(&whole, ux_out_bytes(&from));
	UX_HTML(&p->req->out, " <a rel=\"noreferrer\" href=\"$\">$</a>", ux_out_bytes(&whole),
		text);
}

/*
 * Writes links to viewers of other sites. These fetch a profile from here without a key, and learn
 * its URL: so there are links only if no key is needed, and none if the path contains a token.
 */
static void service_put_viewers(struct service_page *p)
{
	bool here = ux_server_of(p->req)->viewer != NULL;
	struct ux_bytes host;
	if (here)
		UX_HTML(&p->req->out,
			"</p>\n<p class=\"facts\">Open in <a "
			"href=\"/profiles/$/speedscope$\">speedscope"
			"</a>",
			ux_html_url(p->service), p->query);
	if (ux_caller_of(p->req)->openness == UX_OPEN_TO_NONE || p->req->path_token.size > 0 ||
	    !ux_request_header(p->req, "Host", &host))
		return;
	ux_out_cstr(&p->req->out, "</p>\n<p class=\"facts\">Open in");
	if (!here)
		service_put_viewer(p, "https://www.speedscope.app/#profileURL=", host, "speedscope",
				   "speedscope");
	service_put_viewer(p, "https://profiler.firefox.com/from-url/", host, "firefox",
			   "the Firefox Profiler");
	ux_out_cstr(&p->req->out,
		    here ? "<span class=\"hint\">(another site, which fetches it from here)</span>"
			 : "<span class=\"hint\">(other sites, which fetch it from here)</span>");
}

static void service_put_downloads(struct service_page *p)
{
	struct ux_out *out = &p->req->out;
	ux_out_cstr(out, "<section aria-labelledby=\"files\">\n"
			 "<h2 id=\"files\">Download</h2>\n"
			 "<p class=\"facts\">");
	service_put_download(p, "pprof", "pprof");
	service_put_download(p, "folded", "folded stacks");
	service_put_download(p, "html", "flame graph (HTML)");
	service_put_download(p, "speedscope", "for speedscope");
	service_put_download(p, "firefox", "for the Firefox Profiler");
	service_put_viewers(p);
	UX_HTML(out,
		"</p>\n<p class=\"hint\"><code>go tool pprof "
		"'http://THIS-SERVER/p/span/pprof/profile?service=$&amp;$'</code></p>\n"
		"</section>\n",
		ux_html_url(p->service), ux_bytes(p->query.data + 1, p->query.size - 1));
}

/* --- speedscope ------------------------------------------------------------------------------- */

enum ux_code ux_web_service_speedscope(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(service_page_deinit) struct service_page p = {0};
	const struct ux_page page = {.title = "speedscope - unhex",
				     .section = UX_PAGE_PROFILES,
				     .frame = true,
				     .own_script = &ux_asset_viewer};
	if (!ux_server_of(req)->viewer)
		return ux_error_set(
			&req->err, UX_ENOTFOUND,
			"speedscope is not installed on this server (setting speedscope)");
	UX_TRY(service_page_open(req, &p));
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1>$ in speedscope</h1>\n", p.service);
	UX_HTML(&req->out,
		"<p class=\"facts\"><a href=\"/profiles/$$\">Table, other spans and hosts</a> "
		"<a id=\"viewer-profile\" "
		"href=\"/v1/profiles/merged?service=$&amp;format=speedscope&amp;download=1&amp;$\">"
		"The file for speedscope</a> <span id=\"viewer-state\" "
		"role=\"status\"></span></p>\n",
		ux_html_url(p.service), p.query, ux_html_url(p.service),
		ux_bytes(p.query.data + 1, p.query.size - 1)); /* without its '?' */
	ux_out_cstr(
		&req->out,
		"<noscript><p class=\"why\">speedscope needs scripts; the file opens in any copy "
		"of it.</p></noscript>\n");
	UX_HTML(&req->out,
		"<iframe id=\"viewer\" class=\"viewer\" title=\"$\" "
		"src=\"/viewers/speedscope/frame.html\" sandbox=\"allow-scripts "
		"allow-downloads\"></iframe>\n",
		p.service);
	return ux_page_end(req, res, &page);
}

enum ux_code ux_web_service(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(service_page_deinit) struct service_page p = {0};
	UX_TRY(service_page_open(req, &p));
	const struct ux_page page = {.title = "Profiles - unhex", .section = UX_PAGE_PROFILES};
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1>$</h1>\n", p.service);
	service_put_spans(&p);
	UX_TRY(service_put_form(&p));
	service_put_span(&req->out, "This span", p.span);
	if (p.before)
		service_put_span(&req->out, "Compared with", p.before);
	service_put_picture(&p);
	UX_TRY(service_put_table(&p));
	service_put_downloads(&p);
	return ux_page_end(req, res, &page);
}
