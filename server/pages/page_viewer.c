/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /viewers/speedscope/{name}: the files of speedscope, and frame.html, in which it runs. It is
 * third-party code, so its document has an origin of its own (Content-Security-Policy: sandbox): it
 * has no session, cannot read from this server, and gets only the profile that the surrounding page
 * passes to it.
 */
#include "page.h"

#include "file_answer.h"
#include "pages.h"
#include "viewer_files.h"

static const char viewer_policy[] =
	"sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'self'; "
	"style-src 'self' 'unsafe-inline'; font-src 'self'; img-src data:; connect-src blob:; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

static enum ux_code viewer_put_document(struct ux_request *req, struct ux_response *res,
					const struct ux_viewer *v)
{
	UX_HTML(&req->out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<title>speedscope</title>\n<link rel=\"stylesheet\" href=\"$\">\n</head>\n<body>\n"
		"<script src=\"frame.js?v=$\" data-script=\"$\"></script>\n</body>\n</html>\n",
		v->style->name, ux_asset_viewer_frame.tag, v->script->name);
	ux_response_field(res, "Content-Security-Policy", ux_bytes_cstr(viewer_policy));
	ux_response_field(res, "Cross-Origin-Resource-Policy", UX_STR("same-origin"));
	return ux_response_out(req, res, "text/html; charset=utf-8");
}

/* Serves a file. The document and its files have different origins; the files are not secret. */
static enum ux_code viewer_put_file(struct ux_request *req, struct ux_response *res,
				    struct ux_bytes bytes, const char *tag, const char *type)
{
	char *kept = ux_arena_strndup(&req->arena, tag, strlen(tag));
	if (!kept)
		return ux_arena_fail(&req->arena, &req->err);
	res->caching = UX_CACHING_STATIC;
	ux_response_field(res, "Cross-Origin-Resource-Policy", UX_STR("cross-origin"));
	ux_response_field(res, "Access-Control-Allow-Origin", UX_STR("*"));
	if (ux_answer_tagged(req, res, ux_bytes_cstr(kept)))
		return UX_OK;
	return ux_answer_bytes(req, res, bytes, ux_bytes_cstr(kept), type);
}

enum ux_code ux_web_viewer(struct ux_request *req, struct ux_response *res)
{
	const struct ux_viewer *v = ux_server_of(req)->viewer;
	const struct ux_asset *frame = &ux_asset_viewer_frame;
	struct ux_bytes name = req->params[0];
	char tag[UX_ETAG_SIZE];
	if (!v)
		return ux_error_set(
			&req->err, UX_ENOTFOUND,
			"speedscope is not installed on this server (setting speedscope)");
	if (ux_bytes_eq(name, UX_STR("frame.html")))
		return viewer_put_document(req, res, v);
	if (ux_bytes_eq(name, UX_STR("frame.js"))) {
		(void)snprintf(tag, sizeof(tag), "\"%s\"", frame->tag);
		return viewer_put_file(req, res, ux_bytes(frame->data, frame->size), tag,
				       frame->type);
	}
	const struct ux_viewer_file *f = ux_viewer_find(v, name);
	if (!f)
		return ux_error_set(&req->err, UX_ENOTFOUND, "no such file");
	return viewer_put_file(req, res, f->bytes, f->tag, f->type);
}
