/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a module that names and lines come from. */
#ifndef UNHEX_SOURCE_H
#define UNHEX_SOURCE_H

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sources of a module's symbols; the numbers are stable, new ones are appended. */
enum ux_source {
	UX_SOURCE_DWARF,     /* functions, lines, inlined calls */
	UX_SOURCE_GOPCLNTAB, /* the same, from Go's own tables */
	UX_SOURCE_SYMTAB,    /* the full symbol table */
	UX_SOURCE_DEBUGDATA, /* compressed symbols of a stripped file (.gnu_debugdata) */
	UX_SOURCE_DYNSYM,    /* symbols for the dynamic linker */
	UX_SOURCE_PLT,       /* stubs through which other modules are called: name@plt */
	UX_SOURCE_BOUNDS,    /* where functions begin and end, from unwind tables: no names */
	UX_SOURCE_PTX, /* GPU code without other line tables: lines of the PTX text that it was
			  assembled from; the file is then ".nv_debug_ptx_txt" */
	UX_SOURCE_COUNT
};

/* "dwarf", "gopclntab", "symtab", "gnu_debugdata", "dynsym", "plt", "bounds", "ptx"; never NULL.
 * Any thread. Since 0.1. */
UX_API const char *ux_source_name(enum ux_source source);

#ifdef __cplusplus
}
#endif

#endif
