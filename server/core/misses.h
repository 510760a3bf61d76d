/* SPDX-License-Identifier: Apache-2.0 */
/* The IDs that clients requested most and the server did not have. */
#ifndef UX_MISSES_H
#define UX_MISSES_H

#include "index_access.h"

enum {
	UX_MISSES_MAX = 512,      /* IDs that are counted at the same time */
	UX_MISSES_ID_BYTES = 256, /* bytes of an ID with its NUL; a longer one is not counted */
	UX_MISSES_NS_BYTES = 64,
};

/* An ID that was not found. */
struct ux_missed_id {
	char ns[UX_MISSES_NS_BYTES];
	char id[UX_MISSES_ID_BYTES]; /* canonical */
	uint64_t count;              /* number of requests for it; an upper bound, see below */
	ux_time last;                /* time of the last one */
	uint64_t hash;
};

/*
 * Counts of the IDs that are requested most, in a bounded table (Metwally, Agrawal and El Abbadi,
 * "Efficient computation of frequent and top-k elements in data streams", 2005): when it is full,
 * the ID with the lowest count is replaced, and its count is inherited. So an ID that is requested
 * often stays in the table, however many others are requested once. A namespace that has half of
 * the table replaces its own IDs. Any thread.
 */
struct ux_misses;

/* NULL: memory is short. */
struct ux_misses *ux_misses_create(void) ux_must;
/* NULL is allowed. */
void ux_misses_destroy(struct ux_misses *w);

/* Counts a request that did not find the ID. NULL is allowed, and counts nothing. */
void ux_misses_note(struct ux_misses *w, const char *ns, const char *id, ux_time now);

/* Copies up to `max` IDs of a namespace, the most requested first. Returns their number. */
size_t ux_misses_top(struct ux_misses *w, const char *ns, struct ux_missed_id *ret, size_t max);

#endif
