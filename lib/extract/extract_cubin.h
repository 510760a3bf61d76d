/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction from GPU code: cubins, and fat binaries that hold them. */
#ifndef UX_EXTRACT_CUBIN_H
#define UX_EXTRACT_CUBIN_H

#include "dwarf_sections.h"
#include "module_build.h"

/* As ux_extract(), for cubins. UX_EINVAL: with a debug file, which no cubin has. */
ux_extract_fn ux_extract_cubin ux_must;

/* As ux_extract(), for the piece of exe's GPU code that options->gpu means (fatbin_choose.h, whose
 * codes it has). */
ux_extract_fn ux_extract_fatbin ux_must;

/* The line tables of a cubin as units: functions with rows and inlined calls. */

/* The file that lines of PTX are said to be in: what nvdisasm calls it. */
#define UX_CUBIN_PTX_FILE ".nv_debug_ptx_txt"

/*
 * Adds a unit for each line table in `sections`, whose relocations are applied, that has lines of a
 * symbol of the build's; what the build's collection has already is passed over. Damage costs the
 * table it is in and is counted in the build.
 */
enum ux_code ux_cubin_units_add(struct ux_module_build *build,
				const struct ux_dwarf_sections *sections, struct ux_error *err)
	ux_must;

/*
 * The same of .nv_debug_line_sass, relocated: lines of the PTX text that the code was assembled
 * from, for functions of which nobody else has lines. Comes last. ptx and sections live as long as
 * the build.
 */
enum ux_code ux_cubin_units_add_ptx(struct ux_module_build *build,
				    const struct ux_dwarf_sections *sections, struct ux_bytes ptx,
				    struct ux_error *err) ux_must;

#endif
