/* SPDX-License-Identifier: Apache-2.0 */
/* The events that make the kernel take samples: one for each processor, or for each thread on each
 * processor. */
#ifndef UX_RECORD_EVENT_H
#define UX_RECORD_EVENT_H

#include "online_cpus.h"
#include "record.h"
#include "record_ring.h"
#include "vec.h"

#include <linux/perf_event.h>

UX_VEC(ux_record_fds, int);
UX_VEC(ux_record_ids, uint64_t);
UX_VEC(ux_record_rings, struct ux_record_ring);

/* Zeroed except for `attr`: none is open. */
struct ux_record_events {
	struct perf_event_attr attr; /* shared by all events */
	struct ux_cpus cpus;         /* processors that were online when the list was read */
	struct ux_record_fds fds;
	struct ux_record_ids ids;     /* the kernel's number of each */
	struct ux_record_rings rings; /* one for each processor */
	struct ux_record_fds polls;   /* the event of each ring */
	size_t ring_size;             /* bytes */
};

/* Sets the attributes and the list of processors. */
enum ux_code ux_record_events_init(struct ux_record_events *e,
				   const struct ux_record_options *options,
				   struct ux_record_result *result, struct ux_error *err) ux_must;
void ux_record_events_deinit(struct ux_record_events *e);

/*
 * Opens the events of a thread (-1: of all processes) on all processors, as far as the kernel
 * permits: a timer if there is no counter, only user mode if the kernel's own code must not be
 * sampled; *result tells which. The first thread decides that for all. UX_ENOTFOUND: it has ended.
 */
enum ux_code ux_record_events_open(struct ux_record_events *e, pid_t tid,
				   struct ux_record_result *result, struct ux_error *err) ux_must;

/* Starts or stops the counting of all events. */
void ux_record_events_enable(const struct ux_record_events *e, bool on);

#endif
