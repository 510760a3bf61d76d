/* SPDX-License-Identifier: Apache-2.0 */
/* Reading stacks with their names, and telling the caller of a walk about one after the other. */
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

/* How an interpreter keeps its stacks and names their frames. */
struct ux_stack_kind {
	struct ux_chain_kind chain;
	/* Appends what is told of t->chain.frames.data[i], if anything, to t->frames. */
	enum ux_code (*name_frame)(void *ctx, size_t i, struct ux_error *err);
	/* The names are still those of what they were read from, which is in t->known. */
	bool (*names_hold)(void *ctx);
};

/*
 * Forgets the thread before and reads a stack and its names, again, a few times, while they were
 * not there at one time; then t->chain.state says UX_INTERP_STACK_TORN. ctx is for kind's
 * functions. UX_ENOMEM, and what name_frame fails with.
 */
enum ux_code ux_interp_teller_read(struct ux_interp_teller *t, struct ux_memory *m,
				   const struct ux_stack_kind *kind, void *ctx,
				   struct ux_error *err) ux_must;

/*
 * What is known of the code object at addr: `size` bytes of the arena, zeros when nobody asked
 * before, which *ret_fresh says. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_interp_teller_know(struct ux_interp_teller *t, uint64_t addr, size_t size,
				   void **ret, bool *ret_fresh, struct ux_error *err) ux_must;

/* Hands over the thread with t->frames; false when the caller has enough. */
bool ux_interp_teller_tell(struct ux_interp_teller *t, uint64_t handle, int32_t tid) ux_must;

#endif
