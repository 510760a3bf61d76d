/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a request in the log. */
#ifndef UX_ACCESS_LOG_H
#define UX_ACCESS_LOG_H

#include "event_log.h"
#include "exchange.h"

/* A request and its answer, as struct ux_http_app wants it. Never a token, never a query. */
void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us);

/* The path as the log shows it: "/k/…/v1/modules" for one that begins with a token. */
void ux_log_path(struct ux_bytes path, struct ux_out *out);

#endif
