/* SPDX-License-Identifier: Apache-2.0 */
/* Units that do not refer to each other. */
#include "dwarf_alone.h"

#include "dwarf_defs.h"

static bool leads_out(uint64_t attr, uint64_t form)
{
	switch (form) {
	case DW_FORM_ref_addr:
	case DW_FORM_ref_sig8:
	case DW_FORM_indirect:
		return true;
	default:
		return attr == DW_AT_dwo_name || attr == DW_AT_GNU_dwo_name;
	}
}

/* Passes one abbreviation's attributes; false when one of them leads out. */
static bool pass_attrs(struct ux_cur *c)
{
	for (;;) {
		uint64_t attr = ux_cur_uleb(c);
		uint64_t form = ux_cur_uleb(c);
		if (attr == 0 && form == 0)
			return true; /* as a failed cursor reads */
		if (leads_out(attr, form))
			return false;
		if (form == DW_FORM_implicit_const)
			(void)ux_cur_sleb(c);
	}
}

bool ux_dwarf_units_alone(const struct ux_dwarf_sections *sections)
{
	struct ux_cur c = ux_dwarf_cur(sections, UX_DWARF_ABBREV);
	while (ux_cur_more(&c)) {
		if (ux_cur_uleb(&c) == 0)
			continue;      /* the end of a table */
		(void)ux_cur_uleb(&c); /* tag */
		(void)ux_cur_u8(&c);   /* children */
		if (!pass_attrs(&c))
			return false;
	}
	return !c.failed;
}
