/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the sections. */
#include "dwarf_sections.h"

const char *ux_dwarf_section_name(enum ux_dwarf_section section)
{
	static const char *const names[UX_DWARF_SECTION_COUNT] = {
		[UX_DWARF_INFO] = ".debug_info",
		[UX_DWARF_ABBREV] = ".debug_abbrev",
		[UX_DWARF_LINE] = ".debug_line",
		[UX_DWARF_STR] = ".debug_str",
		[UX_DWARF_LINE_STR] = ".debug_line_str",
		[UX_DWARF_STR_OFFSETS] = ".debug_str_offsets",
		[UX_DWARF_ADDR] = ".debug_addr",
		[UX_DWARF_RANGES] = ".debug_ranges",
		[UX_DWARF_RNGLISTS] = ".debug_rnglists",
	};
	assert((unsigned)section < UX_DWARF_SECTION_COUNT);
	return names[section];
}
