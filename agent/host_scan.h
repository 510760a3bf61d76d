/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of this host, and the reading of new ones. */
#ifndef UX_HOST_SCAN_H
#define UX_HOST_SCAN_H

#include "file_table.h"

/* How many processes a scan reads. */
enum ux_host_scan_depth {
	UX_HOST_SCAN_NEW, /* new ones, and the next few of the known ones */
	UX_HOST_SCAN_ALL,
};

struct ux_host_process {
	pid_t pid;
	uint64_t ino; /* inode of its folder in /proc; differs if another process got the same ID */
	unsigned reads; /* how often its mappings were read */
};

UX_VEC(ux_host_processes, struct ux_host_process);

/* Zeroed: nothing was scanned. */
struct ux_host_scan {
	struct ux_host_processes processes; /* by ID, as of the last scan */
	size_t turn;                        /* whose turn it is to be read again */
	char last_loadavg[64];              /* /proc/loadavg as of the last scan: has the last ID */
	bool again;                         /* some were read for the first time by the last scan */
	uint64_t denied;                    /* processes whose mappings this user may not read */
};

void ux_host_scan_deinit(struct ux_host_scan *s);

/*
 * Lists the processes and shows the mappings of some of them to the table. A process is read when
 * it is new and once more by the next scan, since a new one may still be about to execute another
 * program. Only UX_ENOMEM and UX_EIO (no /proc) are failures.
 */
enum ux_code ux_host_scan_run(struct ux_host_scan *s, enum ux_host_scan_depth depth,
			      struct ux_file_table *t, struct ux_error *err) ux_must;

/*
 * Has the kernel started a process since the last scan, or has that found new ones? Costs one read
 * of /proc/loadavg, so that a host at rest costs nothing.
 */
bool ux_host_scan_is_due(const struct ux_host_scan *s);

#endif
