/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the processes of this host on a thread of its own, and passes new files to the agent. */
#ifndef UX_HOST_WATCH_H
#define UX_HOST_WATCH_H

#include "file_room.h"
#include "host_kernel.h"
#include "host_scan.h"
#include "mapping_events.h"

#include <pthread.h>
#include <stdatomic.h>

/* Counts so far. */
struct ux_host_seen {
	uint64_t processes; /* of the last scan */
	uint64_t denied;    /* processes that this user may not read */
	uint64_t files;     /* distinct mapped files that were found */
	uint64_t hidden;    /* times that this user was not allowed to open a file */
	uint64_t untrusted; /* files that were left out because others than root can change them */
	uint64_t vanished;  /* times that a file was gone before it could be opened */
	uint64_t hung;      /* times that a file system did not answer */
	uint64_t events;    /* mapping events from the kernel */
	/* times that the kernel lost events because its buffer was full */
	uint64_t lost;
	/* parts of the kernel without a file and without symbols in kallsyms */
	uint64_t nameless;
	/* reason why /proc/kallsyms has no symbols; code UX_OK: it has them */
	struct ux_error kernel_why;
};

struct ux_host_watch {
	struct ux_file_table table; /* only the thread uses it, and the fields up to the lock */
	struct ux_open_helper opener;
	struct ux_file_room room; /* of the files that wait here or were passed on; any thread */
	struct ux_host_scan scan;
	struct ux_host_kernel kernel;
	const char *debug_dirs; /* where the kernel's files are searched; NULL: the default */
	struct ux_mapping_events events;
	pthread_t thread;
	bool started;
	/* monotonic time in ms of the thread's last sign; 0: it waits for events */
	_Atomic uint64_t alive_ms;
	int stop;               /* eventfd that stops the thread; -1: none */
	pthread_mutex_t lock;   /* of what follows */
	pthread_cond_t arrived; /* uses the monotonic clock */
	struct ux_mapped_files inbox;
	struct ux_host_pids compilers; /* processes with run-time code */
	struct ux_host_seen seen;
	enum ux_code failed; /* the error that ended the thread: UX_ENOMEM, UX_EIO; UX_OK: none */
	struct ux_error why;
};

/* Prepares *w. It must be released also after a failure. */
enum ux_code ux_host_watch_init(struct ux_host_watch *w, struct ux_error *err) ux_must;

/* Ends the thread. */
void ux_host_watch_deinit(struct ux_host_watch *w);

/* Scans once, without a thread, and moves all files to the inbox. Codes of ux_host_scan_run(). */
enum ux_code ux_host_watch_once(struct ux_host_watch *w, struct ux_error *err) ux_must;

/*
 * Starts the thread, which scans and then follows the kernel's mapping events. *ret_why: the reason
 * why there are no events, so that it scans more often; code UX_OK: there are events.
 */
enum ux_code ux_host_watch_start(struct ux_host_watch *w, struct ux_error *ret_why,
				 struct ux_error *err) ux_must;

/*
 * Appends the files in the inbox to *ret. If it is empty, waits until deadline_ms (monotonic clock;
 * INT64_MAX: no end). ux_host_watch_give_back() tells which of them the caller closes. On
 * failure the thread has ended; the code is its error.
 */
enum ux_code ux_host_watch_take(struct ux_host_watch *w, int64_t deadline_ms,
				struct ux_mapped_files *ret, struct ux_error *err) ux_must;

/*
 * Moves the processes with run-time code to *ret. A later call may return a process again.
 * UX_ENOMEM.
 */
enum ux_code ux_host_watch_take_compilers(struct ux_host_watch *w, struct ux_host_pids *ret,
					  struct ux_error *err) ux_must;
void ux_host_watch_give_back(struct ux_host_watch *w, const struct ux_mapped_file *files, size_t n);

/* Returns the current counts. Any thread. */
struct ux_host_seen ux_host_watch_seen(struct ux_host_watch *w);

#endif
