/* SPDX-License-Identifier: Apache-2.0 */
/* Counters for Prometheus. */
#ifndef UX_METRICS_H
#define UX_METRICS_H

#include "exchange.h"
#include "metric_text.h"
#include "out.h"

#include <stdatomic.h>

enum {
	/* routes in a table; one more entry counts requests without a route */
	UX_METRICS_ROUTES_MAX = 128,
	UX_METRICS_CLASSES = 5, /* 1xx to 5xx */
	UX_METRICS_BUCKETS = 12,
};

/* Counters of one route. They are independent sums, so no memory order is needed. */
struct ux_metrics_route {
	_Atomic uint64_t requests[UX_METRICS_CLASSES];
	/* not cumulative: each counts only the requests between the previous bound and its own */
	_Atomic uint64_t buckets[UX_METRICS_BUCKETS];
	_Atomic uint64_t slower; /* requests above the last bound */
	_Atomic uint64_t duration_us;
	_Atomic uint64_t bytes_in;
	_Atomic uint64_t bytes_out;
};

/* Counters of OTLP messages, and of the results for their locations. */
enum ux_otlp_count {
	UX_OTLP_MESSAGES,
	/* messages that got only some of their names: see UX_REQUEST_WORK_MAX */
	UX_OTLP_OVER_BUDGET,
	UX_OTLP_KEPT,     /* locations that already had lines, or have no mapping */
	UX_OTLP_NAMED,    /* got lines */
	UX_OTLP_NAMELESS, /* no symbol at their address */
	UX_OTLP_PENDING,  /* their module is being fetched or extracted */
	UX_OTLP_MISSING,  /* the store lacks their module or cannot read it */
	UX_OTLP_UNKNOWN,  /* their mapping has no ID, or belongs to a process */
	UX_OTLP_COUNTS
};

/* Zeroed except for start. Any thread. */
struct ux_metrics {
	struct ux_metrics_route routes[UX_METRICS_ROUTES_MAX + 1];
	_Atomic uint64_t vanished; /* answers whose client had disconnected */
	_Atomic uint64_t extracted;
	_Atomic uint64_t extract_failed;
	_Atomic uint64_t kept_apart; /* files with the build ID of another file */
	_Atomic uint64_t otlp[UX_OTLP_COUNTS];
	int64_t start; /* seconds since 1970 */
};

/* Adds the counts of a message; n has UX_OTLP_COUNTS elements. */
void ux_metrics_otlp(struct ux_metrics *m, const uint64_t *n);

/* Counts one request and its answer; routes is the table that contains req->route. */
void ux_metrics_request(struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
			const struct ux_request *req, const struct ux_response *res, bool sent,
			uint64_t duration_us);

/*
 * Writes the metrics in Prometheus' text exposition format 0.0.4. Labels are methods, route
 * patterns and status classes, so that clients cannot create new labels.
 */
void ux_metrics_write(const struct ux_metrics *m, const struct ux_route *routes, size_t n_routes,
		      struct ux_out *out);

#endif
