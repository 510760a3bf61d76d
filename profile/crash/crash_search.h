/* SPDX-License-Identifier: Apache-2.0 */
/* Searches the module of a crash report among local files and the builds on a server. */
#ifndef UX_CRASH_SEARCH_H
#define UX_CRASH_SEARCH_H

#include "crash_module.h"

/*
 * Finds a module. A file whose identity differs from the text's is not used. If several different
 * files have the name, none is used and ret->why lists them. UX_ENOMEM, UX_ELIMIT; finding none is
 * not a failure. *m must be zeroed before the call, and closed after it in any case.
 */
enum ux_code ux_crash_file_search(const struct ux_crash_sources *sources,
				  const struct ux_crash_wanted *wanted, struct ux_crash_file *m,
				  struct ux_crash_found *ret, struct ux_error *err) ux_must;

#endif
