/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of a worker: packages that the server leases, and what is made of one. */
#ifndef UX_CRAWL_WORK_H
#define UX_CRAWL_WORK_H

#include "crawl_client.h"
#include "crawl_worker.h"
#include "package_stream.h"
#include "polite_client.h"
#include "push_work.h"

/*
 * Reads the package and sends its symbols, which become visible only after all of its bytes were
 * received and had the SHA-256 that its repository says. work has its options, an open client and a
 * fork server; what it knew of modules is dropped. Any thread, one at a time for one work.
 */
void ux_package_symbols(struct ux_push_work *work, const struct ux_package *package,
			struct ux_polite *mirrors, struct ux_crawl_result *ret);

/* A lease. Zeroed: none. */
struct ux_crawl_lease {
	json_t *doc; /* as the server sent it: the texts of the package are in it */
	uint64_t id;
	const char *lease;
	struct ux_package package;
};

void ux_crawl_lease_free(struct ux_crawl_lease *job);

struct ux_crawl_leases;

/*
 * Opens the connections, and starts the thread that renews the leases of `slots` threads. The
 * options must outlive it.
 */
enum ux_code ux_crawl_leases_open(struct ux_crawl_leases **ret,
				  const struct ux_crawl_work_options *options, unsigned slots,
				  struct ux_error *err) ux_must;
void ux_crawl_leases_close(struct ux_crawl_leases *j);

/*
 * Takes a package for the thread `slot`. *ret_more false: nothing is left on the server. When
 * packages are left but none is due, waits a moment and returns with ret->doc NULL.
 * UX_EUNSUPPORTED: the answer is not that of an unhex server.
 */
enum ux_code ux_crawl_leases_take(struct ux_crawl_leases *j, unsigned slot,
				  struct ux_crawl_lease *ret, bool *ret_more, struct ux_error *err)
	ux_must;

/* Ends the job. A lease that was lost is not an error: another worker has the package then. */
enum ux_code ux_crawl_leases_end(struct ux_crawl_leases *j, unsigned slot,
				 const struct ux_crawl_lease *job,
				 const struct ux_crawl_result *result, struct ux_error *err)
	ux_must;

/* Reads the "package" of a job. Its texts point into the document. UX_EUNSUPPORTED. */
enum ux_code ux_crawl_package_read(const json_t *doc, struct ux_package *ret, struct ux_error *err)
	ux_must;

#endif
