/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stacks of an interpreter while it runs. */
#ifndef UX_INTERP_STACK_H
#define UX_INTERP_STACK_H

#include "arena.h"
#include "error.h"
#include "interp_memory.h"
#include "map.h"
#include "vec.h"

/* A frame as it is in memory, before its names are looked up. */
struct ux_raw_frame {
	uint64_t addr;  /* address of the frame */
	uint64_t next;  /* address of the frame of the caller, or 0 */
	uint64_t code;  /* 0: the frame is not reported */
	uint64_t instr; /* an address or an offset, as the interpreter stores it */
	bool last;      /* it may be the outermost frame */
	size_t named;   /* index of its first entry in the thread's list of frames with names */
};

UX_VEC(ux_raw_frames, struct ux_raw_frame);

enum {
	UX_CHAIN_FRAME_MAX = 512 /* bytes of a frame */
};

/* How an interpreter links the frames of a stack. */
struct ux_chain_kind {
	size_t frame_bytes; /* bytes to read of each frame, at most UX_CHAIN_FRAME_MAX */
	/* Finds the address of the innermost frame, or 0 if there is none. Returns false when it
	 * cannot be read. */
	bool (*innermost)(void *ctx, uint64_t *ret);
	/* Parses the copy of the frame at ret->addr into *ret. Returns false when it is not a
	 * frame. */
	bool (*parse)(void *ctx, const uint8_t *copy, struct ux_raw_frame *ret);
};

/* The frames of one stack. The buffers are reused for the next thread. Zeroed = empty. */
struct ux_chain {
	struct ux_raw_frames frames; /* innermost first */
	enum ux_interp_stack state;
};

void ux_chain_deinit(struct ux_chain *c);

/*
 * Reads a stack frame by frame, and then reads the innermost frame and the code and the link of
 * each frame again at about the same instant. If nothing has changed, the stack existed at that
 * instant. Else the stack is read a few more times; if it has changed each time, only the outer
 * frames that have not changed are stored. c->state has the result. UX_ENOMEM.
 */
enum ux_code ux_chain_read(struct ux_chain *c, struct ux_memory *m,
			   const struct ux_chain_kind *kind, void *ctx, struct ux_error *err)
	ux_must;

UX_VEC(ux_interp_frames, struct ux_interp_frame);

static inline bool ux_addr_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

/* Records of code objects by address. Each interpreter has its own type of record, which is in
 * the arena. */
UX_MAP(ux_addr_map, uint64_t, void *, ux_hash_u64, ux_addr_eq);

/* The state of a walk over the threads of an interpreter, each of which is reported to fn. */
struct ux_stack_walker {
	ux_interp_thread_fn *fn;
	void *ctx;
	uint64_t interpreter; /* number of the interpreter that the threads belong to */
	struct ux_chain chain;
	struct ux_interp_frames frames;
	struct ux_addr_map known; /* code objects of this thread */
	struct ux_arena arena;    /* strings of this thread */
};

enum {
	UX_INTERP_STRINGS = 32 << 20 /* budget of the arena in bytes */
};

void ux_stack_walker_init(struct ux_stack_walker *t, ux_interp_thread_fn *fn, void *ctx);
void ux_stack_walker_deinit(struct ux_stack_walker *t);

/* How an interpreter links the frames of a stack and names them. */
struct ux_stack_kind {
	struct ux_chain_kind chain;
	/* Appends the frame for chain.frames.data[i] to the frames of the walker, if the frame
	 * is reported. */
	enum ux_code (*name_frame)(void *ctx, size_t i, struct ux_error *err);
	/* Returns whether the code objects in `known` still have the names that were read. */
	bool (*names_unchanged)(void *ctx);
};

/*
 * Reads a stack and its names into t and replaces the previous thread's. If names and stack are not
 * consistent, because the program has changed them meanwhile, both are read again a few times; if
 * they never are, t->chain.state is UX_INTERP_STACK_TORN. ctx is passed to the functions of kind.
 * UX_ENOMEM, and the failures of name_frame.
 */
enum ux_code ux_stack_walker_read(struct ux_stack_walker *t, struct ux_memory *m,
				  const struct ux_stack_kind *kind, void *ctx, struct ux_error *err)
	ux_must;

/*
 * Finds or creates the record of the code object at addr. It has `size` bytes in the arena. A new
 * record is zeroed and *ret_fresh is set. UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_stack_walker_code(struct ux_stack_walker *t, uint64_t addr, size_t size, void **ret,
				  bool *ret_fresh, struct ux_error *err) ux_must;

/* Reports the thread with t->frames to the callback. Returns false when the callback has ended
 * the walk. */
bool ux_stack_walker_report(struct ux_stack_walker *t, uint64_t handle, int32_t tid) ux_must;

#endif
