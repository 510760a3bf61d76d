/* SPDX-License-Identifier: Apache-2.0 */
/* Counters since the start, for Prometheus. */
#ifndef UX_METRICS_H
#define UX_METRICS_H

#include "exchange.h"
#include "out.h"

#include <stdatomic.h>

enum {
	UX_METRICS_ROUTES_MOST = 64, /* of a table of routes; and one for requests of none */
	UX_METRICS_CLASSES = 5,      /* 1xx to 5xx */
	UX_METRICS_BUCKETS = 12,
};

/* Of one route. All are sums alone: no order needed. */
struct ux_metrics_route {
	_Atomic uint64_t requests[UX_METRICS_CLASSES];
	_Atomic uint64_t buckets[UX_METRICS_BUCKETS]; /* each its own requests, not those below */
	_Atomic uint64_t slower;                      /* than the last bucket */
	_Atomic uint64_t duration_us;
	_Atomic uint64_t bytes_in;
	_Atomic uint64_t bytes_out;
};

/* Zeroed but for start. Any thread. */
struct ux_metrics {
	struct ux_metrics_route routes[UX_METRICS_ROUTES_MOST + 1];
	_Atomic uint64_t vanished; /* answers whose client was gone */
	_Atomic uint64_t extracted;
	_Atomic uint64_t extract_failed;
	int64_t start; /* seconds since 1970 */
};

/* One request and its answer; routes is the table that req->route is in. */
void ux_metrics_request(struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
			const struct ux_request *req, const struct ux_response *res, bool sent,
			uint64_t duration_us);

/* The text that Prometheus reads (exposition format 0.0.4): labels are methods, patterns of routes
 * and classes of status, so that clients cannot make new ones. */
void ux_metrics_write(const struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
		      struct ux_out *out);

/* HELP and TYPE of a metric ("counter", "gauge"), and one value without labels. */
void ux_metrics_one(struct ux_out *out, const char *name, const char *type, const char *help,
		    uint64_t value);

#endif
