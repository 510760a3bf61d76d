/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses a unit says it has. */
#ifndef UX_DWARF_COVER_H
#define UX_DWARF_COVER_H

#include "dwarf_ranges.h"

/*
 * Replaces what is in out by the ranges of the unit's own DIE (DWARF 5, 3.1.1), in any order, those
 * of dropped code among them; of an address that is in none of them the unit says nothing. False
 * when it cannot be told without reading the unit: it has neither ranges nor a low and a high pc,
 * as of some producers, or its list is damaged, or memory is short. Any thread.
 */
bool ux_dwarf_unit_cover(const struct ux_dwarf_context *ctx, struct ux_range_vec *out) ux_must;

#endif
