/* SPDX-License-Identifier: Apache-2.0 */
/* The handlers of /v1 and the table of all routes. */
#ifndef UX_HANDLERS_H
#define UX_HANDLERS_H

#include "server.h"

/* The routes, for tests too. */
extern const struct ux_route ux_server_routes[];
extern const size_t ux_server_route_count;

/* The app of a server; limits with the defaults filled in. */
struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits);

ux_handler_fn ux_handle_root, ux_handle_health, ux_handle_ready, ux_handle_metrics;
ux_handler_fn ux_handle_query;
ux_handler_fn ux_handle_upload_announce, ux_handle_upload_state, ux_handle_upload_begin,
	ux_handle_upload_data, ux_handle_upload_finish;
ux_handler_fn ux_handle_symbolize, ux_handle_symbolize_one;
ux_handler_fn ux_handle_explain, ux_handle_page_explain;
ux_handler_fn ux_handle_modules, ux_handle_module, ux_handle_module_delete, ux_handle_gsym;
ux_handler_fn ux_handle_pin, ux_handle_unpin;
ux_handler_fn ux_handle_audit, ux_handle_whoami;

#endif
