/* SPDX-License-Identifier: Apache-2.0 */
/* GET /modules/{id}: details of a module. */
#include "page.h"
#include "pages.h"

#include "request_values.h"

enum {
	HISTORY = 50, /* entries of the audit log that are shown */
	BUILDS = 5,   /* other modules of the same name that are shown */
	CANDIDATES =
		/*
		 * candidates of one module that are shown: a program has as many .dwo files as
		 * compilation units
		 */
		200
};

enum ux_code ux_page_module_find(struct ux_request *req, struct ux_module *ret)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const char *id = NULL;
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, &id, &req->err));
	return ix->modules.find(ix, ux_caller_of(req)->ns, id, &req->arena, ret, &req->err);
}

const char *ux_page_module_title(const struct ux_module *m)
{
	const char *name = ux_page_module_name(m), *slash = strrchr(name, '/');
	return slash && slash[1] != '\0' ? slash + 1
	       : name[0] != '\0'         ? name
	       : m->n_ids > 0            ? m->ids[0]
					 : "";
}

void ux_page_module_trail(struct ux_out *out, const struct ux_module *m, const char *what)
{
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	UX_HTML(out,
		"<p class=\"trail\"><a href=\"/modules/$\">$</a> <span class=\"dot\">·</span> "
		"<a href=\"/modules/$/functions\">functions</a> <span class=\"dot\">·</span> "
		"<a href=\"/modules/$/sources\">source files</a></p>\n<h1>$</h1>\n",
		ux_html_url(id), ux_page_module_title(m), ux_html_url(id), ux_html_url(id), what);
}

static void page_module_put_fact(struct ux_out *out, const char *word, struct ux_html_value value)
{
	UX_HTML(out, "<div><dt>$</dt><dd>$</dd></div>\n", word, value);
}

static enum ux_code page_module_put_pins(struct ux_request *req, const struct ux_module *m)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_pin_list pins;
	if (!m->pinned)
		return UX_OK;
	UX_TRY(ix->modules.pins(ix, m->number, &req->arena, &pins, &req->err));
	ux_out_cstr(&req->out, "<div><dt>pinned</dt><dd>");
	for (size_t i = 0; i < pins.n; i++)
		UX_HTML(&req->out, "<span class=\"tag\">$</span> ", pins.pins[i].label);
	ux_out_cstr(&req->out, "</dd></div>\n");
	return UX_OK;
}

static enum ux_code page_module_put_facts(struct ux_request *req, const struct ux_module *m)
{
	struct ux_out *out = &req->out;
	ux_out_cstr(out, "<dl class=\"facts\">\n<div><dt>quality</dt><dd>");
	ux_page_quality(out, ux_module_quality(m));
	ux_out_cstr(out, "</dd></div>\n<div><dt>IDs</dt><dd><ul class=\"ids\">\n");
	for (size_t i = 0; i < m->n_ids; i++)
		UX_HTML(out, "<li class=\"id\">$</li>\n", m->ids[i]);
	ux_out_cstr(out, "</ul></dd></div>\n");
	page_module_put_fact(out, "came", ux_html_time(m->created));
	page_module_put_fact(out, "changed", ux_html_time(m->updated));
	page_module_put_fact(out, "last used", ux_html_time(m->last_used));
	if (m->marked != 0)
		page_module_put_fact(out, "unused since", ux_html_time(m->marked));
	UX_TRY(page_module_put_pins(req, m));
	ux_out_cstr(out, "</dl>\n");
	return UX_OK;
}

/* Writes the forms for symbolizing and explaining addresses of the module. */
static void page_module_put_forms(struct ux_out *out, const struct ux_module *m)
{
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	UX_HTML(out,
		"<form class=\"ask\" action=\"/explain\" method=\"get\">\n"
		"<input type=\"hidden\" name=\"id\" value=\"$\">\n"
		"<label for=\"addr\">Look up address</label> <div class=\"row\"><input "
		"id=\"addr\" name=\"addr\" inputmode=\"text\" placeholder=\"0x29d90\" "
		"autocomplete=\"off\" "
		"spellcheck=\"false\"><button>Explain</button></div></form>\n",
		id);
}

