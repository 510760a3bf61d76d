/* SPDX-License-Identifier: Apache-2.0 */
/* Whether units can be read one by one, each without the others. */
#ifndef UX_DWARF_ALONE_H
#define UX_DWARF_ALONE_H

#include "dwarf_sections.h"

/*
 * True when no entry that the abbreviations allow can lead out of its unit: to another unit
 * (DW_FORM_ref_addr), a type unit (DW_FORM_ref_sig8), a split unit (DW_AT_dwo_name), or, by
 * DW_FORM_indirect, to who knows where. So it is for what compilers write, and not for what was
 * optimized as a whole or went through dwz. Only .debug_abbrev is read, all of it; a damaged one is
 * false. Any thread.
 */
bool ux_dwarf_units_alone(const struct ux_dwarf_sections *sections);

#endif
