/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks as chains of frames, which are read until they hold together. */
#include "interp_chain.h"

enum {
	READINGS = 8,
	AT_ONCE = 128, /* frames that are compared by one read */
};

void ux_chain_deinit(struct ux_chain *c)
{
	ux_raw_frames_deinit(&c->frames);
}

/* Brent's way to notice a cycle: compare with a place that is left behind at powers of two. */
struct tortoise {
	uint64_t at;
	uint64_t steps;
	uint64_t limit;
};

static bool meets(struct tortoise *t, uint64_t at)
{
	if (at == t->at)
		return true;
	if (++t->steps >= t->limit)
		*t = (struct tortoise){at, 0, t->limit * 2};
	return false;
}

/* One reading; *ret_sound: it came to an end that a stack can have. */
static enum ux_code read_once(struct ux_chain *c, struct ux_memory *m,
			      const struct ux_chain_kind *kind, void *ctx, bool *ret_sound,
			      struct ux_error *err)
{
	struct tortoise tortoise = {.limit = 1};
	struct ux_raw_frame frame = {0};
	uint8_t copy[UX_CHAIN_FRAME_MOST];
	c->frames.size = 0;
	c->state = UX_INTERP_STACK_WHOLE;
	*ret_sound = false;
	if (!kind->innermost(ctx, &frame.next))
		return UX_OK;
	while (frame.next != 0) {
		frame.addr = frame.next;
		if (c->frames.size == UX_INTERP_FRAMES_MOST) {
			c->state = UX_INTERP_STACK_TOO_DEEP;
			break;
		}
		if (!ux_memory_plausible(frame.addr) || meets(&tortoise, frame.addr) ||
		    !ux_memory_read(m, frame.addr, copy, kind->frame_bytes) ||
		    !kind->parse(ctx, copy, &frame))
			return UX_OK;
		if (!ux_raw_frames_append(&c->frames, frame))
			return ux_error_nomem(err);
	}
	/* A frame that was popped may have lost its link, and then looks like the outermost. */
	*ret_sound = c->frames.size == 0 || frame.next != 0 || frame.last;
	return UX_OK;
}

/* Reads frames [first, first + n) at once; how many of them, counted from the outermost, are as
 * they were. */
static size_t compare(const struct ux_chain *c, struct ux_memory *m,
		      const struct ux_chain_kind *kind, void *ctx, size_t first, size_t n)
{
	uint8_t copies[AT_ONCE][UX_CHAIN_FRAME_MOST];
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

/* How many outermost frames are as they were; *ret_innermost: the innermost one still is it. */
static size_t count_held(const struct ux_chain *c, struct ux_memory *m,
			 const struct ux_chain_kind *kind, void *ctx, bool *ret_innermost)
{
	uint64_t before = 0, after = 0, first = c->frames.size > 0 ? c->frames.data[0].addr : 0;
	size_t held = 0, left = c->frames.size, n = 0;
	/* Innermost frames first, since they change most: in the order in which they were read. */
	bool known = kind->innermost(ctx, &before);
	for (size_t at = 0; at < c->frames.size; at += n) {
		n = ux_min(left, (size_t)AT_ONCE);
		left -= n;
		size_t some = compare(c, m, kind, ctx, at, n);
		held = some == n ? held + n : some;
		if (at == 0)
			known = known && kind->innermost(ctx, &after) && before == after;
	}
	*ret_innermost = known && before == first;
	return held;
}

bool ux_chain_holds(const struct ux_chain *c, struct ux_memory *m, const struct ux_chain_kind *kind,
		    void *ctx)
{
	bool innermost = false;
	return count_held(c, m, kind, ctx, &innermost) == c->frames.size && innermost;
}

static void keep_outer(struct ux_raw_frames *frames, size_t n)
{
	if (n > 0)
		memmove(frames->data, frames->data + frames->size - n, n * sizeof(*frames->data));
	frames->size = n;
}

enum ux_code ux_chain_read(struct ux_chain *c, struct ux_memory *m,
			   const struct ux_chain_kind *kind, void *ctx, struct ux_error *err)
{
	size_t held = 0;
	for (unsigned i = 0; i < READINGS; i++) {
		bool sound = false, innermost = false;
		UX_TRY(read_once(c, m, kind, ctx, &sound, err));
		held = sound ? count_held(c, m, kind, ctx, &innermost) : 0;
		if (held == c->frames.size && innermost && sound)
			return UX_OK;
	}
	keep_outer(&c->frames, c->state == UX_INTERP_STACK_TOO_DEEP ? 0 : held);
	c->state = UX_INTERP_STACK_TORN;
	return UX_OK;
}
