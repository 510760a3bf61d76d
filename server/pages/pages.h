/* SPDX-License-Identifier: Apache-2.0 */
/* Pages for people; the paths are in server/run/routes.c. They work without scripts, but for
 * uploading. */
#ifndef UX_PAGES_H
#define UX_PAGES_H

#include "server.h"

#include <jansson.h>

/* GET /: a page for a browser, the list of routes for everything else. */
ux_handler_fn ux_handle_root;

/* GET /explain?id=&addr=: what /v1/explain/{id}?addr= answers, as a page. */
ux_handler_fn ux_handle_page_explain;

/* GET / of a browser: search, what is there, what came last. */
ux_handler_fn ux_web_home;

/* GET /modules, newest first; /search?q=; /modules/{id} with candidates and history. */
ux_handler_fn ux_web_modules, ux_web_search, ux_web_module;

/* GET /symbolize is the form, POST its answer: pasted stacks and addresses. */
ux_handler_fn ux_web_symbolize_form, ux_web_symbolize;

/* GET /uploads: what is on its way, and the form to send files. */
ux_handler_fn ux_web_uploads;

/* GET /status: usage, namespaces, keys, health. */
ux_handler_fn ux_web_status;

/* GET and POST /sign-in, POST /sign-out: a token for a session. */
ux_handler_fn ux_web_sign_in_form, ux_web_sign_in, ux_web_sign_out;

/* GET /assets/{name}: style, script, icon. */
ux_handler_fn ux_web_asset;

/* GET /explain without an ID: the form alone. */
enum ux_code ux_web_explain_form(struct ux_request *req, struct ux_response *res) ux_must;

/* The page of an answer of /v1/explain. */
enum ux_code ux_web_explain(struct ux_request *req, struct ux_response *res, const json_t *doc)
	ux_must;

/* As struct ux_http_app wants it: an error of a page, or of no route, as a page where the client
 * wants HTML; with the form to sign in when a key is missing. */
void ux_web_error(struct ux_request *req, struct ux_response *res);

#endif
