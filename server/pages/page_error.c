/* SPDX-License-Identifier: Apache-2.0 */
/* Shows errors as pages: what happened, and what to do next. */
#include "keys.h"
#include "page.h"
#include "pages.h"

static const char *error_title(unsigned status)
{
	switch (status) {
	case 401:
		return "A key is needed";
	case 403:
		return "Not allowed";
	case 404:
		return "Not found";
	case 405:
		return "Not supported";
	case 413:
		return "Request too large";
	case 429:
		return "Too many requests";
	default:
		return status < 500 ? "Request failed" : "Temporarily unavailable";
	}
}

/* Returns the requested URL; "/" after a form was sent, because a link cannot repeat that. */
static struct ux_bytes error_url(struct ux_request *req)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (req->method != UX_METHOD_GET)
		return UX_STR("/");
	ux_out_put(&out, req->path.data, req->path.size);
	for (size_t i = 0; i < req->n_query; i++) {
		ux_out_u8(&out, i == 0 ? '?' : '&');
		ux_html_percent(&out, req->query[i].name);
		ux_out_u8(&out, '=');
		ux_html_percent(&out, req->query[i].value);
	}
	char *kept = out.failed ? NULL : ux_arena_strndup(&req->arena, out.data, out.size);
	return kept ? ux_bytes(kept, out.size) : UX_STR("/");
}

static bool error_of_module(const struct ux_request *req)
{
	return req->route && req->n_params > 0 &&
	       strncmp(req->route->pattern, "/modules/{id}", strlen("/modules/{id}")) == 0;
}

/*
 * Writes the hint for status 401: programs send a header, which a browser's user cannot, so show
 * the form.
 */
static void error_put_sign_in(struct ux_request *req)
{
	char names[UX_SCOPES_TEXT];
	UX_HTML(&req->out,
		"<p>This page needs a key with the scope <b>$</b>. Sign in with the token of "
		"one; whoever runs this server can make one for you.</p>\n",
		ux_scopes_text(req->route ? req->route->scope : 0, names));
	ux_sign_in_form(&req->out, error_url(req));
}

static void error_put_denied(struct ux_request *req)
{
	bool keyed = req->caller && ux_caller_of(req)->key_id[0] != '\0';
	if (keyed)
		UX_HTML(&req->out,
			"<p class=\"next\">A key with that scope may: <a "
			"href=\"/sign-in?next=$\">sign in with another key</a>, or ask whoever "
			"runs "
			"this server to make one.</p>\n",
			ux_html_url_bytes(error_url(req)));
	else
		ux_out_cstr(&req->out,
			    "<p class=\"next\">Go back, load the form again, and send it "
			    "from there.</p>\n");
}

static void error_put_not_found(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	if (error_of_module(req))
		UX_HTML(out,
			"<p class=\"next\"><a href=\"/explain?id=$\">Explain</a> says where this "
			"ID "
			"was looked for, and what brings it here. <a "
			"href=\"/search?q=$\">Search</a> "
			"finds IDs that begin like it.</p>\n",
			ux_html_url_bytes(req->params[0]), ux_html_url_bytes(req->params[0]));
	else
		ux_out_cstr(out, "<p class=\"next\">Search for it above, see <a "
				 "href=\"/modules\">all modules</a>, or begin at the <a "
				 "href=\"/\">first page</a>.</p>\n");
}

static void error_put_again(struct ux_request *req, const char *before)
{
	if (req->method == UX_METHOD_GET)
		UX_HTML(&req->out,
			"<p class=\"next\">$ <a href=\"$\">Load this page again</a>.</p>\n", before,
			error_url(req));
	else
		UX_HTML(&req->out, "<p class=\"next\">$ Go back and send it again.</p>\n", before);
}

/*
 * Writes the number of the error, so that a person can report it. Only the log has the same number.
 */
static void error_put_report(struct ux_request *req)
{
	error_put_again(req, "This may have passed by now.");
	UX_HTML(&req->out,
		"<p class=\"hint\">If it has not, whoever runs this server finds the reason in "
		"its log "
		"under <code>$</code>.</p>\n",
		req->name);
}

static void error_put_next(struct ux_request *req, unsigned status)
{
	switch (status) {
	case 403:
		error_put_denied(req);
		return;
	case 404:
		error_put_not_found(req);
		return;
	case 413:
		ux_out_cstr(&req->out,
			    "<p class=\"next\">Go back, and send or search for less at a "
			    "time.</p>\n");
		return;
	case 429:
		error_put_again(req, "Wait a moment.");
		return;
	case 503:
		error_put_again(req, "Wait some seconds.");
		return;
	default:
		if (status >= 500)
			error_put_report(req);
		else
			ux_out_cstr(&req->out,
				    "<p class=\"next\">Go back and correct it, or begin at "
				    "the <a href=\"/\">first page</a>.</p>\n");
	}
}

void ux_web_error(struct ux_request *req, struct ux_response *res)
{
	const struct ux_page page = {.title = "unhex", .section = UX_PAGE_ELSEWHERE};
	if ((req->route && !req->route->page) || !ux_page_accepted(req))
		return;
	const char *message = res->message ? res->message : "";
	ux_out_deinit(&req->out);
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1>$</h1>\n", error_title(res->status));
	if (res->status == 401) {
		error_put_sign_in(req);
	} else {
		UX_HTML(&req->out, "<p class=\"message\">$</p>\n",
			!req->route && res->status == 404 ? "This server has no such page."
							  : message);
		error_put_next(req, res->status);
	}
	if (ux_page_end(req, res, &page) == UX_OK)
		return;
	res->type = "text/plain; charset=utf-8";
	res->body = UX_STR("out of memory\n");
}