static void page_module_put_counts(struct ux_out *out, const struct ux_candidate *c)
{
	const struct ux_counts *n = &c->counts;
	uint64_t whole = ux_max(c->code_total, n->code_bytes + n->unnamed_bytes);
	if (n->functions == 0)
		return;
	UX_HTML(out, "<p class=\"facts\"><span>$ functions</span> ", ux_html_count(n->functions));
	if (n->inlines > 0)
		UX_HTML(out, "<span>$ inlined $</span> ", ux_html_count(n->inlines),
			n->inlines == 1 ? "call" : "calls");
	if (n->rows > 0)
		UX_HTML(out, "<span>$ rows of lines</span> ", ux_html_count(n->rows));
	if (n->unnamed > 0)
		UX_HTML(out, "<span>$ without a name</span>", ux_html_count(n->unnamed));
	ux_out_cstr(out, "</p>\n<p class=\"facts\">");
	ux_page_share(out, n->code_bytes, whole, "of the code is named");
	ux_page_share(out, n->line_bytes, whole, "has lines");
	ux_out_cstr(out, "</p>\n");
}

static const char *page_module_state_class(enum ux_candidate_state state)
{
	switch (state) {
	case UX_CANDIDATE_PENDING:
		return "busy";
	case UX_CANDIDATE_FAILED:
		return "bad";
	case UX_CANDIDATE_READY:
		break;
	}
	return "good";
}

/*
 * Writes the key that made a change: its description for callers with a key of the namespace or on
 * this machine, otherwise its number.
 */
static void page_module_put_key(struct ux_request *req, const char *key_id)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_caller *caller = ux_caller_of(req);
	struct ux_key key = {.description = ""};
	if (key_id[0] == '\0')
		return;
	if (caller->key_id[0] != '\0' || ux_caller_sees_server(req))
		if (ix->keys.get(ix, key_id, &req->arena, &key, NULL) != UX_OK ||
		    strcmp(key.ns, caller->ns) != 0)
			key.description = "";
	if (key.description[0] != '\0')
		UX_HTML(&req->out, " <span title=\"$\">key: $</span>", key_id, key.description);
	else
		UX_HTML(&req->out, " <span>key <code>$</code></span>", key_id);
}

static void page_module_put_origin(struct ux_request *req, const struct ux_candidate *c)
{
	struct ux_out *out = &req->out;
	UX_HTML(out, "<p class=\"facts\"><span>$</span> <span>$$$</span> <span>$</span>",
		ux_html_size(c->size), c->parent != 0 ? "extracted here from " : "by ",
		ux_origin_name(c->origin), c->forced ? ", forced" : "", ux_html_time(c->created));
	if (c->origin_name[0] != '\0' && ux_caller_sees_origin(req, c))
		UX_HTML(out, " <span>from $</span>", c->origin_name);
	page_module_put_key(req, c->key_id);
	ux_out_cstr(out, "</p>\n");
}

/* Writes a URL; as a link only if it is http or https, because a client sent it. */
static void page_module_put_url(struct ux_out *out, const char *url)
{
	if (strncmp(url, "https://", 8) == 0 || strncmp(url, "http://", 7) == 0)
		UX_HTML(out, "<a rel=\"noreferrer\" href=\"$\">$</a>", url, url);
	else
		UX_HTML(out, "$", url);
}

/* Writes the distribution's package that the module is from. */
static void page_module_put_package(struct ux_out *out, const struct ux_provenance *p)
{
	const char *name = ux_provenance_get(p, UX_PACKAGE);
	const char *sha256 = ux_provenance_get(p, UX_PACKAGE_SHA256);
	const char *suite = ux_provenance_get(p, UX_SUITE);
	if (name[0] == '\0')
		return;
	UX_HTML(out, "<span>package <a href=\"/search?q=package%3A$\">$</a> $</span> ",
		ux_html_url(name), name, ux_provenance_get(p, UX_PACKAGE_VERSION));
	if (ux_provenance_get(p, UX_DISTRIBUTION)[0] != '\0')
		UX_HTML(out, "<span>of $$$</span> ", ux_provenance_get(p, UX_DISTRIBUTION),
			suite[0] != '\0' ? " " : "", suite);
	if (sha256[0] != '\0')
		UX_HTML(out, "<span>sha256 <code>$</code></span>", sha256);
}

