/* SPDX-License-Identifier: Apache-2.0 */
/* GET /search: modules by ID and by the name of a file, functions by name; newest first. */
#include "page.h"
#include "pages.h"

#include "function_search.h"
#include "request_values.h"
#include "request_work.h"
#include "text.h"

enum {
	PAGE = 50,          /* modules on one page of a list */
	FEW = 10,           /* modules of a list that is shown beside others */
	MODULES_READ = 500, /* modules whose rows are read in one step */
	MODULES_SHOWN = 25, /* modules with functions on one page */
	PREFIX_MIN = 2,     /* hex digits that may be the beginning of an ID */
	DAY_S = 24 * 60 * 60,
	/* 1/4 of a request's work, for functions if they are one of several lists */
	FUNCTIONS_PART = 4,
};

/* The kind of search. */
enum search_what {
	SEARCH_ALL,
	SEARCH_FILES,
	SEARCH_FUNCTIONS,
	SEARCH_WHATS
};

static const char *const what_words[SEARCH_WHATS] = {"all", "files", "functions"};
static const char *const what_texts[SEARCH_WHATS] = {"IDs, files and functions", "files",
						     "functions"};
static const char *const quality_words[] = {"", "symtab", "lines", "inlines"};
static const char *const quality_texts[] = {"any", "all symbols", "with lines",
					    "with inlined calls"};
static const char *const age_words[] = {"", "1", "7", "30"};
static const char *const age_texts[] = {"any time", "the last day", "the last week",
					"the last 30 days"};

/* State of one search. */
struct search {
	struct ux_request *req;
	const char *q;  /* the search text */
	const char *in; /* "", or a filter of modules by their file names */
	enum search_what what;
	size_t quality, age; /* indexes of the words above */
	/* filter of modules: the values of the form, and ?before= */
	struct ux_module_search filter;
	bool any; /* something was found */
};

/* --- the form --------------------------------------------------------------------------------- */

static size_t page_search_pick(struct ux_request *req, const char *name, const char *const *words,
			       size_t n)
{
	struct ux_bytes v = ux_page_query(req, name);
	for (size_t i = 0; i < n; i++)
		if (ux_bytes_eq(v, ux_bytes_cstr(words[i])))
			return i;
	return 0;
}

static void page_search_put_select(struct ux_out *out, const char *name, const char *label,
				   const char *const *words, const char *const *texts, size_t n,
				   size_t chosen)
{
	UX_HTML(out, "<div><label for=\"$\">$</label><select id=\"$\" name=\"$\">", name, label,
		name, name);
	for (size_t i = 0; i < n; i++)
		UX_HTML(out, "<option value=\"$\"$>$</option>", words[i],
			i == chosen ? UX_HTML_OURS(" selected") : UX_HTML_OURS(""), texts[i]);
	ux_out_cstr(out, "</select></div>\n");
}

static void page_search_put_form(const struct search *s)
{
	struct ux_out *out = &s->req->out;
	UX_HTML(out,
		"<h1>Search</h1>\n<form class=\"filters\" action=\"/search\" method=\"get\">\n"
		"<div class=\"wider\"><label for=\"text\">Text</label><input id=\"text\" "
		"name=\"q\" "
		"type=\"search\" value=\"$\" autocomplete=\"off\" autocapitalize=\"off\" "
		"spellcheck=\"false\"></div>\n",
		s->q);
	page_search_put_select(out, "what", "Look for", what_words, what_texts, SEARCH_WHATS,
			       s->what);
	UX_HTML(out,
		"<div><label for=\"in\">In modules named</label><input id=\"in\" name=\"in\" "
		"value=\"$\" placeholder=\"any\" autocomplete=\"off\" autocapitalize=\"off\" "
		"spellcheck=\"false\"></div>\n",
		s->in);
	page_search_put_select(out, "quality", "Symbols", quality_words, quality_texts,
			       ux_countof(quality_words), s->quality);
	page_search_put_select(out, "days", "Uploaded in", age_words, age_texts,
			       ux_countof(age_words), s->age);
	ux_out_cstr(out, "<button class=\"main\">Search</button>\n</form>\n");
}

