/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the processes of this host on a thread of its own, and hands over the new files. */
#ifndef UX_HOST_WATCH_H
#define UX_HOST_WATCH_H

#include "host_kernel.h"
#include "host_scan.h"
#include "mapping_events.h"

#include <pthread.h>

/* Counts so far. */
struct ux_host_seen {
	uint64_t processes;         /* of the last scan */
	uint64_t denied;            /* of these, not readable by this user */
	uint64_t files;             /* distinct mapped files that were found */
	uint64_t hidden;            /* sights of files that this user may not open */
	uint64_t vanished;          /* sights of files that were gone before they were opened */
	uint64_t events;            /* records of the kernel */
	uint64_t lost;              /* times that the kernel had no room for records */
	uint64_t nameless;          /* parts of the kernel whose names nothing has */
	struct ux_error kernel_why; /* why /proc/kallsyms has none; code UX_OK: it has */
};

struct ux_host_watch {
	struct ux_file_table table; /* of the thread, as what follows up to it */
	struct ux_host_scan scan;
	struct ux_host_kernel kernel;
	const char *debug_dirs; /* where the kernel's files are searched; NULL: the default */
	struct ux_mapping_events events;
	pthread_t thread;
	bool started;
	int stop;               /* eventfd that ends the thread; -1: none */
	pthread_mutex_t lock;   /* of what follows */
	pthread_cond_t arrived; /* by the monotonic clock */
	struct ux_mapped_files inbox;
	struct ux_host_pids compilers; /* processes with run-time code */
	struct ux_host_seen seen;
	size_t taken;        /* files that were handed over and are still open */
	enum ux_code failed; /* of the thread, which has ended: UX_ENOMEM, UX_EIO; UX_OK: it runs */
	struct ux_error why;
};

/* Prepares *w. It must be released also after a failure. */
enum ux_code ux_host_watch_init(struct ux_host_watch *w, struct ux_error *err) ux_must;

/* Ends the thread. */
void ux_host_watch_deinit(struct ux_host_watch *w);

/* Scans once, without a thread; all files are in the inbox. Codes: as of ux_host_scan_run(). */
enum ux_code ux_host_watch_once(struct ux_host_watch *w, struct ux_error *err) ux_must;

/*
 * Starts the thread, which scans and then follows the kernel's records. *ret_why: why there are
 * none, so that it scans more often; code UX_OK: there are.
 */
enum ux_code ux_host_watch_start(struct ux_host_watch *w, struct ux_error *ret_why,
				 struct ux_error *err) ux_must;

/*
 * Appends the files that have arrived to *ret, and waits for one until deadline_ms (of the
 * monotonic clock; INT64_MAX: for ever). The caller says with ux_host_watch_give_back() how many it
 * has closed. Codes: as of the thread, which then has ended.
 */
enum ux_code ux_host_watch_take(struct ux_host_watch *w, int64_t deadline_ms,
				struct ux_mapped_files *ret, struct ux_error *err) ux_must;

/*
 * Moves the processes that were found to have run-time code to *ret. The same one may come again.
 * UX_ENOMEM.
 */
enum ux_code ux_host_watch_take_compilers(struct ux_host_watch *w, struct ux_host_pids *ret,
					  struct ux_error *err) ux_must;
void ux_host_watch_give_back(struct ux_host_watch *w, size_t n);

/* The counts as of now. Any thread. */
struct ux_host_seen ux_host_watch_seen(struct ux_host_watch *w);

#endif
