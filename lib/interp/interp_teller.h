/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the caller of a walk about one thread after the other. */
#ifndef UX_INTERP_TELLER_H
#define UX_INTERP_TELLER_H

#include "arena.h"
#include "interp_chain.h"
#include "map.h"

UX_VEC(ux_interp_frames, struct ux_interp_frame);

static inline bool ux_addr_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

/* What was read at an address, by whoever read it; the arena's. */
UX_MAP(ux_addr_map, uint64_t, void *, ux_hash_u64, ux_addr_eq);

/* What a walk works with. Zeroed but for fn and ctx = ready. */
struct ux_interp_teller {
	ux_interp_thread_fn *fn;
	void *ctx;
	struct ux_chain chain;
	struct ux_interp_frames frames;
	struct ux_addr_map known; /* this thread's code objects */
	struct ux_arena arena;    /* this thread's strings */
};

enum {
	UX_INTERP_STRINGS = 32 << 20 /* budget of the arena, bytes */
};

void ux_interp_teller_init(struct ux_interp_teller *t, ux_interp_thread_fn *fn, void *ctx);
void ux_interp_teller_deinit(struct ux_interp_teller *t);

/* Forgets the thread before. */
void ux_interp_teller_begin(struct ux_interp_teller *t);

/* Hands over the thread with t->frames; false when the caller has enough. */
bool ux_interp_teller_tell(struct ux_interp_teller *t, uint64_t handle, int32_t tid) ux_must;

#endif
