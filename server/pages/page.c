/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of all pages: header and footer, HTTP headers. */
#include "page.h"

#include "pages.h"
#include "request_values.h"

static const struct {
	const char *path;
	const char *word;
} sections[] = {
	[UX_PAGE_MODULES] = {"/modules", "Modules"},
	[UX_PAGE_SYMBOLIZE] = {"/symbolize", "Symbolize"},
	[UX_PAGE_PROFILES] = {"/profiles", "Profiles"},
	[UX_PAGE_EXPLAIN] = {"/explain", "Explain"},
	[UX_PAGE_UPLOADS] = {"/uploads", "Uploads"},
	[UX_PAGE_STATUS] = {"/status", "Status"},
	[UX_PAGE_KEYS] = {"/keys", "Keys"},
};

bool ux_page_accepted(const struct ux_request *req)
{
	struct ux_bytes accept;
	return ux_request_header(req, "Accept", &accept) &&
	       memmem(accept.data, accept.size, "text/html", 9) != NULL;
}

static bool page_is_shown(const struct ux_request *req, enum ux_page_section section)
{
	const struct ux_caller *caller = req->caller;
	return section != UX_PAGE_KEYS || (caller && (caller->scopes & UX_SCOPE_ADMIN) != 0);
}

static void page_put_navigation(struct ux_request *req, const struct ux_page *page)
{
	struct ux_out *out = &req->out;
	ux_out_cstr(out, "<nav aria-label=\"Main\"><ul>");
	for (size_t i = UX_PAGE_MODULES; i < ux_countof(sections); i++) {
		if (!page_is_shown(req, (enum ux_page_section)i))
			continue;
		UX_HTML(out, "<li><a href=\"$\"$>$</a></li>", sections[i].path,
			page->section == (enum ux_page_section)i
				? UX_HTML_OURS(" aria-current=\"page\"")
				: UX_HTML_OURS(""),
			sections[i].word);
	}
	ux_out_cstr(out, "</ul></nav>\n");
}

static void page_put_search(struct ux_out *out, const struct ux_page *page)
{
	UX_HTML(out,
		"<form role=\"search\" action=\"/search\" method=\"get\">"
		"<label class=\"hidden\" for=\"q\">Find modules by ID or file name, or "
		"functions</label>"
		"<input id=\"q\" name=\"q\" type=\"search\" value=\"$\" placeholder=\"ID, file "
		"or function\" autocomplete=\"off\" autocapitalize=\"off\" spellcheck=\"false\">"
		"<button>Find</button></form>\n",
		page->query ? page->query : "");
}

static void page_put_caller(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	const struct ux_caller *caller = req->caller;
	if (!caller || caller->key_id[0] == '\0') {
		ux_out_cstr(out, "<p class=\"who\"><a href=\"/sign-in\">Sign in</a></p>\n");
		return;
	}
	bool ours = strcmp(caller->ns, UX_NAMESPACE_DEFAULT) == 0;
	UX_HTML(out,
		"<form class=\"who\" action=\"/sign-out\" method=\"post\"><span>key "
		"<code>$</code>$<b>$</b></span>",
		caller->key_id, ours ? "" : " in ", ours ? "" : caller->ns);
	if (req->path_token.size == 0) /* a token in the path excludes sessions */
		ux_out_cstr(out, " <button>Sign out</button>");
	ux_out_cstr(out, "</form>\n");
}

/*
 * Tests whether files can be dropped on the page: on every page for callers who may upload. It
 * needs the script.
 */
static bool page_takes_drops(const struct ux_request *req)
{
	const struct ux_caller *caller = req->caller;
	return caller && (caller->scopes & UX_SCOPE_UPLOAD) != 0;
}

static bool page_has_script(const struct ux_request *req, const struct ux_page *page)
{
	return page->script || page_takes_drops(req);
}