/* Writes a link to another page of this search: `what`, from the module with that number on. */
static void page_search_put_link(const struct search *s, enum search_what what, int64_t before,
				 const char *text)
{
	struct ux_out *out = &s->req->out;
	UX_HTML(out,
		"<p class=\"pages\"><a$ href=\"/search?q=$&amp;what=$&amp;in=$&amp;"
		"quality=$&amp;days=$",
		before > 0 ? UX_HTML_OURS(" rel=\"next\"") : UX_HTML_OURS(""), ux_html_url(s->q),
		what_words[what], ux_html_url(s->in), quality_words[s->quality], age_words[s->age]);
	if (before > 0)
		UX_HTML(out, "&amp;before=$", before);
	UX_HTML(out, "\">$</a></p>\n", text);
}

/* --- IDs -------------------------------------------------------------------------------------- */

static bool page_search_is_hex(const char *q)
{
	size_t n = strlen(q);
	for (size_t i = 0; i < n; i++)
		if (ux_hex_digit(q[i]) < 0)
			return false;
	return n >= PREFIX_MIN;
}

static const char *page_search_lower(struct ux_request *req, const char *q)
{
	char *text = ux_arena_strndup(&req->arena, q, strlen(q));
	for (char *p = text; p && *p != '\0'; p++)
		if (ux_is_upper(*p))
			*p = (char)(*p - 'A' + 'a');
	return text;
}

static bool page_search_has_type(const char *q)
{
	static const char *const types[] = {"gnu:", "go:", "file:", "uuid:", "cubin-crc:"};
	for (size_t i = 0; i < ux_countof(types); i++)
		if (strncmp(q, types[i], strlen(types[i])) == 0)
			return true;
	return false;
}

static enum ux_code page_search_put_hits(struct search *s, const struct ux_hits *hits)
{
	struct ux_request *req = s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	ux_out_cstr(&req->out, "<ol class=\"modules\">\n");
	for (size_t i = hits->n; i-- > 0;) { /* newest first */
		struct ux_module m;
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, hits->hits[i].id,
						     &req->arena, &m, &why);
		if (code == UX_OK) {
			ux_page_module_entry(&req->out, &m);
		} else if (code != UX_ENOTFOUND) { /* UX_ENOTFOUND: removed since */
			req->err = why;
			return code;
		}
	}
	ux_out_cstr(&req->out, "</ol>\n");
	return UX_OK;
}

/* Searches for IDs. The text may be the beginning of an ID of any type. */
static enum ux_code page_search_put_ids(struct search *s)
{
	static const char *const types[] = {"gnu:", "file:", "uuid:", "cubin-crc:"};
	struct ux_request *req = s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	bool typed = page_search_has_type(s->q);
	if (!typed && !page_search_is_hex(s->q))
		return UX_OK;
	const char *q = strncmp(s->q, "go:", 3) == 0 ? s->q : page_search_lower(req, s->q);
	if (!q)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0; i < (typed ? 1 : ux_countof(types)); i++) {
		char text[UX_INDEX_ID_BYTES];
		struct ux_hits hits;
		snprintf(text, sizeof(text), "%s%.200s", typed ? "" : types[i], q);
		const struct ux_search what = {.by = UX_SEARCH_ID, .text = text, .limit = PAGE};
		UX_TRY(ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, &hits,
					  &req->err));
		if (hits.n == 0)
			continue;
		UX_HTML(&req->out, "<h2>IDs that begin with $</h2>\n", text);
		UX_TRY(page_search_put_hits(s, &hits));
		if (hits.more)
			ux_out_cstr(&req->out,
				    "<p class=\"hint\">There are more: add digits to narrow the "
				    "search.</p>\n");
		s->any = true;
	}
	return UX_OK;
}

