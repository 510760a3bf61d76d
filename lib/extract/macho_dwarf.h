/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DWARF of a Mach-O file, as the sections that debug_sections.h loads.
 *
 * DWARF and its compression are the same in both formats; only names differ: __debug_info is
 * .debug_info, __zdebug_info (Go) is .zdebug_info, and what has more than 16 letters is cut
 * (__debug_str_offs).
 */
#ifndef UX_MACHO_DWARF_H
#define UX_MACHO_DWARF_H

#include "debug_sections.h"
#include "macho_file.h"

struct ux_macho_dwarf {
	struct ux_elf elf; /* its sections are those below; nothing else of it is set */
	struct ux_elf_section sections[1 + 2 * UX_DWARF_SECTION_COUNT];
	char old_names[UX_DWARF_SECTION_COUNT][24]; /* .zdebug_* */
};

/*
 * Fills *ret, which must stay where it is, from macho, which must outlive it. There is nothing to
 * release: do not close its elf.
 */
void ux_macho_dwarf_init(struct ux_macho_dwarf *ret, const struct ux_macho *macho);

/* True when macho has DWARF units with their content. */
bool ux_macho_dwarf_exists(const struct ux_macho *macho);

#endif
