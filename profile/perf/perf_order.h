/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts records into the order of their times. Each processor writes its own buffer, so records of
 * several processors alternate in the file. perf marks its rounds over all buffers: a record after
 * the end of a round is later than every record before the end of the previous round.
 */
#ifndef UX_PERF_ORDER_H
#define UX_PERF_ORDER_H

#include "perf_stream.h"

enum {
	UX_PERF_WAITING_MAX = 48 << 20, /* bytes of blocks with waiting records */
	UX_PERF_RECORDS_MAX = 1 << 19,  /* waiting records */
};

/* A waiting record. */
struct ux_perf_waiting {
	uint64_t time;
	uint64_t off; /* in the file */
	struct ux_perf_record record;
	struct ux_perf_block *block; /* holds the record */
	uint32_t number;             /* order in the file */
	uint32_t event;              /* index of its event */
};

UX_VEC(ux_perf_waiting_list, struct ux_perf_waiting);

typedef enum ux_code ux_perf_use_fn(void *ctx, const struct ux_perf_waiting *record,
				    struct ux_error *err);

/* Zeroed except for use and ctx. */
struct ux_perf_order {
	ux_perf_use_fn *use;
	void *ctx;
	struct ux_perf_waiting_list list; /* records; the first `sorted` are in order */
	size_t sorted;
	uint64_t newest; /* time of the newest record */
	uint64_t limit;  /* newest record at the end of the previous round */
	uint64_t used;   /* time of the last used record */
	uint64_t late;   /* records that came after later ones were used */
};

void ux_perf_order_deinit(struct ux_perf_order *o);

/* Adds a record; `live` is how many blocks are in memory. Uses the oldest records if the queue is
 * full. */
enum ux_code ux_perf_order_add(struct ux_perf_order *o, struct ux_perf_waiting record, size_t live,
			       struct ux_error *err) ux_must;

/* Handles the end of a round. */
enum ux_code ux_perf_order_round(struct ux_perf_order *o, struct ux_error *err) ux_must;

/* Uses all waiting records. */
enum ux_code ux_perf_order_finish(struct ux_perf_order *o, struct ux_error *err) ux_must;

#endif