/* --- names of files --------------------------------------------------------------------------- */

/*
 * Returns a pattern of glob.h, in lower case, that finds the text anywhere in a name, unless the
 * text contains a '*' itself. NULL: memory is short.
 */
static const char *page_search_pattern_of(struct ux_request *req, const char *q)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	bool own = strchr(q, '*') != NULL;
	const char *lower = page_search_lower(req, q);
	if (!lower)
		return NULL;
	if (!own)
		ux_out_u8(&out, '*');
	for (const char *p = lower; *p != '\0'; p++) {
		if (*p == '[' || (*p == '?' && !own))
			ux_out_fmt(&out, "[%c]", *p);
		else
			ux_out_u8(&out, (uint8_t)*p);
	}
	if (!own)
		ux_out_u8(&out, '*');
	return out.failed ? NULL : ux_arena_strndup(&req->arena, out.data, out.size);
}

static void page_search_put_total(struct ux_out *out, const char *noun, uint64_t total)
{
	UX_HTML(out, "<h2>$ <span class=\"count\">$ $</span></h2>\n", noun, ux_html_count(total),
		total == 1 ? "module" : "modules");
}

/* Lists the modules that were found, and links to older ones. */
static void page_search_put_modules(struct search *s, const struct ux_module_list *list,
				    const char *older)
{
	struct ux_out *out = &s->req->out;
	ux_out_cstr(out, "<ol class=\"modules\">\n");
	for (size_t i = 0; i < list->n; i++)
		ux_page_module_entry(out, &list->modules[i]);
	ux_out_cstr(out, "</ol>\n");
	if (list->more)
		page_search_put_link(s, SEARCH_FILES, list->modules[list->n - 1].number, older);
}

static enum ux_code page_search_put_files(struct search *s)
{
	struct ux_request *req = s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_module_search what = s->filter;
	struct ux_module_list list;
	uint64_t total = 0;
	what.limit = s->what == SEARCH_FILES ? PAGE : FEW;
	what.also = what.pattern;
	what.pattern = page_search_pattern_of(req, s->q);
	if (!what.pattern)
		return ux_arena_fail(&req->arena, &req->err);
	UX_TRY(ix->modules.search_newest(ix, ux_caller_of(req)->ns, &what, &req->arena, &list,
					 &total, &req->err));
	if (list.n == 0)
		return UX_OK;
	s->any = true;
	page_search_put_total(&req->out, "Files", total);
	page_search_put_modules(s, &list, "Older files of that name");
	return UX_OK;
}

/* --- builds ----------------------------------------------------------------------------------- */

/*
 * Prefixes of a text that names a build instead of files: "git:REVISION", or its beginning,
 * "ci:URL", "package:NAME".
 */
#define GIT_WORD     "git:"
#define CI_WORD      "ci:"
#define PACKAGE_WORD "package:"

/* Sets the filter of modules if the text names a build. */
static bool page_search_of_build(const struct search *s, struct ux_module_search *what)
{
	const char *text = s->q;
	if (strncmp(text, GIT_WORD, strlen(GIT_WORD)) == 0) {
		what->revision = text + strlen(GIT_WORD);
		return ux_git_is_prefix(what->revision);
	}
	if (strncmp(text, CI_WORD, strlen(CI_WORD)) == 0) {
		what->ci_run = text + strlen(CI_WORD);
		return what->ci_run[0] != '\0';
	}
	if (strncmp(text, PACKAGE_WORD, strlen(PACKAGE_WORD)) == 0) {
		what->package = text + strlen(PACKAGE_WORD);
		return what->package[0] != '\0';
	}
	return false;
}

