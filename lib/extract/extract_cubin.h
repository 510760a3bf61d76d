/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction from GPU code: cubins, and fat binaries that hold them. */
#ifndef UX_EXTRACT_CUBIN_H
#define UX_EXTRACT_CUBIN_H

#include "dwarf_sections.h"
#include "module_build.h"

/* Like ux_extract(), for cubins. UX_EINVAL: there is a debug file; cubins have none. */
ux_extract_fn ux_extract_cubin ux_must;

/* Like ux_extract(), for the piece of exe's GPU code that options->gpu selects, with the codes of
 * ux_fatbin_choose(). */
ux_extract_fn ux_extract_fatbin ux_must;

/* --- Line tables of a cubin as units ---------------------------------------------------------- */

/* The name of the file for lines of PTX; nvdisasm uses the same. */
#define UX_CUBIN_PTX_FILE ".nv_debug_ptx_txt"

/*
 * Adds a unit for each line table in `sections` that has rows for one of the build's symbols. The
 * sections' relocations must have been applied. Functions that the build has already are skipped.
 * Damage costs the table it is in and is counted in the build.
 */
enum ux_code ux_cubin_units_add(struct ux_module_build *build,
				const struct ux_dwarf_sections *sections, struct ux_error *err)
	ux_must;

/*
 * Like ux_cubin_units_add(), for .nv_debug_line_sass, which has the lines of the PTX text that the
 * code was assembled from. It is used for functions without other line information, and so has to
 * be called last. ptx and sections must outlive the build.
 */
enum ux_code ux_cubin_units_add_ptx(struct ux_module_build *build,
				    const struct ux_dwarf_sections *sections, struct ux_bytes ptx,
				    struct ux_error *err) ux_must;

#endif
