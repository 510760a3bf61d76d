/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /modules/{id}/functions: all functions of a module, or only the ones with a text in their
 * name.
 */
#include "page.h"
#include "pages.h"

#include "function_search.h"
#include "request_work.h"

enum {
	SHOWN = 100 /* functions on one page */
};

void ux_page_function_entry(struct ux_out *out, const char *id, const struct ux_function *f)
{
	UX_HTML(out, "<li><a href=\"/explain?id=$&amp;addr=$\"><code class=\"fn\">$</code></a> ",
		ux_html_url(id), ux_html_hex(f->pc), f->name.size > 0 ? f->name : UX_STR("?"));
	UX_HTML(out, "<span class=\"where\">$, $ bytes</span></li>\n", ux_html_hex(f->pc),
		ux_html_count(f->size));
}

static void page_functions_put_form(struct ux_out *out, const char *id, struct ux_bytes q)
{
	UX_HTML(out,
		"<form class=\"ask\" action=\"/modules/$/functions\" method=\"get\">\n"
		"<label for=\"name\">Part of the name, upper or lower case</label>\n"
		"<div class=\"row\"><input id=\"name\" name=\"q\" type=\"search\" value=\"$\" "
		"autocomplete=\"off\" autocapitalize=\"off\" "
		"spellcheck=\"false\"><button>Find</button></div></form>\n",
		ux_html_url(id), q);
}

/*
 * Writes the head of the list. Ranges without a name are listed, and counted separately, as on the
 * module's page.
 */
static void page_functions_put_head(struct ux_out *out, const struct ux_module *m,
				    const struct ux_gsym *g, bool filtered, uint64_t total,
				    bool whole)
{
	const struct ux_candidate *c = ux_module_best(m, UX_KIND_GSYM);
	uint64_t unnamed = c ? ux_min(c->counts.unnamed, (uint64_t)g->n_functions) : 0;
	uint64_t named = g->n_functions - unnamed;
	if (!filtered && unnamed > 0)
		UX_HTML(out,
			"<p class=\"hint\">$ functions and $ without a name, by address.</p>\n",
			ux_html_count(named), ux_html_count(unnamed));
	else if (!filtered)
		UX_HTML(out, "<p class=\"hint\">$ functions, by address.</p>\n",
			ux_html_count(named));
	else if (whole)
		UX_HTML(out, "<p class=\"hint\">$ of $ functions match.</p>\n",
			ux_html_count(total), ux_html_count(named));
	else
		UX_HTML(out,
			"<p class=\"hint\">At least $ of $ functions match; there are too many "
			"names to search in one request.</p>\n",
			ux_html_count(total), ux_html_count(named));
}

/* One page of the list. */
struct function_page {
	struct ux_out list;
	uint64_t total; /* functions that match, from the first one on */
	size_t shown;
	uint32_t last; /* number of the last one shown */
	bool more;     /* more functions follow */
	bool whole;    /* all functions were read */
};

/* Reads the functions of a page. Without a query, reads only the functions that are shown. */
static enum ux_code page_functions_read(struct ux_function_scan *scan, const char *id,
					uint32_t from, struct function_page *p,
					struct ux_error *err)
{
	scan->next = scan->query ? 0 : from;
	for (bool any = true; any && !(p->more && !scan->query);) {
		struct ux_function f;
		enum ux_code code = ux_function_scan_next(scan, &f, &any, err);
		/* the budget is used up: show the functions found so far */
		if (code == UX_ELIMIT) {
			*err = (struct ux_error)UX_ERROR_INIT;
			return ux_out_status(&p->list, err);
		}
		UX_TRY(code);
		p->total += any;
		if (!any || f.number < from)
			continue;
		p->more = p->shown == SHOWN;
		if (p->more)
			continue;
		ux_page_function_entry(&p->list, id, &f);
		p->shown++;
		p->last = f.number;
	}
	p->whole = true;
	return ux_out_status(&p->list, err);
}

static enum ux_code page_functions_put(struct ux_request *req, const struct ux_module *m,
				       const struct ux_gsym *g, struct ux_bytes q)
{
	struct ux_out *out = &req->out;
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	struct ux_function_query query;
	struct ux_work work = ux_request_work(req);
	int64_t from = ux_page_number(req, "from", 0);
	struct function_page p = {0};
	ux_cleanup(ux_function_scan_deinit) struct ux_function_scan scan = {
		.gsym = g, .query = q.size > 0 ? &query : NULL, .work = &work};
	if (q.size > 0)
		UX_TRY(ux_function_query_parse(q, &query, &req->err));
	enum ux_code code = page_functions_read(
		&scan, id, (uint32_t)ux_min(from, (int64_t)UINT32_MAX), &p, &req->err);
	if (code == UX_OK) {
		page_functions_put_head(out, m, g, q.size > 0, p.total, p.whole);
		ux_out_cstr(out, p.shown > 0 ? "<ol class=\"functions\">\n" : "");
		ux_out_put(out, p.list.data, p.list.size);
		ux_out_cstr(out, p.shown > 0 ? "</ol>\n" : "<p>There are none.</p>\n");
		if (p.more)
			UX_HTML(out,
				"<nav class=\"pages\" aria-label=\"Pages\"><a rel=\"next\" "
				"href=\"/modules/$/functions?q=$&amp;from=$\">More</a></nav>\n",
				ux_html_url(id), ux_html_url_bytes(q), (uint64_t)p.last + 1);
	}
	ux_out_deinit(&p.list);
	return code;
}

enum ux_code ux_web_functions(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_bytes q = ux_page_query(req, "q");
	struct ux_module m;
	struct ux_gsym g;
	UX_TRY(ux_page_module_find(req, &m));
	const char *id = m.n_ids > 0 ? m.ids[0] : "";
	UX_TRY(ux_functions_open(req, &m, &file, &g, &req->err));
	const struct ux_page page = {.title = "Functions - unhex", .section = UX_PAGE_MODULES};
	ux_page_begin(req, &page);
	ux_page_module_trail(&req->out, &m, "Functions");
	page_functions_put_form(&req->out, id, q);
	UX_TRY(page_functions_put(req, &m, &g, q));
	return ux_page_end(req, res, &page);
}
