/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the stacks of an interpreter while it runs. */
#include "interp_stack.h"

enum {
	CHAIN_ATTEMPTS = 8,
	WALK_ATTEMPTS = 4, /* attempts to read a stack with its names */
	AT_ONCE = 128,     /* frames that are compared with one read */
};

void ux_chain_deinit(struct ux_chain *c)
{
	ux_raw_frames_deinit(&c->frames);
}

/* Brent's cycle detection: each position is compared with an earlier one, which is replaced at
 * each power of two. */
struct tortoise {
	uint64_t at;
	uint64_t steps;
	uint64_t limit;
};

static bool tortoise_meets(struct tortoise *t, uint64_t at)
{
	if (at == t->at)
		return true;
	if (++t->steps >= t->limit)
		*t = (struct tortoise){at, 0, t->limit * 2};
	return false;
}

/* Reads a stack once. *ret_sound is set if its last frame can be the outermost one. */
static enum ux_code chain_read_once(struct ux_chain *c, struct ux_memory *m,
				    const struct ux_chain_kind *kind, void *ctx, bool *ret_sound,
				    struct ux_error *err)
{
	assert(kind->frame_bytes <= UX_CHAIN_FRAME_MAX);
	struct tortoise tortoise = {.limit = 1};
	struct ux_raw_frame frame = {0};
	uint8_t copy[UX_CHAIN_FRAME_MAX];
	c->frames.size = 0;
	c->state = UX_INTERP_STACK_WHOLE;
	*ret_sound = false;
	if (!kind->innermost(ctx, &frame.next))
		return UX_OK;
	while (frame.next != 0) {
		frame.addr = frame.next;
		if (c->frames.size == UX_INTERP_FRAMES_MAX) {
			c->state = UX_INTERP_STACK_TOO_DEEP;
			break;
		}
		if (!ux_memory_plausible(frame.addr) || tortoise_meets(&tortoise, frame.addr) ||
		    !ux_memory_read(m, frame.addr, copy, kind->frame_bytes) ||
		    !kind->parse(ctx, copy, &frame))
			return UX_OK;
		if (!ux_raw_frames_append(&c->frames, frame))
			return ux_error_nomem(err);
	}
	/* A frame that was popped may have lost its link and then looks like the outermost one. */
	*ret_sound = c->frames.size == 0 || frame.next != 0 || frame.last;
	return UX_OK;
}

/* Reads frames [first, first + n) again with one call. Counts the frames that have not changed,
 * beginning with the outermost. */
static size_t chain_compare(const struct ux_chain *c, struct ux_memory *m,
			    const struct ux_chain_kind *kind, void *ctx, size_t first, size_t n)
{
	assert(n <= AT_ONCE && first + n <= c->frames.size);
	uint8_t copies[AT_ONCE][UX_CHAIN_FRAME_MAX];
	struct ux_memory_piece pieces[AT_ONCE] = {{0}};
	const struct ux_raw_frame *frames = c->frames.data + first;
	for (size_t i = 0; i < n; i++)
		pieces[i] = (struct ux_memory_piece){frames[i].addr, copies[i], kind->frame_bytes};
	if (!ux_memory_read_many(m, pieces, n))
		return 0;
	for (size_t held = 0; held < n; held++) {
		size_t i = n - 1 - held;
		struct ux_raw_frame now = {.addr = frames[i].addr};
		if (!kind->parse(ctx, copies[i], &now) || now.next != frames[i].next ||
		    now.code != frames[i].code)
			return held;
	}
	return n;
}

/* Counts the outer frames that have not changed. *ret_innermost is set if the innermost frame is
 * still the same. */
static size_t chain_count_unchanged(const struct ux_chain *c, struct ux_memory *m,
				    const struct ux_chain_kind *kind, void *ctx,
				    bool *ret_innermost)
{
	uint64_t before = 0, after = 0, first = c->frames.size > 0 ? c->frames.data[0].addr : 0;
	size_t held = 0, left = c->frames.size, n = 0;
	/* Innermost frames are compared first, because they change most often; they were also read
	 * first. */
	bool known = kind->innermost(ctx, &before);
	for (size_t at = 0; at < c->frames.size; at += n) {
		n = ux_min(left, (size_t)AT_ONCE);
		left -= n;
		size_t some = chain_compare(c, m, kind, ctx, at, n);
		held = some == n ? held + n : some;
		if (at == 0)
			known = known && kind->innermost(ctx, &after) && before == after;
	}
	*ret_innermost = known && before == first;
	return held;
}

static void chain_truncate(struct ux_raw_frames *frames, size_t n)
{
	assert(n <= frames->size);
	if (n > 0)
		memmove(frames->data, frames->data + frames->size - n, n * sizeof(*frames->data));
	frames->size = n;
}

