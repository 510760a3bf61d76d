/* SPDX-License-Identifier: Apache-2.0 */
/* Where in a module names and lines come from. */
#ifndef UNHEX_SOURCE_H
#define UNHEX_SOURCE_H

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sources of a module's symbols; the numbers are stable, new ones are appended. */
enum ux_source {
	UX_SOURCE_DWARF,     /* functions, lines, inlined calls */
	UX_SOURCE_GOPCLNTAB, /* the same of Go */
	UX_SOURCE_SYMTAB,    /* the full symbol table */
	UX_SOURCE_DEBUGDATA, /* symbols that a stripped file keeps compressed */
	UX_SOURCE_DYNSYM,    /* symbols for the loader */
	UX_SOURCE_PLT,       /* stubs that call other modules: name@plt */
	UX_SOURCE_BOUNDS,    /* where functions begin and end, by what unwinds them: no names */
	UX_SOURCE_PTX,       /* of GPU code: lines of the PTX text it was assembled from, where no
				one has others; the file is then ".nv_debug_ptx_txt" */
	UX_SOURCE_COUNT
};

/* "dwarf", "gopclntab", "symtab", "gnu_debugdata", "dynsym", "plt", "bounds", "ptx"; never NULL.
 * Any thread. Since 0.1. */
UX_API const char *ux_source_name(enum ux_source source);

#ifdef __cplusplus
}
#endif

#endif
