/* SPDX-License-Identifier: Apache-2.0 */
/* /keys: the keys of a namespace, for its administrators: list, create, rotate, revoke. */
#include "auth.h"
#include "key_admin.h"
#include "key_text.h"
#include "page.h"
#include "pages.h"

static const struct ux_page page = {.title = "Keys - unhex", .section = UX_PAGE_KEYS};

static bool page_keys_of_all_namespaces(const struct ux_request *req)
{
	return (ux_caller_of(req)->scopes & UX_SCOPE_SERVER) != 0;
}

/* Shows a new token, for the only time. Like every page, the answer is never cached. */
static void page_keys_put_token(struct ux_out *out, const struct ux_key *key, const char *token)
{
	UX_HTML(out,
		"<section class=\"token\" role=\"status\" aria-labelledby=\"token\">\n"
		"<h2 id=\"token\">The token of key <code>$</code></h2>\n"
		"<p class=\"hash\"><code>$</code></p>\n"
		"<p class=\"hint\">Copy it now: it is not shown again. The server stores only "
		"its hash.</p>\n</section>\n",
		key->id, token);
}

static const char *page_keys_state_of(const struct ux_key *key, ux_time now)
{
	if (key->revoked != 0)
		return "revoked";
	return key->expires != 0 && key->expires <= now ? "expired" : "valid";
}

static void page_keys_put_forms(struct ux_out *out, const struct ux_key *key)
{
	UX_HTML(out,
		"<details><summary>Rotate</summary>\n"
		"<form class=\"row\" action=\"/keys/$/rotate\" method=\"post\">"
		"<label for=\"overlap-$\">Earlier tokens stay valid for</label>"
		"<input id=\"overlap-$\" name=\"overlap\" value=\"" UX_KEY_OVERLAP_DEFAULT
		"\" required maxlength=\"10\" autocomplete=\"off\" spellcheck=\"false\">"
		"<button>Make a new token</button></form></details>\n",
		ux_html_url(key->id), key->id, key->id);
	UX_HTML(out,
		"<details><summary>Revoke</summary>\n"
		"<form class=\"row\" action=\"/keys/$/revoke\" method=\"post\"><span>Permanently "
		"ends all its tokens and sessions.</span><button>Revoke "
		"$</button></form></details>\n",
		ux_html_url(key->id), key->id);
}

static void page_keys_put_key(struct ux_out *out, const struct ux_key *key, ux_time now)
{
	char scopes[UX_SCOPES_TEXT];
	const char *state = page_keys_state_of(key, now);
	bool valid = strcmp(state, "valid") == 0;
	UX_HTML(out,
		"<li><p><code>$</code> <b>$</b> <span class=\"tag $\">$</span> "
		"<span>$</span></p>\n",
		key->id, ux_scopes_text(key->scopes, scopes), valid ? "good" : "bad", state,
		key->description);
	UX_HTML(out,
		"<p class=\"facts\"><span>of $</span> <span>created $</span> <span>last used "
		"$</span> "
		"<span>expires $</span>",
		key->ns, ux_html_time(key->created), ux_html_time(key->last_used),
		ux_html_time(key->expires));
	if (key->tokens > 1)
		UX_HTML(out, " <span>$ tokens</span>", key->tokens);
	if (key->rate > 0)
		UX_HTML(out, " <span>$ requests a second</span>", ux_html_count(key->rate));
	ux_out_cstr(out, "</p>\n");
	if (valid)
		page_keys_put_forms(out, key);
	ux_out_cstr(out, "</li>\n");
}

static const char *const scope_words[] = {"read",  "symbolize", "upload",  "delete",
					  "crawl", "admin",     "metrics", "server"};

static void page_keys_put_create(struct ux_request *req)
{
	struct ux_out *out = &req->out;
	bool all = page_keys_of_all_namespaces(req);
	UX_HTML(out,
		"<section aria-labelledby=\"create\">\n<h2 id=\"create\">Create a key</h2>\n"
		"<form class=\"send\" action=\"/keys\" method=\"post\">\n"
		"<label for=\"namespace\">Namespace</label>\n"
		"<input id=\"namespace\" name=\"namespace\" value=\"$\"$ maxlength=\"63\" "
		"autocomplete=\"off\" spellcheck=\"false\">\n<fieldset class=\"row\">"
		"<legend>Scopes</legend>\n",
		ux_caller_of(req)->ns, all ? UX_HTML_OURS("") : UX_HTML_OURS(" readonly"));
	for (size_t i = 0; i < ux_countof(scope_words); i++) {
		unsigned bit = 0;
		if (!ux_scopes_parse(ux_bytes_cstr(scope_words[i]), &bit) ||
		    (bit & ux_caller_of(req)->scopes) == 0)
			continue;
		UX_HTML(out,
			"<label class=\"check\"><input name=\"$\" type=\"checkbox\"$> $</label>\n",
			scope_words[i],
			(bit & (UX_SCOPE_READ | UX_SCOPE_SYMBOLIZE)) != 0 ? UX_HTML_OURS(" checked")
									  : UX_HTML_OURS(""),
			scope_words[i]);
	}
	ux_out_cstr(out,
		    "</fieldset>\n<label for=\"description\">Description: its owner or "
		    "purpose</label>\n<input id=\"description\" name=\"description\" "
		    "maxlength=\"1024\" autocomplete=\"off\">\n"
		    "<label for=\"expires\">Expires after 90d or 12h, or on a day, 2027-12-31; "
		    "empty: never</label>\n<input id=\"expires\" name=\"expires\" maxlength=\"10\" "
		    "autocomplete=\"off\" spellcheck=\"false\">\n"
		    "<div class=\"row\"><button class=\"main\">Create</button></div>\n"
		    "</form>\n</section>\n");
}