static enum ux_code page_search_put_build(struct search *s, struct ux_module_search *what)
{
	struct ux_request *req = s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_module_list list;
	uint64_t total = 0;
	what->limit = PAGE;
	UX_TRY(ix->modules.search_newest(ix, ux_caller_of(req)->ns, what, &req->arena, &list,
					 &total, &req->err));
	if (list.n == 0)
		return UX_OK;
	s->any = true;
	page_search_put_total(&req->out,
			      what->revision  ? "Built from this revision"
			      : what->package ? "From this package"
					      : "Built in this run",
			      total);
	page_search_put_modules(s, &list, "Older modules of it");
	return UX_OK;
}

/* --- functions -------------------------------------------------------------------------------- */

/* State of a search for functions. */
struct function_search {
	struct search *s;
	struct ux_function_query query;
	struct ux_work work;
	struct ux_out list; /* the entries */
	uint64_t functions; /* functions found... */
	uint64_t modules;   /* ...in that number of modules */
	uint64_t searched;  /* modules that were searched */
	uint64_t total;     /* modules to search in all */
	uint64_t unread;    /* modules whose GSYM could not be read */
	int64_t last;       /* number of the last module searched; 0: none */
	bool over;          /* all modules were searched */
};

static void page_search_put_functions_of(struct function_search *f, const struct ux_module *m,
					 const struct ux_functions_found *found)
{
	struct ux_out *out = &f->list;
	const char *id = m->n_ids > 0 ? m->ids[0] : "";
	ux_out_cstr(out, "<li>");
	ux_page_module_lines(out, m);
	ux_out_cstr(out, "<ol class=\"functions\">\n");
	for (size_t i = 0; i < found->n; i++)
		ux_page_function_entry(out, id, &found->best[i]);
	ux_out_cstr(out, "</ol>\n");
	if (found->total > found->n)
		UX_HTML(out,
			"<p class=\"pages\"><a href=\"/modules/$/functions?q=$\">All $ of this "
			"module</a></p>\n",
			ux_html_url(id), ux_html_url(f->s->q), ux_html_count(found->total));
	ux_out_cstr(out, "</li>\n");
}

/*
 * Searches one module. UX_ELIMIT: the budget is used up. A module that cannot be read is counted
 * and skipped.
 */
static enum ux_code page_search_module(struct function_search *f, const struct ux_module *m,
				       struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_request *req = f->s->req;
	struct ux_functions_found found;
	struct ux_gsym g;
	UX_TRY(ux_request_work_charge(&f->work, UX_WORK_MODULE, err));
	if (ux_functions_open(req, m, &file, &g, NULL) != UX_OK) {
		f->unread++;
		return UX_OK;
	}
	UX_TRY(ux_functions_find(&g, &f->query, &f->work, &req->arena, &found, err));
	if (found.total == 0)
		return UX_OK;
	f->functions += found.total;
	f->modules++;
	page_search_put_functions_of(f, m, &found);
	return UX_OK;
}

/*
 * Searches the modules of one page of the index. *ret_more: more modules follow, and there is room
 * for them. If the budget ends within the first module, its results so far are kept.
 */
static enum ux_code page_search_batch(struct function_search *f, struct ux_module_search *what,
				      bool *ret_more)
{
	struct ux_request *req = f->s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_module_list list;
	bool first = f->searched == 0;
	UX_TRY(ux_request_work_charge(&f->work, UX_WORK_SEARCH, &req->err));
	UX_TRY(ix->modules.search_newest(ix, ux_caller_of(req)->ns, what, &req->arena, &list,
					 first ? &f->total : NULL, &req->err));
	*ret_more = list.more;
	f->over = !list.more;
	for (size_t i = 0; i < list.n; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = page_search_module(f, &list.modules[i], &why);
		if (code != UX_OK && code != UX_ELIMIT) {
			req->err = why;
			return code;
		}
		if (code == UX_ELIMIT && f->searched > 0) {
			*ret_more = f->over = false;
			return UX_OK;
		}
		f->unread += code == UX_ELIMIT;
		f->searched++;
		f->last = what->before = list.modules[i].number;
		if (code == UX_ELIMIT || f->modules == MODULES_SHOWN) {
			f->over = !list.more && i + 1 == list.n;
			*ret_more = false;
			return UX_OK;
		}
	}
	return UX_OK;
}

