/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of routes about crawls of packages; their paths are in server/run/routes.c. */
#ifndef UX_CRAWL_H
#define UX_CRAWL_H

#include "json_out.h"
#include "server.h"

enum {
	UX_CRAWL_OF_HOST = 4,          /* leases of packages from one host, by default */
	UX_CRAWL_ANNOUNCED_MAX = 5000, /* packages of one request */
	UX_CRAWL_IDS_MAX = 20000,      /* build IDs of one package; Debian's kernel has 4,000 */
	UX_CRAWL_FILES_MAX = 16,       /* additional files of one package */
	UX_CRAWL_LEASE_S = 600,        /* seconds of a lease if the worker requests none */
	UX_CRAWL_LEASE_MIN_S = 5,
	UX_CRAWL_LEASE_MAX_S = 3600, /* without a renewal; UX_PACKAGE_LEASE_MOST_S with all */
	UX_CRAWL_LATER_S = 60,       /* seconds until a postponed package is due again */
	UX_CRAWL_LATER_MAX_S = 86400,
	UX_CRAWL_AGAIN_MAX_S = 60, /* longest proposed seconds until a worker asks again */
	UX_CRAWL_FAILURES = 50,    /* failed packages that the status lists */
};

/* POST /v1/crawl/packages: announces packages of a repository. */
ux_handler_fn ux_handle_crawl_packages;

/* GET /v1/crawl/repositories: repositories with their announced states. */
ux_handler_fn ux_handle_crawl_repositories;

/* POST /v1/crawl/jobs/take, /v1/crawl/jobs/{id}/renew and /end: requests of workers. */
ux_handler_fn ux_handle_crawl_take, ux_handle_crawl_renew, ux_handle_crawl_end;

/* GET /v1/crawl/status: progress, rate, failures. */
ux_handler_fn ux_handle_crawl_status;

/* The speed of a crawl, and an estimate of its remaining time. */
struct ux_crawl_rate {
	int64_t seconds; /* duration of the measurement; 0: nothing was done recently */
	uint64_t packages_left, bytes_left;
	bool known;         /* the estimate is valid */
	int64_t estimate_s; /* seconds until nothing is left */
};

struct ux_crawl_rate ux_crawl_rate_of(const struct ux_package_status *s, ux_time now);

#endif
