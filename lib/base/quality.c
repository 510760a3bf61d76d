/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ranks of symbols and of their sources. */
#include "unhex/quality.h"

#include "base.h"
#include "unhex/source.h"

const char *ux_quality_name(enum ux_quality quality)
{
	static const char *const names[UX_QUALITY_COUNT] = {
		[UX_QUALITY_NONE] = "none",     [UX_QUALITY_DYNSYM] = "dynsym",
		[UX_QUALITY_SYMTAB] = "symtab", [UX_QUALITY_GOPCLNTAB] = "gopclntab",
		[UX_QUALITY_LINES] = "lines",   [UX_QUALITY_INLINES] = "inlines",
	};
	return (unsigned)quality < UX_QUALITY_COUNT ? names[quality] : "none";
}

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
