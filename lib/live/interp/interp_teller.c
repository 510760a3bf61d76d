/* SPDX-License-Identifier: Apache-2.0 */
/* Reading stacks with their names, and telling the caller of a walk about one after the other. */
#include "interp_teller.h"

enum {
	READINGS = 4, /* of a stack with its names */
};

void ux_interp_teller_init(struct ux_interp_teller *t, ux_interp_thread_fn *fn, void *ctx)
{
	*t = (struct ux_interp_teller){.fn = fn, .ctx = ctx};
	ux_arena_init(&t->arena, UX_INTERP_STRINGS);
}

void ux_interp_teller_deinit(struct ux_interp_teller *t)
{
	ux_chain_deinit(&t->chain);
	ux_interp_frames_deinit(&t->frames);
	ux_addr_map_deinit(&t->known);
	ux_arena_deinit(&t->arena);
}

static void begin(struct ux_interp_teller *t)
{
	t->frames.size = 0;
	ux_addr_map_deinit(&t->known);
	ux_arena_rewind(&t->arena, (struct ux_arena_mark){0});
}

/*
 * Reads stack and names; *ret_again: they were not there at one time. What frames run comes and
 * goes, and often gets the address of another before: so the stack is looked at again when its
 * names are read.
 */
static enum ux_code read_once(struct ux_interp_teller *t, struct ux_memory *m,
			      const struct ux_stack_kind *kind, void *ctx, bool *ret_again,
			      struct ux_error *err)
{
	struct ux_chain *chain = &t->chain;
	begin(t);
	UX_TRY(ux_chain_read(chain, m, &kind->chain, ctx, err));
	for (size_t i = 0; i < chain->frames.size; i++)
		UX_TRY(kind->name_frame(ctx, i, err));
	*ret_again = !kind->names_hold(ctx);
	if (*ret_again)
		t->frames.size = 0;
	else if (chain->state != UX_INTERP_STACK_TORN)
		*ret_again = !ux_chain_holds(chain, m, &kind->chain, ctx);
	if (*ret_again)
		chain->state = UX_INTERP_STACK_TORN;
	return UX_OK;
}

enum ux_code ux_interp_teller_read(struct ux_interp_teller *t, struct ux_memory *m,
				   const struct ux_stack_kind *kind, void *ctx,
				   struct ux_error *err)
{
	bool again = true;
	for (unsigned i = 0; i < READINGS && again; i++)
		UX_TRY(read_once(t, m, kind, ctx, &again, err));
	return UX_OK;
}

enum ux_code ux_interp_teller_know(struct ux_interp_teller *t, uint64_t addr, size_t size,
				   void **ret, bool *ret_fresh, struct ux_error *err)
{
	void **slot = ux_addr_map_insert(&t->known, addr, ret_fresh);
	if (!slot)
		return ux_error_nomem(err);
	if (*ret_fresh) {
		*slot = ux_arena_alloc(&t->arena, size, _Alignof(max_align_t));
		if (!*slot)
			return ux_arena_fail(&t->arena, err);
		memset(*slot, 0, size);
	}
	*ret = *slot;
	return UX_OK;
}

bool ux_interp_teller_tell(struct ux_interp_teller *t, uint64_t handle, int32_t tid)
{
	struct ux_interp_thread thread = {
		.handle = handle,
		.tid = tid,
		.state = t->chain.state,
		.frames = t->frames.data,
		.n = t->frames.size,
	};
	return t->fn(t->ctx, &thread);
}
