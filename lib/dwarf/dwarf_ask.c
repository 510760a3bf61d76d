/* SPDX-License-Identifier: Apache-2.0 */
/* One DIE by its abbreviation's list. */
#include "dwarf_ask.h"

static void keep(struct ux_dwarf_die *die, enum ux_dwarf_slot slot, uint64_t form, uint64_t value)
{
	if (slot == UX_SLOT_COUNT || form > UINT16_MAX)
		return;
	die->have |= 1u << slot;
	die->form[slot] = (uint16_t)form;
	die->raw[slot] = value;
}

uint64_t ux_dwarf_die_ask(const struct ux_dwarf_context *ctx, const struct ux_dwarf_abbrev *abbrev,
			  enum ux_dwarf_want want, struct ux_cur *c, struct ux_dwarf_die *ret)
{
	struct ux_dwarf_layout layout = ctx->unit->layout;
	struct ux_cur attrs =
		ux_dwarf_cur_at(ctx->sections, UX_DWARF_ABBREV, ctx->unit->abbrev_off);
	ux_cur_skip(&attrs, abbrev->attrs);
	uint64_t before = ux_cur_off(&attrs);
	while (!attrs.failed && !c->failed) {
		uint64_t attr = ux_cur_uleb(&attrs);
		uint64_t form = ux_cur_uleb(&attrs);
		if (attr == 0 && form == 0)
			break;
		enum ux_dwarf_slot slot = ux_dwarf_slot_of(want, attr);
		if (slot != UX_SLOT_COUNT && ux_dwarf_die_has(ret, slot))
			slot = UX_SLOT_COUNT;
		if (form == DW_FORM_implicit_const)
			keep(ret, slot, form, (uint64_t)ux_cur_sleb(&attrs));
		else if (form == DW_FORM_indirect)
			ux_dwarf_indirect(c, slot, layout, ret);
		else
			keep(ret, slot, form, ux_dwarf_read(c, form, layout));
	}
	return ux_cur_off(&attrs) - before;
}
