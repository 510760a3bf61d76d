/* SPDX-License-Identifier: Apache-2.0 */
/* GET /: the home page. */
#include "page.h"
#include "pages.h"

enum {
	RECENT = 8 /* modules shown */
};

static const struct ux_page page = {.title = "unhex: symbols by build ID", .section = UX_PAGE_HOME};

static void page_home_put_search(struct ux_out *out)
{
	ux_out_cstr(
		out,
		"<h1>Addresses to names</h1>\n"
		"<form class=\"hero\" role=\"search\" action=\"/search\" method=\"get\">\n"
		"<label for=\"find\">Find a module by its ID or file name, or a function</label>\n"
		"<div class=\"row\"><input id=\"find\" name=\"q\" type=\"search\" "
		"autocomplete=\"off\" autocapitalize=\"off\" spellcheck=\"false\" autofocus "
		"aria-describedby=\"forms\"><button class=\"main\">Find</button></div>\n"
		"<p id=\"forms\" class=\"hint\">A build ID or its first hex digits, "
		"<code>gnu:</code> <code>go:</code> <code>file:</code> <code>uuid:</code> with "
		"an ID, a file name: <code>libc.so.6</code>, <code>/usr/lib/*ssl*</code>, or a "
		"function name</p>\n</form>\n<p class=\"ways\"><a href=\"/symbolize\">Paste a "
		"stack</a> to see its names, <a href=\"/explain\">ask why</a> an address has "
		"none, <a href=\"/uploads\">send files</a> with symbols.</p>\n");
}

static void page_home_put_fact(struct ux_out *out, const char *word, struct ux_html_value value)
{
	UX_HTML(out, "<div><dt>$</dt><dd>$</dd></div>\n", word, value);
}

static enum ux_code page_home_put_numbers(struct ux_request *req)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	const char *ns = ux_caller_of(req)->ns;
	struct ux_out *out = &req->out;
	struct ux_usage usage;
	struct ux_upload_counts uploads;
	struct ux_job_counts jobs;
	UX_TRY(ix->namespaces.usage(ix, ns, &usage, &req->err));
	UX_TRY(ix->uploads.counts(ix, ns, "", &uploads, &req->err));
	UX_TRY(ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(s->store), &jobs, &req->err));
	ux_out_cstr(out, "<dl class=\"numbers\">\n");
	page_home_put_fact(out, "modules", ux_html_count(usage.modules));
	page_home_put_fact(out, "uploaded", ux_html_size(usage.bytes));
	page_home_put_fact(out, "extracted or fetched", ux_html_size(usage.cache_bytes));
	page_home_put_fact(out, "uploads running", ux_html_count(uploads.of_ns));
	/* the counts cover all namespaces */
	if ((ux_caller_of(req)->scopes & UX_SCOPE_METRICS) != 0)
		page_home_put_fact(out, "files being extracted",
				   ux_html_count(jobs.waiting + jobs.running));
	ux_out_cstr(out, "</dl>\n");
	return UX_OK;
}

static enum ux_code page_home_put_recent(struct ux_request *req)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_module_list list;
	UX_TRY(ix->modules.newest(ix, ux_caller_of(req)->ns, INT64_MAX, RECENT, &req->arena, &list,
				  &req->err));
	ux_out_cstr(
		out,
		"<section aria-labelledby=\"recent\">\n<h2 id=\"recent\">Latest modules</h2>\n");
	if (list.n == 0)
		ux_out_cstr(out, "<p>No modules yet. <code>unhex push FILE</code> uploads "
				 "symbols, or <a href=\"/uploads\">choose files</a>.</p>\n");
	else
		ux_out_cstr(out, "<ol class=\"modules\">\n");
	for (size_t i = 0; i < list.n; i++)
		ux_page_module_entry(out, &list.modules[i]);
	if (list.n > 0)
		ux_out_cstr(out, "</ol>\n");
	if (list.more)
		ux_out_cstr(out, "<p><a href=\"/modules\">All modules</a></p>\n");
	ux_out_cstr(out, "</section>\n");
	return UX_OK;
}

/*
 * Shows the home page. The route is open to everyone; a caller who may not read sees only how to
 * sign in.
 */
enum ux_code ux_web_home(struct ux_request *req, struct ux_response *res)
{
	if ((ux_caller_of(req)->scopes & UX_SCOPE_READ) == 0)
		return ux_page_redirect(req, res, UX_STR("/sign-in"));
	ux_page_begin(req, &page);
	page_home_put_search(&req->out);
	UX_TRY(page_home_put_numbers(req));
	UX_TRY(page_home_put_recent(req));
	return ux_page_end(req, res, &page);
}

/* GET /: the home page for clients that accept HTML, otherwise the list of routes. */
enum ux_code ux_handle_root(struct ux_request *req, struct ux_response *res)
{
	const struct ux_server *s = ux_server_of(req);
	if (ux_page_accepted(req))
		return ux_web_home(req, res);
	ux_out_cstr(&req->out, "unhex " UX_VERSION "\n\n");
	for (size_t i = 0; i < s->n_routes; i++) {
		const struct ux_route *r = &s->routes[i];
		if (!r->page || r->handler == ux_handle_root)
			ux_out_fmt(&req->out, "%-6s %-26s %s\n", ux_method_name(r->method),
				   r->pattern, r->what);
	}
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}
