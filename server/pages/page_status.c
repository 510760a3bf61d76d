/* SPDX-License-Identifier: Apache-2.0 */
/* GET /status: health, free space, trends, missing modules, upstreams, namespaces. */
#include "page.h"
#include "pages.h"

#include "fetcher.h"
#include "misses.h"

enum {
	MISSES = 50,       /* missing IDs read; modules that have arrived since are left out... */
	MISSES_SHOWN = 10, /* ...and at most this many of them are shown */
	TREND_HEIGHT = 36,
};

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
	page_status_put_fact(out, "clients disconnected early",
			     ux_html_count(page_status_sum_of(&m->vanished, 1)));
	page_status_put_fact(out, "files extracted",
			     ux_html_count(page_status_sum_of(&m->extracted, 1)));
	page_status_put_fact(out, "extractions failed",
			     ux_html_count(page_status_sum_of(&m->extract_failed, 1)));
}

/* Writes counters of the whole server, for callers who may read /metrics. */
static enum ux_code page_status_put_counters(struct ux_request *req)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	struct ux_out *out = &req->out;
	struct ux_job_counts jobs;
	UX_TRY(ix->jobs.counts(ix, UX_JOB_EXTRACT, ux_store_now(s->store), &jobs, &req->err));
	ux_out_cstr(out, "<section aria-labelledby=\"counters\">\n<h2 id=\"counters\">Since the "
			 "start</h2>\n<dl class=\"numbers\">\n");
	page_status_put_fact(out, "started", ux_html_time(s->metrics.start));
	page_status_put_requests(out, &s->metrics);
	page_status_put_fact(out, "files waiting", ux_html_count(jobs.waiting));
	page_status_put_fact(out, "being extracted", ux_html_count(jobs.running));
	page_status_put_fact(out, "given up", ux_html_count(jobs.failed));
	page_status_put_fact(
		out, "memory of requests",
		ux_html_size(atomic_load_explicit(&s->memory.used, memory_order_relaxed)));
	ux_out_cstr(out, "</dl>\n<p class=\"hint\"><a href=\"/metrics\">All numbers</a> for "
			 "Prometheus.</p>\n</section>\n");
	return UX_OK;
}

/* --- health and free space -------------------------------------------------------------------- */

/* Writes the health. That the page is shown proves that the index answers: it was read before. */
static void page_status_put_health(struct ux_request *req, bool counters)
{
	struct ux_out *out = &req->out;
	struct ux_room_state room = {0};
	bool known = ux_room_get(&ux_server_of(req)->store->room, &room, NULL) == UX_OK;
	bool full = known && !room.accepts;
	UX_HTML(out, "<p class=\"verdict\">$</p>\n<p class=\"facts\">",
		full ? "It responds, but accepts no uploads: the disk is nearly full."
		     : "It responds and accepts uploads.");
	ux_out_cstr(out, "<span class=\"tag good\">the index responds</span> ");
	UX_HTML(out, "<span class=\"tag $\">$</span> ", full ? "bad" : "good",
		full ? "uploads are refused" : "uploads are accepted");
	ux_out_cstr(out,
		    "<span><a href=\"/healthz\">/healthz</a> and <a href=\"/readyz\">/readyz</a> "
		    "are for probes</span></p>\n");
	if (!known || !counters)
		return;
	ux_out_cstr(out, "<section aria-labelledby=\"disk\">\n"
			 "<h2 id=\"disk\">Disk</h2>\n<p class=\"facts\">");
	ux_page_share(out, room.total_bytes - ux_min(room.free_bytes, room.total_bytes),
		      room.total_bytes, "is used");
	UX_HTML(out,
		" <span>$ free of $</span> <span>below $ free, uploads are refused</span></p>\n"
		"</section>\n",
		ux_html_size(room.free_bytes), ux_html_size(room.total_bytes),
		ux_html_size(room.least_bytes));
}

/* --- trends ----------------------------------------------------------------------------------- */

/*
 * Writes one bar for each step, drawn by attributes: our content security policy forbids inline
 * styles.
 */
