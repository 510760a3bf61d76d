/* SPDX-License-Identifier: Apache-2.0 */
/* /sign-in exchanges a token for a session (server/gate/auth.h); /sign-out ends it. */
#include "auth.h"
#include "page.h"
#include "pages.h"

static const struct ux_page page = {.title = "Sign in - unhex", .section = UX_PAGE_ELSEWHERE};

void ux_sign_in_form(struct ux_out *out, struct ux_bytes next)
{
	UX_HTML(out,
		"<form class=\"sign-in\" action=\"/sign-in\" method=\"post\">\n"
		"<input type=\"hidden\" name=\"next\" value=\"$\">\n"
		"<label for=\"token\">Token of a key</label>\n"
		"<div class=\"row\"><input id=\"token\" name=\"token\" type=\"password\" required "
		"autocomplete=\"current-password\" spellcheck=\"false\" aria-describedby=\"about\">"
		"<button class=\"main\">Sign in</button></div>\n"
		"<p id=\"about\" class=\"hint\"><code>unhex key create</code> makes one. This "
		"browser "
		"keeps a session of 12 hours in place of the token, until you sign out, the key "
		"ends "
		"or the server restarts.</p>\n</form>\n",
		next);
}

/*
 * Accepts only paths of this server: two leading slashes or a backslash would lead to another host.
 */
static struct ux_bytes sign_in_checked_next(struct ux_bytes next)
{
	bool ours = next.size > 0 && next.data[0] == '/' &&
		    (next.size == 1 || (next.data[1] != '/' && next.data[1] != '\\'));
	for (size_t i = 0; i < next.size && ours; i++)
		ours = next.data[i] > ' ' && next.data[i] < 0x7f;
	return ours ? next : UX_STR("/");
}

enum ux_code ux_web_sign_in_form(struct ux_request *req, struct ux_response *res)
{
	ux_page_begin(req, &page);
	ux_out_cstr(&req->out, "<h1>Sign in</h1>\n");
	ux_sign_in_form(&req->out, sign_in_checked_next(ux_page_query(req, "next")));
	return ux_page_end(req, res, &page);
}

/* Sets the cookie: hidden from scripts and other sites, and with TLS never sent unencrypted. */
static enum ux_code sign_in_put_cookie(struct ux_request *req, struct ux_response *res,
				       const char *value, int64_t seconds)
{
	char text[UX_SESSION_TEXT + 128];
	struct ux_bytes origin;
	bool tls = ux_request_header(req, "Origin", &origin) &&
		   ux_bytes_starts(origin, UX_STR("https://"));
	int n = snprintf(text, sizeof(text),
			 UX_SESSION_COOKIE "=%s; Path=/; Max-Age=%" PRId64
					   "; HttpOnly; SameSite=Strict%s",
			 value, seconds, tls ? "; Secure" : "");
	char *kept = ux_arena_strndup(&req->arena, text, (size_t)n);
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	ux_response_field(res, "Set-Cookie", ux_bytes(kept, (size_t)n));
	return UX_OK;
}

static enum ux_code sign_in_check_origin(struct ux_request *req)
{
	if (ux_session_same_origin(req))
		return UX_OK;
	return ux_error_set(
		&req->err, UX_EDENIED,
		"this request did not come from a page of this server; a proxy must forward Host");
}

static enum ux_code sign_in_reject(struct ux_request *req, struct ux_response *res,
				   const struct ux_error *why, struct ux_bytes next)
{
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1>Sign in</h1>\n<p class=\"reason\" role=\"alert\">$</p>\n",
		why->text);
	ux_sign_in_form(&req->out, next);
	res->status = 401;
	return ux_page_end(req, res, &page);
}

enum ux_code ux_web_sign_in(struct ux_request *req, struct ux_response *res)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_form form;
	struct ux_key key;
	struct ux_error why = UX_ERROR_INIT;
	char session[UX_SESSION_TEXT], token_id[UX_KEY_ID_SIZE];
	UX_TRY(sign_in_check_origin(req));
	UX_TRY(ux_form_read(req, &form));
	struct ux_bytes next = sign_in_checked_next(ux_form_get(&form, "next"));
	struct ux_bytes token = ux_page_trim(ux_form_get(&form, "token"));
	enum ux_code code = ux_key_check(s->store->index, token, ux_store_key_now(s->store),
					 &req->arena, &key, &why);
	if (code == UX_EDENIED)
		return sign_in_reject(req, res, &why, next);
	if (code != UX_OK) {
		req->err = why;
		return code;
	}
	ux_token_id(token, token_id);
	UX_TRY(ux_session_make(&s->gate->sessions, token_id, ux_store_key_now(s->store), session,
			       &req->err));
	ux_store_key_used(s->store, key.id);
	UX_TRY(sign_in_put_cookie(req, res, session, UX_SESSION_SECONDS));
	return ux_page_redirect(req, res, next);
}

enum ux_code ux_web_sign_out(struct ux_request *req, struct ux_response *res)
{
	UX_TRY(sign_in_check_origin(req));
	UX_TRY(sign_in_put_cookie(req, res, "", 0));
	return ux_page_redirect(req, res, UX_STR("/"));
}
