/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as chains of frames, which are read until they hold together. */
#ifndef UX_INTERP_CHAIN_H
#define UX_INTERP_CHAIN_H

#include "error.h"
#include "interp_memory.h"
#include "vec.h"

/* A frame as it is in memory, before its names are looked up. */
struct ux_raw_frame {
	uint64_t addr;  /* of the frame */
	uint64_t next;  /* the frame outside of it, or 0 */
	uint64_t code;  /* 0: nothing that is told */
	uint64_t instr; /* an address or an offset, as the interpreter keeps it */
	bool last;      /* it may be the outermost one */
};

UX_VEC(ux_raw_frames, struct ux_raw_frame);

enum {
	UX_CHAIN_FRAME_MOST = 512 /* bytes of a frame */
};

/* How an interpreter keeps its stacks. */
struct ux_chain_kind {
	size_t frame_bytes; /* that are read of a frame, at most UX_CHAIN_FRAME_MOST */
	/* The innermost frame, or 0; false: it cannot be read. */
	bool (*innermost)(void *ctx, uint64_t *ret);
	/* Reads what was copied of the frame at ret->addr into the rest of *ret; false: that is no
	 * frame. */
	bool (*parse)(void *ctx, const uint8_t *copy, struct ux_raw_frame *ret);
};

/* Reused from thread to thread. Zeroed = empty. */
struct ux_chain {
	struct ux_raw_frames frames; /* innermost first */
	enum ux_interp_stack state;
};

void ux_chain_deinit(struct ux_chain *c);

/*
 * Reads a stack, frame by frame, and then all of it again at about one instant (innermost frame,
 * each one's code, what it links to): if it is the same it was a stack at that instant. Else again,
 * a few times, and at last only those outer frames are kept that did hold. c->state says which.
 * UX_ENOMEM.
 */
enum ux_code ux_chain_read(struct ux_chain *c, struct ux_memory *m,
			   const struct ux_chain_kind *kind, void *ctx, struct ux_error *err)
	ux_must;

/* True when all of it still is as it was read. */
bool ux_chain_holds(const struct ux_chain *c, struct ux_memory *m, const struct ux_chain_kind *kind,
		    void *ctx) ux_must;

#endif
