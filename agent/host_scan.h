/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the processes of this host, and reads the mappings of new ones. */
#ifndef UX_HOST_SCAN_H
#define UX_HOST_SCAN_H

#include "file_table.h"

/* Selects the processes that a scan reads. */
enum ux_host_scan_depth {
	UX_HOST_SCAN_NEW, /* new processes, and the next few of the known ones */
	UX_HOST_SCAN_ALL,
};

struct ux_host_process {
	pid_t pid;
	/* inode of its folder in /proc, which differs when another process gets the same ID */
	uint64_t ino;
	unsigned reads; /* number of scans that read its mappings */
};

UX_VEC(ux_host_processes, struct ux_host_process);

/* Zeroed: nothing was scanned. */
struct ux_host_scan {
	struct ux_host_processes processes; /* sorted by ID, from the last scan */
	size_t turn;                        /* index of the process that is read again next */
	/* /proc/loadavg at the last scan, which contains the newest process ID */
	char last_loadavg[64];
	bool again;               /* the last scan read a process for the first time */
	uint64_t denied;          /* processes whose mappings this user may not read */
	void (*works)(void *ctx); /* called before each process; NULL: nothing */
	void *ctx;
};

void ux_host_scan_deinit(struct ux_host_scan *s);

/*
 * Lists the processes and shows the mappings of some of them to the table. A new process is read by
 * two scans, because at the first one it may be about to execute another program. Only UX_ENOMEM
 * and UX_EIO (no /proc) are failures.
 */
enum ux_code ux_host_scan_run(struct ux_host_scan *s, enum ux_host_scan_depth depth,
			      struct ux_file_table *t, struct ux_error *err) ux_must;

/*
 * Returns whether the kernel has started a process after the last scan, or that scan found new
 * ones. Costs one read of /proc/loadavg, so that an idle host costs almost nothing.
 */
bool ux_host_scan_is_due(const struct ux_host_scan *s);

#endif
