/* SPDX-License-Identifier: Apache-2.0 */
/* What Mach-O files can contribute. */
#ifndef UX_PUSH_MACHO_H
#define UX_PUSH_MACHO_H

#include "push_module.h"

/*
 * Appends a module for each slice of the Mach-O file, which is at path. UX_EUNSUPPORTED: one is
 * never loaded as it is (object file, core dump). A dSYM file is debug_only and has no File ID.
 */
enum ux_code ux_push_macho_read(struct ux_push_modules *v, const char *path, struct ux_bytes file,
				struct ux_error *err) ux_must;

/* As ux_push_module_debug() for a module of Mach-O; path may be a dSYM bundle. */
enum ux_code ux_push_macho_debug(struct ux_push_module *m, const char *path,
				 enum ux_debug_origin origin, struct ux_error *err) ux_must;

/* Raises the claim when there is a dSYM bundle beside m, or when the objects that it was linked
 * from are there; extraction finds either again. */
enum ux_code ux_push_macho_find_debug(struct ux_push_module *m, struct ux_error *err) ux_must;

#endif
