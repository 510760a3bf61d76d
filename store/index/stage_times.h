/* SPDX-License-Identifier: Apache-2.0 */
/* How long the stages of uploads take. */
#ifndef UX_STAGE_TIMES_H
#define UX_STAGE_TIMES_H

#include "base.h"

#include <stdatomic.h>

/* Where the time between an announcement and the answer to its finish goes. */
enum ux_stage {
	UX_STAGE_ANNOUNCE,    /* the transaction of an announcement, with the wait for its turn */
	UX_STAGE_QUEUE,       /* a finish waits for a thread */
	UX_STAGE_READ,        /* its rows, and opening the file */
	UX_STAGE_CHECK,       /* the hash, and whether it is a file of its kind */
	UX_STAGE_BLOB_SYNC,   /* the bytes go to the disk, or to the bucket */
	UX_STAGE_BLOB_NAME,   /* and their name */
	UX_STAGE_INDEX_WAIT,  /* other writers of the index go first */
	UX_STAGE_INDEX_WRITE, /* the transaction */
	UX_STAGE_INDEX_SYNC,  /* it goes to the disk */
	UX_STAGE_ANSWER,      /* rows that the answer is made of */
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
		/* not cumulative; the last one has what is above the last bound */
		_Atomic uint64_t buckets[UX_STAGE_BOUNDS + 1];
		_Atomic uint64_t us;
	} stages[UX_STAGE_COUNT];
};

/* One that runs through stages. times NULL: nothing is counted. */
struct ux_stage_clock {
	struct ux_stage_times *times;
	int64_t begun_ns; /* of the monotonic clock: begin of the stage */
};

struct ux_stage_clock ux_stage_begin(struct ux_stage_times *times);

/* Ends a stage. The next one begins. */
void ux_stage_end(struct ux_stage_clock *c, enum ux_stage stage);

#endif