static void page_status_put_bars(struct ux_out *out, const uint64_t *counts, uint64_t max)
{
	UX_HTML(out,
		"<svg class=\"trend\" viewBox=\"0 0 $ $\" preserveAspectRatio=\"none\" "
		"aria-hidden=\"true\"><path class=\"fill\" d=\"",
		(unsigned)UX_TREND_STEPS, (unsigned)TREND_HEIGHT);
	for (unsigned i = 0; i < UX_TREND_STEPS; i++)
		if (counts[i] > 0) {
			double h = 1 + (TREND_HEIGHT - 1) * (double)counts[i] / (double)max;
			ux_out_fmt(out, "M%u %dv-%.1fh1v%.1fz", i, (int)TREND_HEIGHT, h, h);
		}
	ux_out_cstr(out, "\"></path></svg>");
}

static void page_status_put_trend(struct ux_request *req, enum ux_trend which, const char *word,
				  bool size)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_out *out = &req->out;
	uint64_t counts[UX_TREND_STEPS], sum = 0, max = 0;
	ux_trends_read(&s->trends, which, ux_store_now(s->store), counts);
	for (size_t i = 0; i < UX_TREND_STEPS; i++) {
		sum += counts[i];
		max = ux_max(max, counts[i]);
	}
	UX_HTML(out, "<div><dt>$</dt><dd>", word);
	page_status_put_bars(out, counts, ux_max(max, UINT64_C(1)));
	UX_HTML(out,
		"<span>$</span> <span class=\"where\">at most $ in 10 minutes</span></dd></div>\n",
		size ? ux_html_size(sum) : ux_html_count(sum),
		size ? ux_html_size(max) : ux_html_count(max));
}

static void page_status_put_trends(struct ux_request *req)
{
	ux_out_cstr(&req->out,
		    "<section aria-labelledby=\"trends\">\n<h2 id=\"trends\">The last 24 "
		    "hours</h2>\n<dl class=\"trends\">\n");
	page_status_put_trend(req, UX_TREND_REQUESTS, "requests", /* size= */ false);
	page_status_put_trend(req, UX_TREND_ERRORS, "answered with 5xx", /* size= */ false);
	page_status_put_trend(req, UX_TREND_EXTRACTED, "files extracted", /* size= */ false);
	page_status_put_trend(req, UX_TREND_SENT, "sent", /* size= */ true);
	ux_out_cstr(
		&req->out,
		"</dl>\n<p class=\"hint\">In steps of ten minutes, since the server's start.</p>\n"
		"</section>\n");
}

/* --- modules that are missing ----------------------------------------------------------------- */

/* Tests whether a module that was missing has arrived. */
static enum ux_code page_status_came(struct ux_request *req, const char *id, bool *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	int64_t number = 0;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ix->modules.number(ix, ux_caller_of(req)->ns, id, &number, &why);
	*ret = code == UX_OK;
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	req->err = why;
	return code;
}

static enum ux_code page_status_put_misses(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	struct ux_missed_id *ids = ux_arena_array(&req->arena, struct ux_missed_id, MISSES);
	size_t shown = 0;
	if (!ids)
		return ux_arena_fail(&req->arena, &req->err);
	size_t n = ux_misses_top(ux_server_of(req)->misses, ux_caller_of(req)->ns, ids, MISSES);
	ux_out_cstr(out,
		    "<section aria-labelledby=\"misses\">\n<h2 id=\"misses\">Missing modules, the "
		    "most requested first</h2>\n");
	for (size_t i = 0; i < n && shown < MISSES_SHOWN; i++) {
		bool came = false;
		UX_TRY(page_status_came(req, ids[i].id, &came));
		if (came)
			continue;
		ux_out_cstr(out, shown == 0 ? "<ol class=\"misses\">\n" : "");
		UX_HTML(out,
			"<li><a class=\"id\" href=\"/explain?id=$\">$</a> <span "
			"class=\"where\">$ $, last "
			"at $</span></li>\n",
			ux_html_url(ids[i].id), ids[i].id, ux_html_count(ids[i].count),
			ids[i].count == 1 ? "request" : "requests", ux_html_time(ids[i].last));
		shown++;
	}
	if (shown == 0) {
		ux_out_cstr(
			out,
			"<p class=\"hint\">No requested module was missing since the start.</p>\n"
			"</section>\n");
		return UX_OK;
	}
	const struct ux_bytes file = UX_STR("FILE");
	ux_out_cstr(out, "</ol>\n<p class=\"hint\">On a machine that has the files:</p>\n");
	ux_page_command(req, "unhex push --url @ $", &file, 1);
	ux_out_cstr(out, "</section>\n");
	return UX_OK;
}

