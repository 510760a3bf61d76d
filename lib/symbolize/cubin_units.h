/* SPDX-License-Identifier: Apache-2.0 */
/* The line tables of a cubin as units: functions with rows and inlined calls. */
#ifndef UX_CUBIN_UNITS_H
#define UX_CUBIN_UNITS_H

#include "dwarf_sections.h"
#include "module_build.h"

/*
 * Adds a unit for each line table in `sections`, whose relocations are applied, that has lines of a
 * symbol of the build's; what the build's collection has already is passed over. Damage costs the
 * table it is in and is counted in the build.
 */
enum ux_code ux_cubin_units_add(struct ux_module_build *build,
				const struct ux_dwarf_sections *sections, struct ux_error *err)
	ux_must;

#endif