/* Writes where the build comes from: revision and run are links to all modules with the same. */
static void page_module_put_provenance(struct ux_out *out, const struct ux_provenance *p)
{
	const char *revision = ux_provenance_get(p, UX_GIT_REVISION);
	const char *branch = ux_provenance_get(p, UX_GIT_BRANCH);
	const char *repository = ux_provenance_get(p, UX_GIT_REPOSITORY);
	const char *run = ux_provenance_get(p, UX_CI_RUN);
	const struct ux_provenance build = ux_provenance_without_host(p);
	if (!ux_provenance_is_known(&build))
		return;
	ux_out_cstr(out, "<p class=\"facts\">");
	if (revision[0] != '\0')
		UX_HTML(out,
			"<span>git <a href=\"/search?q=git%3A$\"><code>$</code></a>$$$</span> ",
			ux_html_url(revision), revision, branch[0] != '\0' ? " (" : "", branch,
			branch[0] != '\0' ? ")" : "");
	if (repository[0] != '\0') {
		ux_out_cstr(out, "<span>of ");
		page_module_put_url(out, repository);
		ux_out_cstr(out, "</span> ");
	}
	if (run[0] != '\0') {
		ux_out_cstr(out, "<span>CI run ");
		page_module_put_url(out, run);
		UX_HTML(out, ", <a href=\"/search?q=ci%3A$\">its modules</a></span>",
			ux_html_url(run));
	}
	page_module_put_package(out, p);
	ux_out_cstr(out, "</p>\n");
}

/* Writes where an agent found the file. */
static void page_module_put_host(struct ux_out *out, const struct ux_provenance *p)
{
	const char *owner = ux_provenance_get(p, UX_OWNER);
	const char *mount = ux_provenance_get(p, UX_MOUNT_NAMESPACE);
	if (owner[0] == '\0')
		return;
	UX_HTML(out, "<p class=\"facts\"><span>found on host $</span> <span>user $</span>",
		ux_provenance_get(p, UX_HOST), owner);
	if (mount[0] != '\0')
		UX_HTML(out, " <span>mount namespace $</span>", mount);
	ux_out_cstr(out, "</p>\n");
}

static void page_module_put_candidate(struct ux_request *req, const struct ux_candidate *c,
				      bool best)
{
	struct ux_out *out = &req->out;
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(&c->blob, hash);
	UX_HTML(out, "<li><h3><span class=\"kind\">$</span> ", ux_kind_name(c->kind));
	if (c->kind != UX_KIND_SOURCES)
		ux_page_quality(out, c->quality);
	UX_HTML(out, " <span class=\"tag $\">$</span>", page_module_state_class(c->state),
		ux_candidate_state_name(c->state));
	if (c->trust != UX_TRUST_NONE)
		UX_HTML(out, " <span class=\"tag\" title=\"who vouches for it\">$</span>",
			ux_trust_name(c->trust));
	ux_out_cstr(out, best ? " <span class=\"tag\">answers first</span></h3>\n" : "</h3>\n");
	if (c->reason[0] != '\0')
		UX_HTML(out, "<p class=\"reason\">$</p>\n", c->reason);
	if (c->file_name[0] != '\0')
		UX_HTML(out, "<p class=\"path\">$</p>\n", c->file_name);
	if (c->description[0] != '\0')
		UX_HTML(out, "<p>$</p>\n", c->description);
	if (c->apart_from[0] != '\0')
		UX_HTML(out,
			"<p class=\"reason\">Kept apart: another file has its build ID, <code>$</code>.</p>\n",
			c->apart_from);
	page_module_put_provenance(out, &c->provenance);
	if (ux_caller_sees_hosts(req))
		page_module_put_host(out, &c->provenance);
	page_module_put_counts(out, c);
	page_module_put_origin(req, c);
	UX_HTML(out, "<p class=\"hash\">sha256 <code>$</code></p></li>\n", hash);
}

