/* SPDX-License-Identifier: Apache-2.0 */
/* GET /crawl: progress, speed and failures of crawls of packages. */
#include "page.h"
#include "pages.h"

#include "crawl.h"

enum {
	REPOSITORIES = 200, /* repositories that are listed */
	DURATION_TEXT = 40,
};

static const struct ux_page page = {.title = "Crawls - unhex", .section = UX_PAGE_STATUS};

static void page_crawl_put_fact(struct ux_out *out, const char *word, struct ux_html_value value)
{
	UX_HTML(out, "<div><dt>$</dt><dd>$</dd></div>\n", word, value);
}

/* "3 days 4 h", "5 h 20 min", "7 min". */
static const char *page_crawl_duration(int64_t seconds, char text[DURATION_TEXT])
{
	int64_t minutes = (seconds + 59) / 60, hours = minutes / 60, days = hours / 24;
	if (days > 0)
		snprintf(text, DURATION_TEXT, "%" PRId64 " %s %" PRId64 " h", days,
			 days == 1 ? "day" : "days", hours % 24);
	else if (hours > 0)
		snprintf(text, DURATION_TEXT, "%" PRId64 " h %" PRId64 " min", hours, minutes % 60);
	else
		snprintf(text, DURATION_TEXT, "%" PRId64 " min", minutes);
	return text;
}

static uint64_t page_crawl_jobs(const struct ux_package_status *s)
{
	uint64_t n = 0;
	for (int i = 0; i < UX_PACKAGE_KNOWN; i++)
		n += s->states[i].packages;
	return n;
}

static void page_crawl_put_verdict(struct ux_out *out, const struct ux_package_status *s,
				   const struct ux_crawl_rate *r)
{
	char text[DURATION_TEXT];
	uint64_t all = page_crawl_jobs(s), done = s->states[UX_PACKAGE_DONE].packages;
	if (all == 0) {
		UX_HTML(out, "<p class=\"verdict\">$</p>\n", "There are no packages to crawl.");
		return;
	}
	UX_HTML(out, "<p class=\"verdict\">$ of $ packages are done.</p>\n", ux_html_count(done),
		ux_html_count(all));
	ux_out_cstr(out, "<p class=\"facts\">");
	ux_page_share(out, done, all, "done");
	UX_HTML(out, " <span>$ $</span> ", ux_html_count(s->workers),
		s->workers == 1 ? "worker" : "workers");
	if (r->packages_left == 0)
		ux_out_cstr(out, "<span>all done</span>");
	else if (r->known)
		UX_HTML(out, "<span>about $ left</span>", page_crawl_duration(r->estimate_s, text));
	ux_out_cstr(out, "</p>\n");
}

static void page_crawl_put_rate(struct ux_out *out, const struct ux_package_status *s,
				const struct ux_crawl_rate *r)
{
	uint64_t seconds = (uint64_t)ux_max(r->seconds, INT64_C(1));
	ux_out_cstr(out, "<section aria-labelledby=\"rate\">\n<h2 id=\"rate\">In the last ten "
			 "minutes</h2>\n<dl class=\"numbers\">\n");
	page_crawl_put_fact(out, "packages", ux_html_count(s->recent.packages));
	page_crawl_put_fact(out, "a minute", ux_html_count(s->recent.packages * 60 / seconds));
	page_crawl_put_fact(out, "modules", ux_html_count(s->recent.modules));
	page_crawl_put_fact(out, "fetched", ux_html_size(s->recent.fetched));
	page_crawl_put_fact(out, "a second", ux_html_size(s->recent.fetched / seconds));
	page_crawl_put_fact(out, "stored", ux_html_size(s->recent.stored));
	ux_out_cstr(out, "</dl>\n</section>\n");
}

/* Lists every state with an explanation for readers who do not know the terms. */
static void page_crawl_put_states(struct ux_out *out, const struct ux_package_status *s)
{
	static const char *const words[UX_PACKAGE_STATES] = {
		"waiting",     "in progress",           "done", "failed, will be retried",
		"quarantined", "known by build ID only"};
	ux_out_cstr(out, "<section aria-labelledby=\"states\">\n<h2 id=\"states\">Packages</h2>\n"
			 "<dl class=\"numbers\">\n");
	for (size_t i = 0; i < UX_PACKAGE_STATES; i++)
		page_crawl_put_fact(out, words[i], ux_html_count(s->states[i].packages));
	page_crawl_put_fact(out, "fetched", ux_html_size(s->states[UX_PACKAGE_DONE].fetched));
	page_crawl_put_fact(out, "stored", ux_html_size(s->states[UX_PACKAGE_DONE].stored));
	ux_out_cstr(out, "</dl>\n</section>\n");
}

/* --- repositories ----------------------------------------------------------------------------- */

