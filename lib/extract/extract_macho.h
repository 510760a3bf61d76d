/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for Mach-O files. */
#ifndef UX_EXTRACT_MACHO_H
#define UX_EXTRACT_MACHO_H

#include "module_build.h"

/*
 * As ux_extract(), for Mach-O files and slices of universal ones. Without a debug file and DWARF of
 * its own, the dSYM bundle of its UUID beside options->path is used.
 */
ux_extract_fn ux_extract_macho ux_must;

#endif