void ux_page_begin(struct ux_request *req, const struct ux_page *page)
{
	struct ux_out *out = &req->out;
	UX_HTML(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<title>$</title>\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"robots\" content=\"noindex\">\n",
		page->title);
	UX_HTML(out, "<link rel=\"icon\" href=\"/assets/icon.svg?v=$\">\n", ux_asset_icon.tag);
	UX_HTML(out, "<link rel=\"stylesheet\" href=\"/assets/style.css?v=$\">\n",
		ux_asset_style.tag);
	if (page_has_script(req, page))
		UX_HTML(out, "<script type=\"module\" src=\"/assets/upload.js?v=$\"></script>\n",
			ux_asset_upload.tag);
	if (page->own_script)
		UX_HTML(out, "<script src=\"/assets/$?v=$\"></script>\n", page->own_script->name,
			page->own_script->tag);
	ux_out_cstr(out,
		    page_takes_drops(req) ? "</head>\n<body data-upload>\n" : "</head>\n<body>\n");
	ux_out_cstr(out, "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n"
			 "<header class=\"top\">\n<a class=\"mark\" href=\"/\">unhex</a>\n");
	page_put_navigation(req, page);
	if (page->section != UX_PAGE_HOME)
		page_put_search(out, page);
	page_put_caller(req);
	ux_out_cstr(out, "</header>\n<main id=\"main\" tabindex=\"-1\">\n");
}

/*
 * Allows to load only content of this server, scripts only on pages that have one, and no page in a
 * frame.
 */
#define POLICY_SHARED                                                                \
	"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; " \
	"base-uri 'none'; frame-ancestors 'none'"
static const char policy_plain[] = POLICY_SHARED;
static const char policy_script[] = POLICY_SHARED "; script-src 'self'; connect-src 'self'";

static const char policy_frame[] =
	POLICY_SHARED "; script-src 'self'; connect-src 'self'; frame-src 'self'";

static void page_put_fields(const struct ux_request *req, struct ux_response *res,
			    const struct ux_page *page)
{
	bool script = page->own_script || page_has_script(req, page);
	const char *policy = page->frame ? policy_frame : script ? policy_script : policy_plain;
	ux_response_field(res, "Content-Security-Policy", ux_bytes_cstr(policy));
	ux_response_field(res, "Cross-Origin-Opener-Policy", UX_STR("same-origin"));
	ux_response_field(res, "Cross-Origin-Resource-Policy", UX_STR("same-origin"));
}

/*
 * A browser that came under /k/TOKEN/ or /n/NAME/ stays there: the prefix is inserted into our
 * links, which all begin with one of these two patterns. Escaped values contain no double quote, so
 * they cannot match.
 */
static enum ux_code page_put_prefix(struct ux_request *req)
{
	static const char *const starts[] = {" href=\"", " action=\"", " src=\""};
	ux_cleanup(ux_out_deinit) struct ux_out page = req->out;
	req->out = (struct ux_out){0};
	for (size_t i = 0; i < page.size;) {
		struct ux_bytes left = ux_bytes(page.data + i, page.size - i);
		size_t n = 1;
		for (size_t k = 0; k < ux_countof(starts); k++)
			if (ux_bytes_starts(left, ux_bytes_cstr(starts[k])))
				n = strlen(starts[k]);
		ux_out_put(&req->out, left.data, n);
		i += n;
		if (n > 1 && i < page.size && page.data[i] == '/')
			ux_html_escape(&req->out, req->prefix);
	}
	return ux_out_status(&page, &req->err);
}

enum ux_code ux_page_end(struct ux_request *req, struct ux_response *res,
			 const struct ux_page *page)
{
	ux_out_cstr(&req->out,
		    "</main>\n<footer>\n<p>unhex " UX_VERSION
		    " <span class=\"dot\">·</span> times are UTC <span class=\"dot\">·</span> API: "
		    "<code>/v1</code>; <code>curl</code> this server for the list</p>\n"
		    "</footer>\n</body>\n</html>\n");
	if (req->prefix.size > 0)
		UX_TRY(page_put_prefix(req));
	page_put_fields(req, res, page);
	return ux_response_out(req, res, "text/html; charset=utf-8");
}

enum ux_code ux_page_redirect(struct ux_request *req, struct ux_response *res, struct ux_bytes path)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_out_put(&out, req->prefix.data, req->prefix.size);
	ux_out_put(&out, path.data, path.size);
	UX_TRY(ux_out_status(&out, &req->err));
	char *kept = ux_arena_strndup(&req->arena, out.data, out.size);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	res->status = 303;
	ux_response_field(res, "Location", ux_bytes(kept, out.size));
	return UX_OK;
}
