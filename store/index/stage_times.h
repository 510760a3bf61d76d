/* SPDX-License-Identifier: Apache-2.0 */
/* How long the stages of uploads take. */
#ifndef UX_STAGE_TIMES_H
#define UX_STAGE_TIMES_H

#include "base.h"

#include <stdatomic.h>

/* The stages between an announcement and the answer to its finish. */
enum ux_stage {
	UX_STAGE_ANNOUNCE, /* the transaction of an announcement, including the wait for its turn */
	UX_STAGE_QUEUE,    /* a finish waits for a thread */
	UX_STAGE_READ,     /* reading its rows, and opening the file */
	UX_STAGE_CHECK,    /* checking the hash and the format */
	UX_STAGE_BLOB_SYNC,   /* writing the bytes to the disk or the bucket */
	UX_STAGE_BLOB_NAME,   /* giving them their name */
	UX_STAGE_INDEX_WAIT,  /* waiting for other writers of the index */
	UX_STAGE_INDEX_WRITE, /* the transaction */
	UX_STAGE_INDEX_SYNC,  /* waiting for the disk */
	UX_STAGE_ANSWER,      /* reading the rows that the answer needs */
	UX_STAGE_COUNT
};

const char *ux_stage_name(enum ux_stage stage);

enum {
	UX_STAGE_BOUNDS = 12
};

/* Upper bounds of the buckets in microseconds. */
extern const uint64_t ux_stage_bounds[UX_STAGE_BOUNDS];

/* Independent sums, so that no memory order is needed. Any thread. */
struct ux_stage_times {
	struct {
		/* not cumulative; the last one counts durations above the last bound */
		_Atomic uint64_t buckets[UX_STAGE_BOUNDS + 1];
		_Atomic uint64_t us;
	} stages[UX_STAGE_COUNT];
};

/* A clock that runs through the stages. times NULL: nothing is counted. */
struct ux_stage_clock {
	struct ux_stage_times *times;
	int64_t begun_ns; /* start of the stage, by the monotonic clock */
};

struct ux_stage_clock ux_stage_begin(struct ux_stage_times *times);

/* Ends a stage, and begins the next one. */
void ux_stage_end(struct ux_stage_clock *c, enum ux_stage stage);

#endif
