/* SPDX-License-Identifier: Apache-2.0 */
/* Split units. */
#include "dwarf_split.h"

enum {
	OPENED_MOST = 256, /* units of DWARF 4 in one file, whose ID is in their entry; compilers
			      make one */
};

const char *ux_dwarf_split_section_name(enum ux_dwarf_section section)
{
	static const char *const names[UX_DWARF_SECTION_COUNT] = {
		[UX_DWARF_INFO] = ".debug_info.dwo",
		[UX_DWARF_ABBREV] = ".debug_abbrev.dwo",
		[UX_DWARF_LINE] = ".debug_line.dwo",
		[UX_DWARF_STR] = ".debug_str.dwo",
		[UX_DWARF_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[UX_DWARF_RNGLISTS] = ".debug_rnglists.dwo",
	};
	assert((unsigned)section < UX_DWARF_SECTION_COUNT);
	return names[section];
}

struct ux_dwarf_sections ux_dwarf_split_sections(const struct ux_dwarf_sections *dwo,
						 const struct ux_dwarf_sections *linked)
{
	struct ux_dwarf_sections both = {.swap = linked->swap};
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		both.data[i] = ux_dwarf_split_section_name(i) ? dwo->data[i] : linked->data[i];
	return both;
}

/* A unit that may be the skeleton's, by its header. */
static bool may_be(const struct ux_dwarf_unit *unit, const struct ux_dwarf_context *skeleton)
{
	if (unit->version < 5)
		return skeleton->unit->version < 5;
	return unit->type == DW_UT_split_compile && unit->dwo_id == skeleton->dwo_id;
}

enum ux_code ux_dwarf_split_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_context *ret, struct ux_error *err)
{
	unsigned opened = 0;
	for (size_t i = 0; i < units->count && opened < OPENED_MOST; i++) {
		const struct ux_dwarf_unit *unit = &units->list[i];
		struct ux_dwarf_context ctx;
		if (!may_be(unit, skeleton))
			continue;
		opened++;
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code =
			ux_dwarf_context_open_split(sections, unit, skeleton, &ctx, &why);
		if (code == UX_ENOMEM || (code != UX_OK && unit->version >= 5)) {
			if (err && err->code == UX_OK)
				*err = why;
			return code;
		}
		if (code != UX_OK || !ctx.has_dwo_id || ctx.dwo_id != skeleton->dwo_id)
			continue;
		*ret = ctx;
		return UX_OK;
	}
	return ux_error_set(err, UX_ENOTFOUND, "no unit of the ID %016" PRIx64 " in it",
			    skeleton->dwo_id);
}
