/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New mappings of code as the kernel reports them, of all processes: at each execve() and dlopen().
 * The kernel writes a record with process, address, inode and path into a buffer for each
 * processor, and wakes the reader. Source: perf_event_open(2), PERF_RECORD_MMAP2.
 */
#ifndef UX_MAPPING_EVENTS_H
#define UX_MAPPING_EVENTS_H

#include "file_table.h"
#include "record_event.h"

/* Zeroed: not open. */
struct ux_mapping_events {
	struct ux_record_events events;
	struct ux_out records; /* of one buffer */
	uint64_t seen;         /* records */
	uint64_t lost;         /* records for which there was no room */
	bool ended;            /* the kernel has ended the records of a processor */
	bool open;
};

/*
 * Begins. UX_EDENIED: it takes CAP_PERFMON, and the message says what else would allow it;
 * UX_EUNSUPPORTED: the kernel has no such events. Without them processes are scanned more often.
 */
enum ux_code ux_mapping_events_open(struct ux_mapping_events *e, struct ux_error *err) ux_must;
void ux_mapping_events_close(struct ux_mapping_events *e);

/*
 * Waits for a record, for at most timeout_ms. False: there was none, or they are not open.
 * *ret_stop: the descriptor `stop` became readable.
 */
bool ux_mapping_events_wait(struct ux_mapping_events *e, int stop, int timeout_ms, bool *ret_stop);

/*
 * False when a processor was added or taken away since, so that they have to be opened anew. True
 * when they are not open.
 */
bool ux_mapping_events_are_whole(const struct ux_mapping_events *e);

/*
 * Shows all new mappings to the table. *ret_lost: records were lost, so that all processes must be
 * read. UX_ENOMEM, UX_ECORRUPT: a record makes no sense.
 */
enum ux_code ux_mapping_events_take(struct ux_mapping_events *e, struct ux_file_table *t,
				    bool *ret_lost, struct ux_error *err) ux_must;

/* Reads one record of the kernel. False: it is no mapping of a file's code. Exposed for tests. */
bool ux_mapping_record_read(struct ux_bytes record, pid_t *ret_pid, struct ux_proc_map *ret,
			    char path[PATH_MAX], struct ux_error *err) ux_must;

#endif
