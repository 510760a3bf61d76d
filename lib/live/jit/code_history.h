/* SPDX-License-Identifier: Apache-2.0 */
/* Which code lived at an address at a time. */
#ifndef UX_CODE_HISTORY_H
#define UX_CODE_HISTORY_H

#include "base.h"

enum {
	UX_CODE_EVENTS_MOST = 1 << 22, /* of a history: a few hundred MiB at worst */
};

/* Of an event: nothing lives there any more. */
#define UX_CODE_NONE UINT32_MAX

/* From `time` on the addresses of [start, end) are `code`'s, until a later event says otherwise. */
struct ux_code_event {
	uint64_t start;
	uint64_t end;  /* above start */
	uint64_t time; /* any clock; of equal times the event added later wins */
	uint32_t code; /* the caller's number, or UX_CODE_NONE */
	uint32_t seq;  /* set by ux_code_history_add() */
};

/*
 * Events in levels whose sizes fall by half at least, so that adding is cheap whatever the batches
 * are: each level is a segment tree over the edges of its events. An event is in at most 2 log n
 * nodes, those of a node are in order of time. Zeroed = empty. Looking up is any thread's while
 * nobody adds.
 */
struct ux_code_level;
struct ux_code_history {
	struct ux_code_level *levels; /* malloc'ed */
	size_t n_levels;
	size_t cap;
	uint32_t n_events;
};

/* Adds events in the order in which they were written. False when memory is short or there are more
 * than UX_CODE_EVENTS_MOST: then none of them is added. */
bool ux_code_history_add(struct ux_code_history *h, const struct ux_code_event *events, size_t n)
	ux_must;
void ux_code_history_deinit(struct ux_code_history *h);

/* The last event up to `time` that has pc, or NULL; also NULL where that ended what lived there. */
const struct ux_code_event *ux_code_history_find(const struct ux_code_history *h, uint64_t pc,
						 uint64_t time);

#endif
