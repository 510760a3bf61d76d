/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the ranks. */
#include "unhex/quality.h"

#include "base.h"

const char *ux_quality_name(enum ux_quality quality)
{
	static const char *const names[UX_QUALITY_COUNT] = {
		[UX_QUALITY_NONE] = "none",     [UX_QUALITY_DYNSYM] = "dynsym",
		[UX_QUALITY_SYMTAB] = "symtab", [UX_QUALITY_GOPCLNTAB] = "gopclntab",
		[UX_QUALITY_LINES] = "lines",   [UX_QUALITY_INLINES] = "inlines",
	};
	return (unsigned)quality < UX_QUALITY_COUNT ? names[quality] : "none";
}
