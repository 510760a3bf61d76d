/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all routes. */
#ifndef UX_ROUTES_H
#define UX_ROUTES_H

#include "server.h"

extern const struct ux_route ux_server_routes[];
extern const size_t ux_server_route_count;

/* The app of a server, whose table it sets; limits with the defaults filled in. */
struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits);

ux_handler_fn ux_handle_health, ux_handle_ready, ux_handle_metrics;

/* A request and its answer, as struct ux_http_app wants it. Never a token, never a query. */
void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us);

/* The path as the log shows it: "/k/…/v1/modules" for one that begins with a token. */
void ux_log_path(struct ux_bytes path, struct ux_out *out);

#endif
