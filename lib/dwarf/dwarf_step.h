/* SPDX-License-Identifier: Apache-2.0 */
/* Moving over entries that nobody looks at. */
#ifndef UX_DWARF_STEP_H
#define UX_DWARF_STEP_H

#include "dwarf_unit.h"

/* Steps over the attributes of a DIE that is not looked at; true with its sibling when it names
 * one. */
ux_inline bool ux_dwarf_step_over(const struct ux_dwarf_context *ctx, struct ux_cur *c,
				  const struct ux_dwarf_abbrev *abbrev, uint64_t *ret_sibling)
{
	if (abbrev->fixed != UINT32_MAX) {
		struct ux_cur at = *c;
		ux_cur_skip(c, abbrev->fixed);
		if (abbrev->sibling == 0 || c->failed)
			return false;
		ux_cur_skip(&at, abbrev->sibling - 1);
		*ret_sibling = ctx->unit->off + ux_cur_u32(&at);
		return true;
	}
	struct ux_dwarf_die die;
	ux_dwarf_die_run(c, ctx->abbrevs.words + abbrev->program, ctx->unit->layout, &die);
	return ux_dwarf_die_has(&die, UX_SLOT_SIBLING) &&
	       ux_dwarf_die_ref(ctx, &die, UX_SLOT_SIBLING, ret_sibling);
}

/* Moves to a sibling; false when it does not lie ahead. */
ux_inline bool ux_dwarf_jump(struct ux_cur *c, uint64_t off)
{
	uint64_t here = (uint64_t)(c->pos - c->start);
	if (off <= here || off > (uint64_t)(c->end - c->start))
		return false;
	c->pos = c->start + off;
	/* What follows was in no stream that the processor could have guessed. */
	for (size_t ahead = 64; ahead <= 512; ahead += 64)
		__builtin_prefetch(c->pos + ahead);
	return true;
}

/* How deep a pass over DIEs has come. */
struct ux_dwarf_depth {
	uint32_t now;
	uint32_t least; /* since the caller last set it */
};

/*
 * Passes DIEs as long as their steps tell all that is to be known: none has any of the `stop`
 * flags. Those that have the `jump` flag are passed with their children. Ends at depth 0, in front
 * of any other DIE, and near the end of the unit. Returns how many were passed.
 */
ux_inline uint64_t ux_dwarf_stride(const struct ux_dwarf_context *ctx, struct ux_cur *c,
				   unsigned stop, unsigned jump, struct ux_dwarf_depth *ret)
{
	enum {
		MARGIN = UX_DWARF_STEP_MOST + 0x80 + (int)sizeof(uint32_t), /* of one DIE */
	};
	const struct ux_dwarf_step *steps = ctx->abbrevs.steps;
	const size_t n_steps = ctx->abbrevs.n_steps;
	uint32_t depth = ret->now, least = ret->least;
	struct ux_cur at = *c;
	uint64_t passed = 0;
	if (c->swap)
		return 0;
	while (depth > 0 && ux_cur_left(&at) > MARGIN && *at.pos < n_steps) {
		const struct ux_dwarf_step step = steps[*at.pos];
		const uint8_t *die = at.pos;
		if ((step.flags & stop) != 0)
			break;
		if ((step.flags & jump) != 0) {
			uint32_t sibling;
			memcpy(&sibling, die + step.sibling, sizeof(sibling));
			at.pos += step.size;
			if (ux_unlikely(!ux_dwarf_jump(&at, ctx->unit->off + sibling))) {
				at.pos = die;
				break;
			}
			passed++;
			continue;
		}
		if ((step.flags & UX_STEP_BLOCK) != 0) {
			if (ux_unlikely(die[step.block] >= 0x80))
				break;
			at.pos += die[step.block];
		}
		at.pos += step.size;
		depth += (uint32_t)(int32_t)step.depth;
		least = ux_min(least, depth);
		passed++;
	}
	if (at.pos != c->pos)
		c->prev = c->pos;
	c->pos = at.pos;
	*ret = (struct ux_dwarf_depth){depth, least};
	return passed;
}

/* Moves behind the children of the DIE whose attributes c has just passed; the number of entries
 * that were passed. */
uint64_t ux_dwarf_skip_children(const struct ux_dwarf_context *ctx, struct ux_cur *c);

#endif
