/* SPDX-License-Identifier: Apache-2.0 */
/* GET /modules and /search: lists of modules. */
#include "page.h"
#include "pages.h"

#include "text.h"
#include "request_values.h"

enum {
	PAGE = 50,       /* modules on one page */
	PREFIX_LEAST = 2 /* hex digits that may be the beginning of an ID */
};

/*
 * A page of modules, newest first; ?before= is the number of the last module on the previous page.
 */
enum ux_code ux_web_modules(struct ux_request *req, struct ux_response *res)
{
	const struct ux_page page = {.title = "Modules - unhex", .section = UX_PAGE_MODULES};
	struct ux_index *ix = ux_server_of(req)->store->index;
	struct ux_out *out = &req->out;
	struct ux_module_list list;
	int64_t before = ux_page_number(req, "before", INT64_MAX);
	UX_TRY(ix->modules.newest(ix, ux_caller_of(req)->ns, before, PAGE, &req->arena, &list,
				  &req->err));
	ux_page_begin(req, &page);
	ux_out_cstr(out, "<h1>Modules</h1>\n<p class=\"hint\">Newest first.</p>\n");
	if (list.n == 0)
		ux_out_cstr(out, "<p>There are none.</p>\n");
	else
		ux_out_cstr(out, "<ol class=\"modules\">\n");
	for (size_t i = 0; i < list.n; i++)
		ux_page_module_entry(out, &list.modules[i]);
	if (list.n > 0)
		ux_out_cstr(out, "</ol>\n");
	ux_out_cstr(out, "<nav class=\"pages\" aria-label=\"Pages\">");
	if (before != INT64_MAX)
		ux_out_cstr(out, "<a href=\"/modules\">Newest</a> ");
	if (list.more)
		UX_HTML(out, "<a rel=\"next\" href=\"/modules?before=$\">Older</a>",
			list.modules[list.n - 1].number);
	ux_out_cstr(out, "</nav>\n");
	return ux_page_end(req, res, &page);
}

/* State of one search. */
struct search {
	struct ux_request *req;
	const char *q;           /* the search text */
	int64_t shown[5 * PAGE]; /* room for the hits of four types of ID and of names */
	size_t n_shown;
};

static bool page_modules_seen(struct search *s, int64_t module)
{
	for (size_t i = 0; i < s->n_shown; i++)
		if (s->shown[i] == module)
			return true;
	if (s->n_shown < ux_countof(s->shown))
		s->shown[s->n_shown++] = module;
	return false;
}

/* Several candidates of one module are shown as one entry. */
static enum ux_code page_modules_put_hits(struct search *s, const struct ux_hits *hits)
{
	struct ux_request *req = s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	if (hits->n > 0)
		ux_out_cstr(&req->out, "<ol class=\"modules\">\n");
	for (size_t i = 0; i < hits->n; i++) {
		struct ux_module m;
		if (page_modules_seen(s, hits->hits[i].module))
			continue;
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ix->modules.find(ix, ux_caller_of(req)->ns, hits->hits[i].id,
						     &req->arena, &m, &why);
		if (code == UX_OK) {
			ux_page_module_entry(&req->out, &m);
		} else if (code != UX_ENOTFOUND) { /* that is, removed meanwhile */
			req->err = why;
			return code;
		}
	}
	if (hits->n > 0)
		ux_out_cstr(&req->out, "</ol>\n");
	return UX_OK;
}

static enum ux_code page_modules_get_ref(struct search *s, enum ux_search_by by, const char *text,
					 int64_t after, struct ux_hits *ret)
{
	struct ux_request *req = s->req;
	struct ux_index *ix = ux_server_of(req)->store->index;
	const struct ux_search what = {.by = by, .text = text, .after = after, .limit = PAGE};
	return ix->modules.search(ix, ux_caller_of(req)->ns, &what, &req->arena, ret, &req->err);
}

static bool page_modules_is_hex(const char *q)
{
	size_t n = strlen(q);
	for (size_t i = 0; i < n; i++)
		if (ux_hex_digit(q[i]) < 0)
			return false;
	return n >= PREFIX_LEAST;
}

static const char *page_modules_lower(struct ux_request *req, const char *q)
{
	char *text = ux_arena_strndup(&req->arena, q, strlen(q));
	for (char *p = text; p && *p != '\0'; p++)
		if (*p >= 'A' && *p <= 'Z')
			*p = (char)(*p - 'A' + 'a');
	return text;
}

static bool page_modules_has_type(const char *q)
{
	static const char *const types[] = {"gnu:", "go:", "file:", "uuid:", "cubin-crc:"};
	for (size_t i = 0; i < ux_countof(types); i++)
		if (strncmp(q, types[i], strlen(types[i])) == 0)
			return true;
	return false;
}