/* Shows the page. token: of the key that was just created or rotated; NULL: none. */
static enum ux_code page_keys_show(struct ux_request *req, struct ux_response *res,
				   const struct ux_key *key, const char *token)
{
	struct ux_out *out = &req->out;
	struct ux_key_list list;
	ux_time now = ux_store_key_now(ux_server_of(req)->store);
	UX_TRY(ux_key_admin_list(req, NULL, &list));
	ux_page_begin(req, &page);
	ux_out_cstr(out, "<h1>Keys</h1>\n");
	if (token)
		page_keys_put_token(out, key, token);
	ux_out_cstr(out, "<section aria-label=\"Existing keys\">\n<ul class=\"uploads\">\n");
	for (size_t i = list.n; i-- > 0;) /* newest first */
		page_keys_put_key(out, &list.keys[i], now);
	ux_out_cstr(out, "</ul>\n</section>\n");
	page_keys_put_create(req);
	return ux_page_end(req, res, &page);
}

enum ux_code ux_web_keys(struct ux_request *req, struct ux_response *res)
{
	return page_keys_show(req, res, NULL, NULL);
}

/* Returns a text of the form; NULL if it is empty. */
static const char *page_keys_text(const struct ux_form *form, const char *name)
{
	struct ux_bytes text = ux_form_get(form, name);
	return text.size > 0 ? (const char *)text.data : NULL;
}

static enum ux_code page_keys_read_form(struct ux_request *req, struct ux_key *ret)
{
	struct ux_form form;
	unsigned bit = 0;
	UX_TRY(ux_form_read(req, &form));
	*ret = (struct ux_key){.ns = page_keys_text(&form, "namespace"),
			       .description = page_keys_text(&form, "description")};
	const char *expires = page_keys_text(&form, "expires");
	for (size_t i = 0; i < ux_countof(scope_words); i++)
		if (page_keys_text(&form, scope_words[i]) &&
		    ux_scopes_parse(ux_bytes_cstr(scope_words[i]), &bit))
			ret->scopes |= bit;
	if (ret->description && strlen(ret->description) > UX_INDEX_TEXT_BYTES)
		return ux_error_set(&req->err, UX_EINVAL, "the description exceeds %d bytes",
				    UX_INDEX_TEXT_BYTES);
	if (!expires)
		return UX_OK;
	return ux_key_expiry_parse(expires, "the end", ux_store_key_now(ux_server_of(req)->store),
				   &ret->expires, &req->err);
}

enum ux_code ux_web_key_create(struct ux_request *req, struct ux_response *res)
{
	struct ux_key key;
	char token[UX_TOKEN_SIZE];
	UX_TRY(page_keys_read_form(req, &key));
	UX_TRY(ux_key_admin_create(req, &key, token));
	enum ux_code code = page_keys_show(req, res, &key, token);
	explicit_bzero(token, sizeof(token));
	return code;
}

enum ux_code ux_web_key_rotate(struct ux_request *req, struct ux_response *res)
{
	struct ux_form form;
	struct ux_key key;
	char token[UX_TOKEN_SIZE];
	int64_t seconds = 0;
	UX_TRY(ux_form_read(req, &form));
	const char *overlap = page_keys_text(&form, "overlap");
	UX_TRY(ux_key_overlap_parse(overlap ? overlap : UX_KEY_OVERLAP_DEFAULT, "the time",
				    &seconds, &req->err));
	UX_TRY(ux_key_admin_rotate(req, (const char *)req->params[0].data, seconds, &key, token));
	enum ux_code code = page_keys_show(req, res, &key, token);
	explicit_bzero(token, sizeof(token));
	return code;
}

enum ux_code ux_web_key_revoke(struct ux_request *req, struct ux_response *res)
{
	UX_TRY(ux_key_admin_revoke(req, (const char *)req->params[0].data));
	return ux_page_redirect(req, res, UX_STR("/keys"));
}