static void page_module_put_candidates(struct ux_request *req, const struct ux_module *m)
{
	struct ux_out *out = &req->out;
	size_t n = ux_min(m->n_candidates, (size_t)CANDIDATES);
	const struct ux_candidate *best = ux_module_best(m, UX_KIND_GSYM);
	ux_out_cstr(out, "<section aria-labelledby=\"candidates\">\n"
			 "<h2 id=\"candidates\">Candidates, best first</h2>\n"
			 "<ol class=\"candidates\">\n");
	for (size_t i = 0; i < n; i++)
		page_module_put_candidate(req, &m->candidates[i], &m->candidates[i] == best);
	ux_out_cstr(out, "</ol>\n");
	if (n < m->n_candidates)
		UX_HTML(out, "<p class=\"hint\">And $ more.</p>\n", m->n_candidates - n);
	ux_out_cstr(out, "</section>\n");
}

/* Writes the audit log. Only administrators see the addresses of callers. */
static enum ux_code page_module_put_history(struct ux_request *req, const struct ux_module *m)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_audit_list list;
	bool admin = (ux_caller_of(req)->scopes & UX_SCOPE_ADMIN) != 0;
	UX_TRY(ix->audit.history(ix, m->number, HISTORY, &req->arena, &list, &req->err));
	if (list.n == 0)
		return UX_OK;
	ux_out_cstr(out, "<section aria-labelledby=\"history\">\n<h2 id=\"history\">History</h2>\n"
			 "<ol class=\"history\">\n");
	for (size_t i = 0; i < list.n; i++) {
		const struct ux_audit *line = &list.lines[i];
		UX_HTML(out, "<li>$ <b>$</b> <span>$</span>", ux_html_time(line->time), line->what,
			line->detail);
		page_module_put_key(req, line->key_id);
		if (admin && line->from[0] != '\0')
			UX_HTML(out, " <span>from $</span>", line->from);
		ux_out_cstr(out, "</li>\n");
	}
	ux_out_cstr(out, "</ol>\n</section>\n");
	return UX_OK;
}

/* --- links to other pages --------------------------------------------------------------------- */

static void page_module_put_download(struct ux_out *out, const char *before, const char *id,
				     const char *behind, const char *what, uint64_t size)
{
	UX_HTML(out, "<li><a href=\"$$$\">$</a>", before, ux_html_url(id), behind, what);
	if (size > 0)
		UX_HTML(out, " <span class=\"where\">$</span>", ux_html_size(size));
	ux_out_cstr(out, "</li>\n");
}

/* Returns the build ID in hex, by which debuggers know the module; NULL: it has none. */
static const char *page_module_build_id(const struct ux_module *m)
{
	for (size_t i = 0; i < m->n_ids; i++)
		if (strncmp(m->ids[i], "gnu:", 4) == 0)
			return m->ids[i] + 4;
	return NULL;
}

/* Links the files that debuggers fetch by the protocol of debuginfod. */
static void page_module_put_downloads(struct ux_out *out, const struct ux_module *m)
{
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	const struct ux_candidate *gsym = ux_module_best(m, UX_KIND_GSYM);
	const char *build_id = page_module_build_id(m);
	const struct ux_candidate *code = ux_module_elf(m, UX_HOLDS_CODE);
	const struct ux_candidate *debug = ux_module_elf(m, UX_HOLDS_DEBUG);
	ux_out_cstr(out,
		    "<section aria-labelledby=\"downloads\">\n<h2 id=\"downloads\">Downloads</h2>\n"
		    "<ul class=\"downloads\">\n");
	if (gsym)
		page_module_put_download(out, "/v1/gsym/", id, "", "symbols, as GSYM", gsym->size);
	if (debug && build_id)
		page_module_put_download(out, "/buildid/", build_id, "/debuginfo",
					 "file with debug information", debug->size);
	if (code && build_id)
		page_module_put_download(out, "/buildid/", build_id, "/executable",
					 "file with code", code->size);
	page_module_put_download(out, "/v1/modules/", id, "", "this page, as JSON", 0);
	ux_out_cstr(out, "</ul>\n</section>\n");
}