/* The text may be the beginning of an ID of any type. */
static enum ux_code page_modules_put_ids(struct search *s, bool *ret_any)
{
	static const char *const types[] = {"gnu:", "file:", "uuid:", "cubin-crc:"};
	struct ux_request *req = s->req;
	bool typed = page_modules_has_type(s->q);
	if (!typed && !page_modules_is_hex(s->q))
		return UX_OK;
	const char *q = strncmp(s->q, "go:", 3) == 0 ? s->q : page_modules_lower(req, s->q);
	for (size_t i = 0; i < (typed ? 1 : ux_countof(types)); i++) {
		char text[UX_INDEX_ID_BYTES];
		struct ux_hits hits;
		if (!q)
			return ux_arena_fail(&req->arena, &req->err);
		snprintf(text, sizeof(text), "%s%s", typed ? "" : types[i], q);
		UX_TRY(page_modules_get_ref(s, UX_SEARCH_ID, text, 0, &hits));
		if (hits.n > 0)
			UX_HTML(&req->out, "<h2>IDs that begin with $</h2>\n", text);
		UX_TRY(page_modules_put_hits(s, &hits));
		if (hits.more)
			ux_out_cstr(&req->out,
				    "<p class=\"hint\">And more: type more of it.</p>\n");
		*ret_any = *ret_any || hits.n > 0;
	}
	return UX_OK;
}

/*
 * A pattern of glob.h that finds the text anywhere in the name, unless it contains a '*'
 * itself.
 */
static const char *page_modules_pattern_of(struct ux_request *req, const char *q)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	bool own = strchr(q, '*') != NULL;
	if (!own)
		ux_out_u8(&out, '*');
	for (const char *p = q; *p != '\0'; p++) {
		if (*p == '[' || (*p == '?' && !own))
			ux_out_fmt(&out, "[%c]", *p);
		else
			ux_out_u8(&out, (uint8_t)*p);
	}
	if (!own)
		ux_out_u8(&out, '*');
	return out.failed ? NULL : ux_arena_strndup(&req->arena, out.data, out.size);
}

static enum ux_code page_modules_put_names(struct search *s, int64_t after, bool *ret_any)
{
	struct ux_request *req = s->req;
	struct ux_hits hits;
	const char *pattern = page_modules_pattern_of(req, s->q);
	if (!pattern)
		return ux_arena_fail(&req->arena, &req->err);
	UX_TRY(page_modules_get_ref(s, UX_SEARCH_GLOB, pattern, after, &hits));
	if (hits.n > 0)
		UX_HTML(&req->out, "<h2>Files named like $</h2>\n", s->q);
	UX_TRY(page_modules_put_hits(s, &hits));
	if (hits.more)
		UX_HTML(&req->out,
			"<nav class=\"pages\" aria-label=\"Pages\"><a rel=\"next\" "
			"href=\"/search?q=$&amp;after=$\">More</a></nav>\n",
			ux_html_url(s->q), hits.hits[hits.n - 1].candidate);
	*ret_any = *ret_any || hits.n > 0;
	return UX_OK;
}

/* Redirects to the module when the text is a complete ID in any syntax. */
static bool page_modules_find_whole(struct ux_request *req, struct ux_bytes q,
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

static void page_modules_put_nothing(struct ux_out *out, const char *q)
{
	UX_HTML(out,
		"<p>No module has an ID or a file name like <b>$</b>.</p>\n"
		"<p class=\"hint\">Upper and lower case differ; <code>*</code> stands for any text. "
		"Modules whose upload has no ready file yet are found by ID alone.</p>\n",
		q);
}

enum ux_code ux_web_search(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes q = ux_page_query(req, "q"), path;
	if (q.size == 0)
		return ux_page_redirect(req, res, UX_STR("/modules"));
	if (q.size > UX_INDEX_TEXT_BYTES)
		return ux_error_set(&req->err, UX_ELIMIT, "what is searched for has over %d bytes",
				    UX_INDEX_TEXT_BYTES);
	if (page_modules_find_whole(req, q, &path))
		return ux_page_redirect(req, res, path);
	struct search s = {.req = req, .q = ux_arena_strndup(&req->arena, q.data, q.size)};
	if (!s.q)
		return ux_arena_fail(&req->arena, &req->err);
	const struct ux_page page = {
		.title = "Search - unhex", .section = UX_PAGE_MODULES, .query = s.q};
	int64_t after = ux_page_number(req, "after", 0);
	bool any = false;
	ux_page_begin(req, &page);
	ux_out_cstr(&req->out, "<h1>Search</h1>\n");
	if (after == 0)
		UX_TRY(page_modules_put_ids(&s, &any));
	UX_TRY(page_modules_put_names(&s, after, &any));
	if (!any)
		page_modules_put_nothing(&req->out, s.q);
	return ux_page_end(req, res, &page);
}
