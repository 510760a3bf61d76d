/* SPDX-License-Identifier: Apache-2.0 */
/* The languages that units are written in. */
#ifndef UX_DWARF_LANGUAGE_H
#define UX_DWARF_LANGUAGE_H

#include "base.h"
#include "dwarf_defs.h"

/*
 * The DW_LANG_* of a DW_AT_language_name, which has one number for a language whatever its year
 * (DWARF 6, 7.12; GCC writes it beside DW_AT_language): the oldest one of those that are treated
 * alike. 0 for a language that is not treated by name.
 */
uint64_t ux_dwarf_language_named(uint64_t name);

/* What a name of that language is joined to what it stands in with; NULL when it is not joined. */
const char *ux_dwarf_joint(uint64_t language);

#endif