static void page_module_put_contents(struct ux_out *out, const struct ux_module *m)
{
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	const struct ux_candidate *gsym = ux_module_best(m, UX_KIND_GSYM);
	if (!gsym)
		return;
	ux_out_cstr(out,
		    "<section aria-labelledby=\"contents\">\n<h2 id=\"contents\">Contents</h2>\n");
	UX_HTML(out,
		"<form class=\"ask\" action=\"/modules/$/functions\" method=\"get\">\n"
		"<label for=\"name\">Find a function by a part of its name</label>\n"
		"<div class=\"row\"><input id=\"name\" name=\"q\" type=\"search\" "
		"autocomplete=\"off\" "
		"autocapitalize=\"off\" spellcheck=\"false\"><button>Find</button></div></form>\n",
		ux_html_url(id));
	UX_HTML(out,
		"<p><a href=\"/modules/$/functions\">All $ functions</a> <span "
		"class=\"dot\">·</span> "
		"<a href=\"/modules/$/sources\">Source files</a></p>\n</section>\n",
		ux_html_url(id), ux_html_count(gsym->counts.functions), ux_html_url(id));
}

/* Lists other modules with the same file name, newest first. */
static enum ux_code page_module_put_builds(struct ux_request *req, const struct ux_module *m)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	const struct ux_module_search what = {.base = ux_page_module_title(m), .limit = BUILDS + 1};
	struct ux_module_list list;
	uint64_t total = 0;
	if (ux_page_module_name(m)[0] == '\0')
		return UX_OK;
	UX_TRY(ix->modules.search_newest(ix, ux_caller_of(req)->ns, &what, &req->arena, &list,
					 &total, &req->err));
	if (total < 2)
		return UX_OK;
	UX_HTML(out,
		"<section aria-labelledby=\"builds\">\n<h2 id=\"builds\">Other builds of this name "
		"<span class=\"count\">$</span></h2>\n<ol class=\"modules\">\n",
		ux_html_count(total - 1));
	size_t shown = 0;
	for (size_t i = 0; i < list.n && shown < BUILDS; i++)
		if (list.modules[i].number != m->number) {
			ux_page_module_entry(out, &list.modules[i]);
			shown++;
		}
	ux_out_cstr(out, "</ol>\n");
	if (total - 1 > shown)
		UX_HTML(out, "<p><a href=\"/search?q=$&amp;what=files\">All of them</a></p>\n",
			ux_html_url(what.base));
	ux_out_cstr(out, "</section>\n");
	return UX_OK;
}

enum ux_code ux_web_module(struct ux_request *req, struct ux_response *res)
{
	struct ux_module m;
	char title[160];
	UX_TRY(ux_page_module_find(req, &m));
	const char *name = ux_page_module_name(&m);
	snprintf(title, sizeof(title), "%.100s - unhex", ux_page_module_title(&m));
	const struct ux_page page = {.title = title, .section = UX_PAGE_MODULES};
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1 class=\"module\">$</h1>\n", ux_page_module_title(&m));
	if (strchr(name, '/'))
		UX_HTML(&req->out, "<p class=\"path\">$</p>\n", name);
	UX_TRY(page_module_put_facts(req, &m));
	page_module_put_forms(&req->out, &m);
	page_module_put_contents(&req->out, &m);
	page_module_put_downloads(&req->out, &m);
	page_module_put_candidates(req, &m);
	UX_TRY(page_module_put_builds(req, &m));
	UX_TRY(page_module_put_history(req, &m));
	return ux_page_end(req, res, &page);
}
