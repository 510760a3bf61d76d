/* SPDX-License-Identifier: Apache-2.0 */
/* What went wrong, told as a page. */
#include "page.h"
#include "sign_in.h"
#include "web.h"

#include "json_in.h"

static const char *word_of(unsigned status)
{
	switch (status) {
	case 401:
		return "A key is needed";
	case 403:
		return "That is not allowed";
	case 404:
		return "Not found";
	case 405:
		return "Not in this way";
	case 413:
		return "Too much at once";
	case 429:
		return "Too often";
	default:
		return status < 500 ? "That does not work" : "The server cannot do that now";
	}
}

/* The document has been cleared of what is not for strangers; the error itself has not. */
static const char *message_of(struct ux_request *req, struct ux_bytes document)
{
	json_t *doc = json_loadb((const char *)document.data, document.size, 0, NULL);
	const char *text =
		json_string_value(json_object_get(json_object_get(doc, "error"), "message"));
	const char *kept = text ? ux_arena_strndup(&req->arena, text, strlen(text)) : NULL;
	json_decref(doc);
	return kept ? kept : "";
}

/* Where the person wanted to go, to be sent there once there is a key. */
static struct ux_bytes target_of(struct ux_request *req)
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

void ux_web_error(struct ux_request *req, struct ux_response *res)
{
	const struct ux_page page = {.title = "unhex", .place = UX_PAGE_ELSEWHERE};
	if ((req->route && !req->route->page) || !ux_page_wanted(req))
		return;
	const char *message = message_of(req, res->body);
	ux_out_deinit(&req->out);
	ux_page_begin(req, &page);
	UX_HTML(&req->out, "<h1>$</h1>\n<p>$</p>\n", word_of(res->status), message);
	if (res->status == 401)
		ux_sign_in_form(&req->out, target_of(req));
	if (ux_page_end(req, res, &page) == UX_OK)
		return;
	res->type = "text/plain; charset=utf-8";
	res->body = UX_STR("out of memory\n");
}