enum ux_code ux_chain_read(struct ux_chain *c, struct ux_memory *m,
			   const struct ux_chain_kind *kind, void *ctx, struct ux_error *err)
{
	size_t held = 0;
	for (unsigned i = 0; i < CHAIN_ATTEMPTS; i++) {
		bool sound = false, innermost = false;
		UX_TRY(chain_read_once(c, m, kind, ctx, &sound, err));
		held = sound ? chain_count_unchanged(c, m, kind, ctx, &innermost) : 0;
		if (held == c->frames.size && innermost && sound)
			return UX_OK;
	}
	chain_truncate(&c->frames, c->state == UX_INTERP_STACK_TOO_DEEP ? 0 : held);
	c->state = UX_INTERP_STACK_TORN;
	return UX_OK;
}

void ux_stack_walker_init(struct ux_stack_walker *t, ux_interp_thread_fn *fn, void *ctx)
{
	*t = (struct ux_stack_walker){.fn = fn, .ctx = ctx};
	ux_arena_init(&t->arena, UX_INTERP_STRINGS);
}

void ux_stack_walker_deinit(struct ux_stack_walker *t)
{
	ux_chain_deinit(&t->chain);
	ux_interp_frames_deinit(&t->frames);
	ux_addr_map_deinit(&t->known);
	ux_arena_deinit(&t->arena);
}

static void stack_walker_reset(struct ux_stack_walker *t)
{
	t->frames.size = 0;
	ux_addr_map_deinit(&t->known);
	ux_arena_rewind(&t->arena, (struct ux_arena_mark){0});
}

/*
 * Drops the inner frames that have changed since they were read: the code that they ran may have
 * been freed, and the memory of its names may hold other text. *ret_again is set if a stack that
 * was whole has changed.
 */
static void stack_walker_drop_changed(struct ux_stack_walker *t, struct ux_memory *m,
				      const struct ux_stack_kind *kind, void *ctx, bool *ret_again)
{
	struct ux_chain *chain = &t->chain;
	bool innermost = false;
	size_t n = chain->frames.size;
	size_t held = chain_count_unchanged(chain, m, &kind->chain, ctx, &innermost);
	*ret_again = chain->state != UX_INTERP_STACK_TORN && (held != n || !innermost);
	if (held == n)
		return;
	if (chain->state == UX_INTERP_STACK_TOO_DEEP) /* its outermost frames were not read */
		held = 0;
	size_t first = held > 0 ? chain->frames.data[n - held].named : t->frames.size;
	t->frames.size -= first;
	if (t->frames.size > 0)
		memmove(t->frames.data, t->frames.data + first,
			t->frames.size * sizeof(*t->frames.data));
	chain_truncate(&chain->frames, held);
}

/*
 * Reads a stack and its names. *ret_again is set if they are not consistent. Code objects are
 * created and freed while the program runs, and a new one often gets the address of an old one, so
 * the stack is compared again after its names were read.
 */
static enum ux_code stack_walker_read_once(struct ux_stack_walker *t, struct ux_memory *m,
					   const struct ux_stack_kind *kind, void *ctx,
					   bool *ret_again, struct ux_error *err)
{
	struct ux_chain *chain = &t->chain;
	stack_walker_reset(t);
	UX_TRY(ux_chain_read(chain, m, &kind->chain, ctx, err));
	for (size_t i = 0; i < chain->frames.size; i++) {
		chain->frames.data[i].named = t->frames.size;
		UX_TRY(kind->name_frame(ctx, i, err));
	}
	*ret_again = !kind->names_unchanged(ctx);
	if (*ret_again)
		t->frames.size = 0;
	else
		stack_walker_drop_changed(t, m, kind, ctx, ret_again);
	if (*ret_again)
		chain->state = UX_INTERP_STACK_TORN;
	return UX_OK;
}

enum ux_code ux_stack_walker_read(struct ux_stack_walker *t, struct ux_memory *m,
				  const struct ux_stack_kind *kind, void *ctx, struct ux_error *err)
{
	bool again = true;
	for (unsigned i = 0; i < WALK_ATTEMPTS && again; i++)
		UX_TRY(stack_walker_read_once(t, m, kind, ctx, &again, err));
	return UX_OK;
}

enum ux_code ux_stack_walker_code(struct ux_stack_walker *t, uint64_t addr, size_t size, void **ret,
				  bool *ret_fresh, struct ux_error *err)
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

bool ux_stack_walker_report(struct ux_stack_walker *t, uint64_t handle, int32_t tid)
{
	struct ux_interp_thread thread = {
		.handle = handle,
		.tid = tid,
		.state = t->chain.state,
		.frames = t->frames.data,
		.n = t->frames.size,
		.interpreter = t->interpreter,
	};
	return t->fn(t->ctx, &thread);
}
