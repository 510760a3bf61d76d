/* SPDX-License-Identifier: Apache-2.0 */
/* Telling the caller of a walk about one thread after the other. */
#include "interp_teller.h"

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

void ux_interp_teller_begin(struct ux_interp_teller *t)
{
	t->frames.size = 0;
	ux_addr_map_deinit(&t->known);
	ux_arena_rewind(&t->arena, (struct ux_arena_mark){0});
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