/* --- upstreams -------------------------------------------------------------------------------- */

static void page_status_put_upstream(struct ux_out *out, const struct ux_upstream_status *u)
{
	bool used = u->breaker == UX_BREAKER_CLOSED;
	UX_HTML(out,
		"<tr><th scope=\"row\">$</th><td>$</td><td><span class=\"tag $\">$</span></td>",
		u->upstream->name, ux_upstream_kind_name(u->upstream->kind), used ? "good" : "bad",
		used ? "in use" : "suspended after failures");
	UX_HTML(out,
		"<td class=\"num\">$</td><td class=\"num\">$</td><td class=\"num\">$</td>"
		"<td class=\"num\">$</td></tr>\n",
		ux_html_count(u->found), ux_html_count(u->absent), ux_html_count(u->failed),
		ux_html_size(u->bytes));
}

static void page_status_put_upstreams(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	/* read once, because a reload may replace it */
	struct ux_fetcher *f = ux_server_of(req)->fetcher;
	if (!f || ux_fetcher_count(f) == 0)
		return;
	ux_out_cstr(
		out,
		"<div>\n<h2 id=\"upstreams\">Upstreams</h2>\n<div class=\"wide\" role=\"region\" "
		"aria-labelledby=\"upstreams\" tabindex=\"0\">\n<table><thead><tr>"
		"<th scope=\"col\">name</th><th scope=\"col\">kind</th><th scope=\"col\">state</th>"
		"<th class=\"num\" scope=\"col\">found</th><th class=\"num\" "
		"scope=\"col\">absent</th>"
		"<th class=\"num\" scope=\"col\">failed</th><th class=\"num\" "
		"scope=\"col\">received</th>"
		"</tr></thead><tbody>\n");
	for (size_t i = 0; i < ux_fetcher_count(f); i++) {
		const struct ux_upstream_status u = ux_fetcher_status(f, i);
		page_status_put_upstream(out, &u);
	}
	ux_out_cstr(out, "</tbody></table>\n</div>\n</div>\n");
}

/* --- namespaces ------------------------------------------------------------------------------- */

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

/* Lists all namespaces for administrators of the server, otherwise only the caller's. */
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
		return ux_error_set(&req->err, code, "the index does not respond");
	*ret = (struct ux_namespace_list){.items = one, .n = 1};
	return UX_OK;
}

static enum ux_code page_status_put_namespaces(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	struct ux_namespace_list list;
	UX_TRY(page_status_list_of(req, &list));
	ux_out_cstr(out,
		    "<div>\n<h2 id=\"namespaces\">Namespaces</h2>\n"
		    "<div class=\"wide\" role=\"region\" aria-labelledby=\"namespaces\" "
		    "tabindex=\"0\">\n<table><thead><tr><th scope=\"col\">name</th>"
		    "<th scope=\"col\">reading</th><th class=\"num\" scope=\"col\">modules</th>"
		    "<th class=\"num\" scope=\"col\">uploaded</th><th class=\"num\" "
		    "scope=\"col\">extracted or fetched</th>"
		    "<th class=\"num\" scope=\"col\">most modules</th><th class=\"num\" "
		    "scope=\"col\">most uploaded</th></tr>"
		    "</thead><tbody>\n");
	for (size_t i = 0; i < list.n; i++)
		UX_TRY(page_status_put_namespace(req, &list.items[i]));
	ux_out_cstr(out, "</tbody></table>\n</div>\n</div>\n");
	return UX_OK;
}

enum ux_code ux_web_status(struct ux_request *req, struct ux_response *res)
{
	const struct ux_caller *caller = ux_caller_of(req);
	bool counters = (caller->scopes & UX_SCOPE_METRICS) != 0;
	bool server = ux_caller_sees_server(req);
	ux_page_begin(req, &page);
	ux_out_cstr(&req->out, "<h1>Status</h1>\n");
	page_status_put_health(req, counters);
	if (counters)
		page_status_put_trends(req);
	if (caller->key_id[0] != '\0' || server)
		UX_TRY(page_status_put_misses(req));
	if (server)
		page_status_put_upstreams(req);
	UX_TRY(page_status_put_namespaces(req));
	if (counters)
		UX_TRY(page_status_put_counters(req));
	return ux_page_end(req, res, &page);
}
