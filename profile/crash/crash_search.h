/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the module of a crash report among files and builds of a server. */
#ifndef UX_CRASH_SEARCH_H
#define UX_CRASH_SEARCH_H

#include "crash_module.h"

/*
 * Finds a module. A file with another identity than the text's is not used, and of several
 * different files with one name none is: ret->why then lists them. UX_ENOMEM, UX_ELIMIT; finding
 * none is not a failure. *m, which was zeroed, must be closed in any case.
 */
enum ux_code ux_crash_file_search(const struct ux_crash_sources *sources,
				  const struct ux_crash_wanted *wanted, struct ux_crash_file *m,
				  struct ux_crash_found *ret, struct ux_error *err) ux_must;

#endif