static void page_search_put_functions_head(const struct function_search *f)
{
	struct ux_out *out = &f->s->req->out;
	UX_HTML(out, "<h2>Functions <span class=\"count\">$ in $ $</span></h2>\n<p class=\"hint\">",
		ux_html_count(f->functions), ux_html_count(f->modules),
		f->modules == 1 ? "module" : "modules");
	if (f->over && f->s->filter.before == 0)
		UX_HTML(out,
			f->total == 1 ? "$ module was searched." : "All $ modules were searched.",
			ux_html_count(f->total));
	else
		UX_HTML(out, "$ modules were searched, of $, newest first.",
			ux_html_count(f->searched), ux_html_count(f->total));
	if (f->unread > 0)
		UX_HTML(out, " $ of them could not be searched completely.",
			ux_html_count(f->unread));
	ux_out_cstr(out, "</p>\n");
}

static bool page_search_may_be_function(const struct search *s)
{
	return s->what == SEARCH_FUNCTIONS ||
	       (s->what == SEARCH_ALL && !strchr(s->q, '/') && !page_search_has_type(s->q));
}

static enum ux_code page_search_functions(struct function_search *f)
{
	struct ux_request *req = f->s->req;
	struct ux_module_search what = f->s->filter;
	bool more = true;
	what.limit = MODULES_READ;
	what.gsym = true;
	while (more)
		UX_TRY(page_search_batch(f, &what, &more));
	UX_TRY(ux_out_status(&f->list, &req->err));
	f->s->any |= f->functions > 0;
	page_search_put_functions_head(f);
	if (f->list.size > 0) {
		ux_out_cstr(&req->out, "<ol class=\"modules\">\n");
		ux_out_put(&req->out, f->list.data, f->list.size);
		ux_out_cstr(&req->out, "</ol>\n");
	}
	if (!f->over && f->last > 0)
		page_search_put_link(f->s, SEARCH_FUNCTIONS, f->last, "Search older modules");
	return UX_OK;
}

static enum ux_code page_search_put_functions(struct search *s)
{
	struct function_search f = {.s = s, .work = ux_request_work(s->req)};
	if (!page_search_may_be_function(s))
		return UX_OK;
	if (s->what == SEARCH_ALL)
		f.work.budget.left /= FUNCTIONS_PART;
	enum ux_code code = ux_function_query_parse(ux_bytes_cstr(s->q), &f.query, &s->req->err);
	if (code == UX_OK)
		code = page_search_functions(&f);
	else if (s->what == SEARCH_ALL) {
		s->req->err = (struct ux_error)UX_ERROR_INIT;
		code = UX_OK;
	}
	ux_out_deinit(&f.list);
	return code;
}

/* --- the page --------------------------------------------------------------------------------- */

/* Redirects to the module if the text is a complete ID in any syntax. */
static bool page_search_find_whole(struct ux_request *req, struct ux_bytes q,
				   struct ux_bytes *ret_path)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	const char *id = NULL;
	int64_t number = 0;
	if (ux_module_id_parse(q, &req->arena, &id, NULL) != UX_OK ||
	    ix->modules.number(ix, ux_caller_of(req)->ns, id, &number, NULL) != UX_OK)
		return false;
	UX_HTML(&out, "/modules/$", ux_html_url(id));
	char *path = ux_arena_strndup(&req->arena, out.data, out.size);
	*ret_path = ux_bytes(path, out.size);
	return path != NULL;
}

