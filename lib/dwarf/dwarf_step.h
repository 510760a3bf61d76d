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
		ux_cur_skip(c, abbrev->fixed);
		return false;
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

/* Moves behind the children of the DIE whose attributes c has just passed; the number of entries
 * that were passed. */
ux_inline uint64_t ux_dwarf_skip_children(const struct ux_dwarf_context *ctx, struct ux_cur *c)
{
	uint64_t passed = 0;
	for (uint64_t open = 1; open > 0 && ux_cur_more(c); passed++) {
		uint64_t code = ux_cur_uleb(c);
		if (code == 0) {
			open--;
			continue;
		}
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
		uint64_t sibling = 0;
		if (!abbrev) {
			ux_cur_bad(c, "abbreviation code that its table does not have");
			break;
		}
		bool known = ux_dwarf_step_over(ctx, c, abbrev, &sibling);
		if (abbrev->has_children && !(known && ux_dwarf_jump(c, sibling)))
			open++;
	}
	return passed;
}

#endif
