/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all routes. */
#ifndef UX_ROUTES_H
#define UX_ROUTES_H

#include "server.h"

extern const struct ux_route ux_server_routes[];
extern const size_t ux_server_route_count;

/*
 * Returns the application for net/ that serves the table of routes; fills in the defaults of
 * limits.
 */
struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits);

ux_handler_fn ux_handle_metrics;

/*
 * Sets the sampling: of requests that succeed, logs one of n (1: each; 0: none), chosen by a hash
 * of the request's number, so that no pattern of requests is left out. Others are always logged.
 * Any thread.
 */
void ux_log_sample(unsigned n);

/* Logs a request and its answer; see log in struct ux_http_app. Never logs tokens or queries. */
void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us);

/* Writes the path as it is logged: "/k/…/v1/modules" if it begins with a token. */
void ux_log_path(struct ux_bytes path, struct ux_out *out);

#endif
