/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers of routes about crawls of packages; their paths are in server/run/routes.c. */
#ifndef UX_CRAWL_H
#define UX_CRAWL_H

#include "json_out.h"
#include "server.h"

enum {
	UX_CRAWL_OF_HOST = 4,          /* leases of packages of one host, by default */
	UX_CRAWL_ANNOUNCED_MAX = 5000, /* packages of one request */
	UX_CRAWL_IDS_MAX = 20000,      /* build IDs of one package; Debian's kernel has 4,000 */
	UX_CRAWL_FILES_MAX = 16,       /* further files of one package */
	UX_CRAWL_LEASE_S = 600,        /* length of a lease, where the worker names none, */
	UX_CRAWL_LEASE_MIN_S = 5,
	UX_CRAWL_LEASE_MAX_S = 86400,
	UX_CRAWL_LATER_S = 60, /* until a package is due again that is to be done later, */
	UX_CRAWL_LATER_MAX_S = 86400,
	UX_CRAWL_AGAIN_MAX_S = 60, /* longest proposed time until a worker looks again */
	UX_CRAWL_FAILURES = 50,    /* failed packages that the status lists */
};

/* POST /v1/crawl/packages: packages of a repository. */
ux_handler_fn ux_handle_crawl_packages;

/* GET /v1/crawl/repositories: what was announced with them. */
ux_handler_fn ux_handle_crawl_repositories;

/* POST /v1/crawl/jobs/take, /v1/crawl/jobs/{id}/renew and /end: what workers send. */
ux_handler_fn ux_handle_crawl_take, ux_handle_crawl_renew, ux_handle_crawl_end;

/* GET /v1/crawl/status: progress, rate, failures. */
ux_handler_fn ux_handle_crawl_status;

/* How fast a crawl is, and for how long it will go on. */
struct ux_crawl_rate {
	int64_t seconds; /* over which it was measured; 0: nothing was done recently */
	uint64_t packages_left, bytes_left;
	bool known;         /* the following is known: */
	int64_t estimate_s; /* until nothing is left */
};

struct ux_crawl_rate ux_crawl_rate_of(const struct ux_package_status *s, ux_time now);

#endif
