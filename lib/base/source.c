/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the sources. */
#include "unhex/source.h"

#include "base.h"

const char *ux_source_name(enum ux_source source)
{
	static const char *const names[UX_SOURCE_COUNT] = {
		[UX_SOURCE_DWARF] = "dwarf",   [UX_SOURCE_GOPCLNTAB] = "gopclntab",
		[UX_SOURCE_SYMTAB] = "symtab", [UX_SOURCE_DEBUGDATA] = "gnu_debugdata",
		[UX_SOURCE_DYNSYM] = "dynsym", [UX_SOURCE_PLT] = "plt",
		[UX_SOURCE_BOUNDS] = "bounds", [UX_SOURCE_PTX] = "ptx",
	};
	return (unsigned)source < UX_SOURCE_COUNT ? names[source] : "unknown";
}
