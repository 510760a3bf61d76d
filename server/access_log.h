/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr: key=value. */
#ifndef UX_ACCESS_LOG_H
#define UX_ACCESS_LOG_H

#include "exchange.h"

/* level and event are words; text is what follows: "key=value ...". */
void ux_log_line(const char *level, const char *event, const char *fmt, ...) ux_printf(3, 4);

/* A request and its answer, as struct ux_http_app wants it. Never a token, never a query. */
void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us);

/* s in quotes, escaped as JSON, cut to fit with "..." behind the quotes; returns buf. The one place
 * where text of strangers becomes part of a line. size: at least 8. */
const char *ux_log_quote(struct ux_bytes s, char *buf, size_t size);

#endif
