/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads new mappings of code in all processes as the kernel reports them, for example at execve()
 * and dlopen(). Each processor has a buffer, into which the kernel writes a record with process,
 * address, inode and path; then it wakes the reader. Source: perf_event_open(2), PERF_RECORD_MMAP2.
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
	uint64_t lost;         /* records that the kernel dropped because the buffer was full */
	bool ended;            /* the kernel has ended the records of a processor */
	bool open;
};

/*
 * Opens the buffers. UX_EDENIED: this needs CAP_PERFMON; the message names the alternative.
 * UX_EUNSUPPORTED: the kernel has no such events. Without events the agent scans processes more
 * often.
 */
enum ux_code ux_mapping_events_open(struct ux_mapping_events *e, struct ux_error *err) ux_must;
void ux_mapping_events_close(struct ux_mapping_events *e);

/*
 * Waits for a record for at most timeout_ms. False: no record came, or the events are not open.
 * *ret_stop: the descriptor `stop` became readable.
 */
bool ux_mapping_events_wait(struct ux_mapping_events *e, int stop, int timeout_ms, bool *ret_stop);

/*
 * Returns false if a processor was added or removed after the opening: the events must then be
 * opened again. True if they are not open.
 */
bool ux_mapping_events_are_whole(const struct ux_mapping_events *e);

/*
 * Shows all new mappings to the table. *ret_lost: records were lost, so that all processes must be
 * read. UX_ENOMEM. UX_ECORRUPT: a malformed record.
 */
enum ux_code ux_mapping_events_take(struct ux_mapping_events *e, struct ux_file_table *t,
				    bool *ret_lost, struct ux_error *err) ux_must;

/* Parses one record of the kernel. False: it is not a mapping of a file's code. Exposed for
 * tests. */
bool ux_mapping_record_read(struct ux_bytes record, pid_t *ret_pid, struct ux_proc_map *ret,
			    char path[PATH_MAX], struct ux_error *err) ux_must;

#endif
