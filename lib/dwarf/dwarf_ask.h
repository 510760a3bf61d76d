/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one DIE attribute by attribute: what the programs of dwarf_abbrev.h leave out. */
#ifndef UX_DWARF_ASK_H
#define UX_DWARF_ASK_H

#include "dwarf_unit.h"

/*
 * Takes what is wanted of the DIE from c, which stands behind its code and is moved to its end, as
 * its abbreviation lists it: for what so few are asked that a program for each would cost more than
 * it saves. What is in ret->have stays; of an attribute twice the first counts. Returns the bytes
 * of .debug_abbrev that were read; c is failed when some of .debug_info are missing.
 */
uint64_t ux_dwarf_die_ask(const struct ux_dwarf_context *ctx, const struct ux_dwarf_abbrev *abbrev,
			  enum ux_dwarf_want want, struct ux_cur *c, struct ux_dwarf_die *ret);

#endif
