/* SPDX-License-Identifier: Apache-2.0 */
/* GET /status: usage, namespaces, health. */
#include "page.h"
#include "pages.h"

static const struct ux_page page = {.title = "Status - unhex", .section = UX_PAGE_STATUS};

static void page_status_put_fact(struct ux_out *out, const char *word, struct ux_html_value value)
{
	UX_HTML(out, "<div><dt>$</dt><dd>$</dd></div>\n", word, value);
}

static uint64_t page_status_sum_of(const _Atomic uint64_t *counts, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += atomic_load_explicit(&counts[i], memory_order_relaxed);
	return sum;
}

static void page_status_put_requests(struct ux_out *out, const struct ux_metrics *m)
{
	uint64_t all = 0, errors = 0;
	for (size_t i = 0; i < ux_countof(m->routes); i++) {
		all += page_status_sum_of(m->routes[i].requests, UX_METRICS_CLASSES);
		errors += page_status_sum_of(&m->routes[i].requests[UX_METRICS_CLASSES - 1], 1);
	}
	page_status_put_fact(out, "requests", ux_html_count(all));
	page_status_put_fact(out, "answered with 5xx", ux_html_count(errors));
	page_status_put_fact(out, "clients that vanished",
			     ux_html_count(page_status_sum_of(&m->vanished, 1)));
	page_status_put_fact(out, "files extracted",
			     ux_html_count(page_status_sum_of(&m->extracted, 1)));
	page_status_put_fact(out, "that failed",
			     ux_html_count(page_status_sum_of(&m->extract_failed, 1)));
}

/* Counters of the whole server, for those who may read /metrics. */
static enum ux_code page_status_put_counters(struct ux_request *req)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	struct ux_out *out = &req->out;
	struct ux_job_counts jobs;
	UX_TRY(ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(s->store), &jobs, &req->err));
	ux_out_cstr(out, "<dl class=\"numbers\">\n");
	page_status_put_fact(out, "started", ux_html_time(s->metrics.start));
	page_status_put_requests(out, &s->metrics);
	page_status_put_fact(out, "files waiting", ux_html_count(jobs.waiting));
	page_status_put_fact(out, "being read", ux_html_count(jobs.running));
	page_status_put_fact(out, "given up", ux_html_count(jobs.failed));
	page_status_put_fact(
		out, "memory of requests",
		ux_html_size(atomic_load_explicit(&s->memory.used, memory_order_relaxed)));
	ux_out_cstr(out, "</dl>\n<p class=\"hint\"><a href=\"/metrics\">All numbers</a> for "
			 "Prometheus.</p>\n");
	return UX_OK;
}

static enum ux_code page_status_put_health(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	bool counters = (ux_caller_of(req)->scopes & UX_SCOPE_METRICS) != 0;
	UX_HTML(out,
		"<section aria-labelledby=\"health\">\n<h2 id=\"health\">$ "
		"<span class=\"tag good\">the index answers</span></h2>\n",
		counters ? "Since the start" : "Health");
	if (counters)
		UX_TRY(page_status_put_counters(req));
	ux_out_cstr(out, "<p class=\"hint\"><a href=\"/healthz\">/healthz</a> and <a "
			 "href=\"/readyz\">/readyz</a> are for probes.</p>\n</section>\n");
	return UX_OK;
}

static const char *page_status_reading_of(const struct ux_namespace *ns, const struct ux_server *s)
{
	switch (ns->reading) {
	case UX_NS_OPEN:
		return "open to all";
	case UX_NS_KEYED:
		return "with a key";
	case UX_NS_AS_SERVED:
		break;
	}
	return strcmp(ns->name, UX_NAMESPACE_DEFAULT) == 0 && s->open_reading ? "open to all"
									      : "with a key";
}

static struct ux_html_value page_status_quota_size(uint64_t bytes)
{
	return bytes > 0 ? ux_html_size(bytes) : ux_html_cstr("no limit");
}

static struct ux_html_value page_status_quota_count(uint64_t n)
{
	return n > 0 ? ux_html_count(n) : ux_html_cstr("no limit");
}

static enum ux_code page_status_put_namespace(struct ux_request *req, const struct ux_namespace *ns)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	struct ux_out *out = &req->out;
	struct ux_usage usage;
	UX_TRY(ix->namespaces.usage(ix, ns->name, &usage, &req->err));
	UX_HTML(out, "<tr><th scope=\"row\">$</th><td>$</td>", ns->name,
		page_status_reading_of(ns, s));
	UX_HTML(out, "<td class=\"num\">$</td><td class=\"num\">$</td><td class=\"num\">$</td>",
		ux_html_count(usage.modules), ux_html_size(usage.bytes),
		ux_html_size(usage.cache_bytes));
	UX_HTML(out, "<td class=\"num\">$</td><td class=\"num\">$</td></tr>\n",
		page_status_quota_count(ns->quota_modules),
		page_status_quota_size(ns->quota_bytes));
	return UX_OK;
}

/* All namespaces for administrators of the server, otherwise only the caller's. */
static enum ux_code page_status_list_of(struct ux_request *req, struct ux_namespace_list *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_caller *caller = ux_caller_of(req);
	if ((caller->scopes & UX_SCOPE_SERVER) != 0)
		return ix->namespaces.list(ix, &req->arena, ret, &req->err);
	struct ux_namespace *one = ux_arena_new(&req->arena, struct ux_namespace);
	if (!one)
		return ux_arena_fail(&req->arena, &req->err);
	enum ux_code code = ix->namespaces.find(ix, caller->ns, &req->arena, one, NULL);
	if (code == UX_ENOTFOUND) /* nothing was ever stored in it */
		*one = (struct ux_namespace){.name = caller->ns};
	else if (code != UX_OK)
		return ux_error_set(&req->err, code, "the index does not answer");
	*ret = (struct ux_namespace_list){.items = one, .n = 1};
	return UX_OK;
}

static enum ux_code page_status_put_namespaces(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	struct ux_namespace_list list;
	UX_TRY(page_status_list_of(req, &list));
	ux_out_cstr(
		out,
		"<div>\n<h2 id=\"namespaces\">Namespaces</h2>\n"
		"<div class=\"wide\" role=\"region\" aria-labelledby=\"namespaces\" "
		"tabindex=\"0\">\n<table><thead><tr><th scope=\"col\">name</th>"
		"<th scope=\"col\">reading</th><th class=\"num\" scope=\"col\">modules</th>"
		"<th class=\"num\" scope=\"col\">uploaded</th><th class=\"num\" scope=\"col\">extracted or fetched</th>"
		"<th class=\"num\" scope=\"col\">most modules</th><th class=\"num\" scope=\"col\">most uploaded</th></tr>"
		"</thead><tbody>\n");
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(page_status_put_namespace(req, &list.items[i]));
	ux_out_cstr(out, "</tbody></table>\n</div>\n</div>\n");
	return UX_OK;
}

enum ux_code ux_web_status(struct ux_request *req, struct ux_response *res)
{
	ux_page_begin(req, &page);
	ux_out_cstr(&req->out, "<h1>Status</h1>\n");
	UX_TRY(page_status_put_namespaces(req));
	UX_TRY(page_status_put_health(req));
	return ux_page_end(req, res, &page);
}
