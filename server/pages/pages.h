/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of the web pages; their paths are in server/run/routes.c. Everything but uploading works
 * without scripts.
 */
#ifndef UX_PAGES_H
#define UX_PAGES_H

#include "server.h"

#include <jansson.h>

/* GET /: the home page for browsers, the list of routes for other clients. */
ux_handler_fn ux_handle_root;

/* GET /explain?id=&addr=: the answer of /v1/explain/{id}?addr= as a page. */
ux_handler_fn ux_handle_page_explain;

/* GET / for browsers: search, totals, recent modules. */
ux_handler_fn ux_web_home;

/* GET /modules, newest first; /search?q=; /modules/{id} with candidates and history. */
ux_handler_fn ux_web_modules, ux_web_search, ux_web_module;

/*
 * GET /modules/{id}/functions?q=&after=, /modules/{id}/sources?dir=, and
 * /modules/{id}/source/{path...}, a source file with the numbers of its lines.
 */
ux_handler_fn ux_web_functions, ux_web_sources, ux_web_source;

/* GET /symbolize shows the form for crash reports, and the stack of a link; POST the result. */
ux_handler_fn ux_web_symbolize_form, ux_web_symbolize;

/* GET /frame?id=&addr=: functions, source lines and machine code at an address. */
ux_handler_fn ux_web_frame;

/* GET /profiles: services with kept profiles; /profiles/{service}, its graph as a page and a
 * picture. */
ux_handler_fn ux_web_profiles, ux_web_service, ux_web_service_flame, ux_web_service_picture;

/* GET /profiles/{service}/speedscope: a span in that viewer; /viewers/speedscope/{name}: its files.
 */
ux_handler_fn ux_web_service_speedscope, ux_web_viewer;

/* GET /uploads: open and recent uploads, and the form to send files. */
ux_handler_fn ux_web_uploads;

/* GET /crawl: progress of crawls of packages. */
ux_handler_fn ux_web_crawl;

/* GET /status: usage, namespaces, keys, health. */
ux_handler_fn ux_web_status;

/*
 * /keys, for administrators: GET lists the keys, POST creates one; POST /keys/{id}/rotate and
 * /keys/{id}/revoke. A session is accepted for them only from a page of this server.
 */
ux_handler_fn ux_web_keys, ux_web_key_create, ux_web_key_rotate, ux_web_key_revoke;

/* GET and POST /sign-in, POST /sign-out: exchange a token for a session. */
ux_handler_fn ux_web_sign_in_form, ux_web_sign_in, ux_web_sign_out;

/* GET /assets/{name}: style, script, icon. */
ux_handler_fn ux_web_asset;

/* GET /explain without an ID: only the form. */
enum ux_code ux_web_explain_form(struct ux_request *req, struct ux_response *res) ux_must;

/* Shows an answer of /v1/explain as a page. */
enum ux_code ux_web_explain(struct ux_request *req, struct ux_response *res, const json_t *doc)
	ux_must;

/*
 * The callback error_page of struct ux_http_app: shows an error of a page, or of an unknown route,
 * as a page if the client accepts HTML; with the sign-in form if a key is missing.
 */
void ux_web_error(struct ux_request *req, struct ux_response *res);

#endif