static void page_search_put_nothing(const struct search *s)
{
	struct ux_out *out = &s->req->out;
	UX_HTML(out, "<p>No module has an ID, a file name or a function like <b>$</b>.</p>\n",
		s->q);
	if (s->in[0] != '\0' || s->quality > 0 || s->age > 0)
		ux_out_cstr(out,
			    "<p class=\"hint\">The filters above excluded some modules.</p>\n");
	else if (page_search_is_hex(s->q) || page_search_has_type(s->q))
		UX_HTML(out,
			"<p class=\"hint\"><a href=\"/explain?id=$\">Explain</a> says why this ID "
			"is missing, and what brings it here.</p>\n",
			ux_html_url(s->q));
	else
		ux_out_cstr(out, "<p class=\"hint\">Upper and lower case are the same; in names of "
				 "files, <code>*</code> stands for any text. <code>git:</code> and "
				 "the beginning of a revision finds what was built from it, "
				 "<code>ci:</code> and its address what a CI run sent, "
				 "<code>package:</code> and its name what a package of a "
				 "distribution has.</p>\n");
}

static enum ux_code page_search_read(struct ux_request *req, struct ux_bytes q, struct search *s)
{
	static const enum ux_quality qualities[] = {UX_QUALITY_NONE, UX_QUALITY_SYMTAB,
						    UX_QUALITY_LINES, UX_QUALITY_INLINES};
	struct ux_bytes in = ux_page_query(req, "in");
	int64_t before = ux_page_number(req, "before", 0);
	*s = (struct search){.req = req};
	s->what = (enum search_what)page_search_pick(req, "what", what_words, SEARCH_WHATS);
	s->quality = page_search_pick(req, "quality", quality_words, ux_countof(quality_words));
	s->age = page_search_pick(req, "days", age_words, ux_countof(age_words));
	if (q.size > UX_INDEX_TEXT_BYTES || in.size > UX_INDEX_TEXT_BYTES)
		return ux_error_set(&req->err, UX_ELIMIT, "search text exceeds %d bytes",
				    UX_INDEX_TEXT_BYTES);
	s->q = ux_arena_strndup(&req->arena, q.data, q.size);
	s->in = ux_arena_strndup(&req->arena, in.data, in.size);
	if (!s->q || !s->in)
		return ux_arena_fail(&req->arena, &req->err);
	s->filter.min = qualities[s->quality];
	s->filter.before = before;
	if (s->age > 0)
		s->filter.since = ux_store_now(ux_server_of(req)->store) -
				  (ux_time)strtol(age_words[s->age], NULL, 10) * DAY_S;
	if (in.size == 0)
		return UX_OK;
	s->filter.pattern = page_search_pattern_of(req, s->in);
	return s->filter.pattern ? UX_OK : ux_arena_fail(&req->arena, &req->err);
}

enum ux_code ux_web_search(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes q = ux_page_query(req, "q"), path;
	struct search s;
	if (q.size == 0 && ux_page_query(req, "what").size == 0)
		return ux_page_redirect(req, res, UX_STR("/modules"));
	if (q.size > 0 && page_search_find_whole(req, q, &path))
		return ux_page_redirect(req, res, path);
	UX_TRY(page_search_read(req, q, &s));
	const struct ux_page page = {
		.title = "Search - unhex", .section = UX_PAGE_MODULES, .query = s.q};
	ux_page_begin(req, &page);
	page_search_put_form(&s);
	struct ux_module_search build = s.filter;
	if (page_search_of_build(&s, &build)) {
		UX_TRY(page_search_put_build(&s, &build));
		if (!s.any)
			page_search_put_nothing(&s);
		return ux_page_end(req, res, &page);
	}
	if (s.what == SEARCH_ALL && s.filter.before == 0)
		UX_TRY(page_search_put_ids(&s));
	if (s.what != SEARCH_FUNCTIONS)
		UX_TRY(page_search_put_files(&s));
	UX_TRY(page_search_put_functions(&s));
	if (!s.any)
		page_search_put_nothing(&s);
	return ux_page_end(req, res, &page);
}
