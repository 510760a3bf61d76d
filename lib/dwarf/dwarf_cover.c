/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses a unit says it has. */
#include "dwarf_cover.h"

/* GCC's units without code are from 0 to 0, and their list may be empty. */
static bool says(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *root)
{
	uint64_t pc = 0;
	return ux_dwarf_die_has(root, UX_SLOT_RANGES) ||
	       (ux_dwarf_die_pc(ctx, root, UX_SLOT_LOW_PC, &pc) &&
		(ux_dwarf_die_pc(ctx, root, UX_SLOT_HIGH_PC, &pc) ||
		 ux_dwarf_die_const(root, UX_SLOT_HIGH_PC, &pc)));
}

bool ux_dwarf_unit_cover(const struct ux_dwarf_context *ctx, struct ux_range_vec *out)
{
	/* Sections are of no interest: a range may begin in front of the one its code is in. */
	static const struct ux_range everything = {0, UINT64_MAX};
	const struct ux_range_set text = {&everything, 1};
	uint64_t entries = (ctx->unit->end - ctx->unit->off) * UX_DWARF_RANGES_PER_BYTE;
	struct ux_dwarf_die root;
	out->size = 0;
	if (ux_dwarf_die_at(ctx, ctx->unit->die_off, &root, NULL) != UX_OK)
		return false;
	return says(ctx, &root) &&
	       ux_dwarf_die_ranges(ctx, &root, &text, &entries, out, NULL) == UX_OK;
}
