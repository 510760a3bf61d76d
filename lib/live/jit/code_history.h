/* SPDX-License-Identifier: Apache-2.0 */
/* Which code was at an address at a time. */
#ifndef UX_CODE_HISTORY_H
#define UX_CODE_HISTORY_H

#include "base.h"

enum {
	UX_CODE_EVENTS_MOST = 1 << 22, /* in one history: a few hundred MiB at worst */
};

/* The code of an event after which the range has none. */
#define UX_CODE_NONE UINT32_MAX

/* From `time` on the addresses [start, end) have `code`, until a later event changes that. */
struct ux_code_event {
	uint64_t start;
	uint64_t end;  /* above start */
	uint64_t time; /* of any clock; of equal times the event added later wins */
	uint32_t code; /* the caller's number, or UX_CODE_NONE */
	uint32_t seq;  /* set by ux_code_history_add() */
};

/*
 * Events are in levels, each at most half as large as the one before, so that adding is cheap
 * whatever the sizes of the batches are. Each level is a segment tree over the start and end
 * addresses of its events. An event is in at most 2 log n nodes; the events of a node are in order
 * of time. Zeroed = empty. Any number of threads may look up while none adds.
 */
struct ux_code_level;
struct ux_code_history {
	struct ux_code_level *levels; /* malloc'ed */
	size_t n_levels;
	size_t cap;
	uint32_t n_events;
};

/* Adds events in the order in which they were written. False, and none is added, when memory is
 * short or there are more than UX_CODE_EVENTS_MOST. */
bool ux_code_history_add(struct ux_code_history *h, const struct ux_code_event *events, size_t n)
	ux_must;
void ux_code_history_deinit(struct ux_code_history *h);

/* The last event up to `time` whose range contains pc; NULL when there is none or it ended the code
 * there. */
const struct ux_code_event *ux_code_history_find(const struct ux_code_history *h, uint64_t pc,
						 uint64_t time);

#endif
