/* SPDX-License-Identifier: Apache-2.0 */
/* Writes frames of a cache in the compact form: docs/formats/symbolize-binary.md. */
#ifndef UX_FRAME_CACHE_WIRE_H
#define UX_FRAME_CACHE_WIRE_H

#include "frame_cache.h"
#include "spare_memory.h"
#include "vec.h"
#include "wire.h"

#include <pthread.h>

/*
 * Maps numbers of a cache to numbers of a reply, by an array that is indexed by the cache's
 * numbers. An element that is not above `base` is from an earlier reply, so a new reply need not
 * clear an array as long as the cache's list. A zeroed map is empty.
 */
struct ux_frame_reply_map {
	uint32_t *numbers; /* number in the reply plus `base` */
	size_t cap;
	uint32_t base;
};

UX_VEC(ux_frame_reply_texts, uint32_t);

/*
 * A reply being written, and the numbers of the current cache's items in it. A zeroed reply is
 * empty.
 */
struct ux_frame_reply {
	struct ux_wire_reply reply;
	/*
	 * Texts that have a number and have not been copied yet. They are copied together, so that
	 * memory outside the processor's caches can be prefetched.
	 */
	struct ux_frame_reply_texts later;
	struct ux_frame_reply_map frames, files, texts;
	bool failed; /* memory was short */
};

void ux_frame_reply_deinit(struct ux_frame_reply *w);

/*
 * A pool of replies whose memory is reused. A reply of 10,000 addresses touches a thousand pages;
 * if the system allocated and freed them each time, that would cost as much as all other work. A
 * zeroed pool is empty. Any thread.
 */
struct ux_frame_reply_pool {
	struct ux_spare_memory *spare; /* gives the texts of large replies their memory */
	pthread_mutex_t lock;          /* guards the fields below */
	struct ux_frame_reply *kept[4];
	size_t n, bytes;
};

/*
 * Takes an empty reply, which must be put back; NULL: memory is short. The quota counts the reply's
 * tables until then; quota NULL: nothing counts them.
 */
struct ux_frame_reply *ux_frame_reply_pool_get(struct ux_frame_reply_pool *all,
					       struct ux_out_quota *quota);
/* NULL is allowed. */
void ux_frame_reply_pool_put(struct ux_frame_reply_pool *all, struct ux_frame_reply *w);
void ux_frame_reply_pool_deinit(struct ux_frame_reply_pool *all);

/*
 * Clears the maps, to start using another cache. Call it before ux_wire_reply_clear(): the number
 * of items of the reply tells old elements from later ones.
 */
void ux_frame_reply_reset(struct ux_frame_reply *w);

/* Returns the code of ux_out_status() of the first table that failed. */
enum ux_code ux_frame_reply_status(const struct ux_frame_reply *w, struct ux_error *err) ux_must;

/* Appends n addresses with these innermost frames (0: none). False when memory is short. */
bool ux_frame_reply_add(struct ux_frame_reply *w, const struct ux_frame_cache *m,
			const uint32_t *frames, size_t n) ux_must;

#endif
