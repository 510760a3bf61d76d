/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a cache in the compact form: docs/formats/symbolize-binary.md. */
#ifndef UX_FRAME_CACHE_WIRE_H
#define UX_FRAME_CACHE_WIRE_H

#include "frame_cache.h"
#include "vec.h"
#include "wire.h"

#include <pthread.h>

/*
 * Numbers of a cache to those of a reply. The numbers of one reply are close together, so that a
 * table of pages is both small and quick. Zeroed is an empty one.
 */
struct ux_frame_reply_map {
	uint32_t *table; /* of each run of numbers its page, from 1 on; 0: none */
	size_t n, cap;   /* of table */
	uint32_t *pages;
	size_t n_pages, pages_cap;
};

UX_VEC(ux_frame_reply_texts, uint32_t);

/* A reply as it grows, and the numbers that items of the current cache have in it. Zeroed is an
 * empty one. */
struct ux_frame_reply {
	struct ux_wire_reply reply;
	/* Texts that have their number, and are yet to be copied: all at once, so that memory that
	 * is not in the processor's caches is prefetched. */
	struct ux_frame_reply_texts later;
	struct ux_frame_reply_map frames, files, texts;
	bool failed; /* memory was short */
};

void ux_frame_reply_deinit(struct ux_frame_reply *w);

/*
 * A pool of replies that were sent, whose memory the next ones reuse: a reply of 10,000 addresses
 * touches a thousand pages, which cost as much as all the rest when the system gives and takes them
 * each time. Zeroed is an empty one. Any thread.
 */
struct ux_frame_reply_pool {
	pthread_mutex_t lock; /* guards all below */
	struct ux_frame_reply *kept[4];
	size_t n;
};

/* An empty one, to be put back; NULL: memory is short. */
struct ux_frame_reply *ux_frame_reply_pool_get(struct ux_frame_reply_pool *all);
/* NULL is fine. */
void ux_frame_reply_pool_put(struct ux_frame_reply_pool *all, struct ux_frame_reply *w);
void ux_frame_reply_pool_deinit(struct ux_frame_reply_pool *all);

/* The next numbers are of another cache. */
void ux_frame_reply_reset(struct ux_frame_reply *w);

/* Appends n addresses, whose innermost frames these are (0: none). False when memory was short. */
bool ux_frame_reply_add(struct ux_frame_reply *w, const struct ux_frame_cache *m,
			const uint32_t *frames, size_t n) ux_must;

#endif