static void page_crawl_put_repository(struct ux_out *out, const struct ux_repository *r)
{
	uint64_t left = r->packages[UX_PACKAGE_WAITING] + r->packages[UX_PACKAGE_LEASED] +
			r->packages[UX_PACKAGE_FAILED];
	UX_HTML(out,
		"<tr><th scope=\"row\">$</th><td class=\"num\">$</td><td class=\"num\">$</td>"
		"<td class=\"num\">$</td><td class=\"num\">$</td><td>$</td></tr>\n",
		r->name, ux_html_count(r->packages[UX_PACKAGE_DONE]), ux_html_count(left),
		ux_html_count(r->packages[UX_PACKAGE_QUARANTINED]),
		ux_html_count(r->packages[UX_PACKAGE_KNOWN]), ux_html_time(r->completed));
}

static enum ux_code page_crawl_put_repositories(struct ux_request *req)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_repositories list;
	UX_TRY(ix->packages.repositories(ix, ux_caller_of(req)->ns, "", REPOSITORIES, &req->arena,
					 &list, &req->err));
	if (list.n == 0)
		return UX_OK;
	ux_out_cstr(
		out,
		"<div>\n<h2 id=\"repositories\">Repositories</h2>\n"
		"<div class=\"wide\" role=\"region\" aria-labelledby=\"repositories\" "
		"tabindex=\"0\">\n<table><thead><tr><th scope=\"col\">name</th><th class=\"num\" "
		"scope=\"col\">done</th><th class=\"num\" scope=\"col\">left</th><th "
		"class=\"num\" scope=\"col\">quarantined</th><th class=\"num\" "
		"scope=\"col\">known</th><th scope=\"col\">fully "
		"announced</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < list.n; i++)
		page_crawl_put_repository(out, &list.items[i]);
	ux_out_cstr(out, "</tbody></table>\n</div>\n");
	if (list.more)
		ux_out_cstr(out,
			    "<p class=\"hint\">More are in <a "
			    "href=\"/v1/crawl/repositories\">/v1/crawl/repositories</a>.</p>\n");
	ux_out_cstr(out, "</div>\n");
	return UX_OK;
}

/* --- failures --------------------------------------------------------------------------------- */

static void page_crawl_put_causes(struct ux_out *out, const struct ux_package_status *s)
{
	ux_out_cstr(out, "<dl class=\"numbers\">\n");
	for (size_t i = 0; i < s->n_causes; i++)
		page_crawl_put_fact(out, s->causes[i].cause, ux_html_count(s->causes[i].packages));
	ux_out_cstr(out, "</dl>\n");
}

static void page_crawl_put_failure(struct ux_out *out, const struct ux_package_job *job)
{
	bool again = job->state == UX_PACKAGE_FAILED;
	UX_HTML(out, "<li><p><b>$</b> <code>$</code> <span class=\"tag $\">$</span> $</p>\n",
		job->package.name, job->package.version, again ? "busy" : "bad", job->cause,
		job->repository);
	if (job->reason[0] != '\0')
		UX_HTML(out, "<p class=\"reason\">$</p>\n", job->reason);
	UX_HTML(out, "<p class=\"facts\"><span>$</span> <span>failed $ times</span> ",
		ux_html_time(job->ended), job->tries);
	if (again)
		UX_HTML(out, "<span>again at $</span>", ux_html_time(job->next));
	ux_out_cstr(out, "</p></li>\n");
}

static enum ux_code page_crawl_put_failures(struct ux_request *req,
					    const struct ux_package_status *s)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_package_jobs list;
	if (s->n_causes == 0)
		return UX_OK;
	UX_TRY(ix->packages.failures(ix, ux_caller_of(req)->ns, UX_CRAWL_FAILURES, &req->arena,
				     &list, &req->err));
	ux_out_cstr(out, "<section aria-labelledby=\"failures\">\n<h2 id=\"failures\">Failures, by "
			 "cause</h2>\n");
	page_crawl_put_causes(out, s);
	ux_out_cstr(out, "<ul class=\"uploads\">\n");
	for (size_t i = 0; i < list.n; i++)
		page_crawl_put_failure(out, &list.items[i]);
	ux_out_cstr(out, "</ul>\n</section>\n");
	return UX_OK;
}

enum ux_code ux_web_crawl(struct ux_request *req, struct ux_response *res)
{
	struct ux_store *store = ux_server_of(req)->store;
	struct ux_out *out = &req->out;
	struct ux_package_status s;
	ux_time now = ux_store_now(store);
	UX_TRY(store->index->packages.status(store->index, ux_caller_of(req)->ns, now, &req->arena,
					     &s, &req->err));
	const struct ux_crawl_rate r = ux_crawl_rate_of(&s, now);
	ux_page_begin(req, &page);
	ux_out_cstr(out, "<h1>Crawls</h1>\n");
	page_crawl_put_verdict(out, &s, &r);
	page_crawl_put_rate(out, &s, &r);
	page_crawl_put_states(out, &s);
	UX_TRY(page_crawl_put_repositories(req));
	UX_TRY(page_crawl_put_failures(req, &s));
	return ux_page_end(req, res, &page);
}
