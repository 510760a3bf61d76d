/* SPDX-License-Identifier: Apache-2.0 */
/* Counters for Prometheus. */
#ifndef UX_METRICS_H
#define UX_METRICS_H

#include "exchange.h"
#include "out.h"

#include <stdatomic.h>

enum {
	/* routes in a table; one more entry counts requests without a route */
	UX_METRICS_ROUTES_MOST = 64,
	UX_METRICS_CLASSES = 5, /* 1xx to 5xx */
	UX_METRICS_BUCKETS = 12,
};

/* Counters of one route. They are independent sums, so no memory order is needed. */
struct ux_metrics_route {
	_Atomic uint64_t requests[UX_METRICS_CLASSES];
	/* not cumulative: each has only the requests between its bound and the one before */
	_Atomic uint64_t buckets[UX_METRICS_BUCKETS];
	_Atomic uint64_t slower; /* requests above the last bound */
	_Atomic uint64_t duration_us;
	_Atomic uint64_t bytes_in;
	_Atomic uint64_t bytes_out;
};

/* Zeroed except for start. Any thread. */
struct ux_metrics {
	struct ux_metrics_route routes[UX_METRICS_ROUTES_MOST + 1];
	_Atomic uint64_t vanished; /* answers whose client had disconnected */
	_Atomic uint64_t extracted;
	_Atomic uint64_t extract_failed;
	int64_t start; /* seconds since 1970 */
};

/* Counts one request and its answer; routes is the table that contains req->route. */
void ux_metrics_request(struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
			const struct ux_request *req, const struct ux_response *res, bool sent,
			uint64_t duration_us);

/*
 * Writes the metrics in Prometheus' text exposition format 0.0.4. Labels are methods, route
 * patterns and status classes, so that clients cannot create new ones.
 */
void ux_metrics_write(const struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
		      struct ux_out *out);

/* Writes HELP and TYPE of a metric ("counter", "gauge") and one value without labels. */
void ux_metrics_one(struct ux_out *out, const char *name, const char *type, const char *help,
		    uint64_t value);

#endif
