/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files with the symbols of a binary are looked for: options, then environment. */
#ifndef UX_FIND_OPTIONS_H
#define UX_FIND_OPTIONS_H

#include "options.h"
#include "symbol_files.h"

/* Embed in a command's values and add UX_FIND_OPTIONS to its table. */
struct ux_find_values {
	char *dirs; /* malloc'ed: all that were given, with ':' between */
	const char *debuginfod;
};

/* clang-format off */
#define UX_DEBUG_DIR_OPTION(values, member) \
	{"debug-dir", 0, UX_OPTION_LIST, offsetof(values, member), "DIR", \
	 "where debug files are; may be repeated [/usr/lib/debug]"}
#define UX_FIND_OPTIONS(values, member) \
	UX_DEBUG_DIR_OPTION(values, member.dirs), \
	{"debuginfod", 0, UX_OPTION_TEXT, offsetof(values, member.debuginfod), "URL", \
	 "ask this server for what is not here [DEBUGINFOD_URLS]"}
/* clang-format on */

/* Opens what the values say; nobody is asked yet. UX_EINVAL: a server that is no URL. To be closed
 * in either case; the values must outlive it. */
enum ux_code ux_find_open(struct ux_finder *ret, const struct ux_find_values *values,
			  struct ux_error *err) ux_must;
void ux_find_close(struct ux_finder *finder);

/* Says on stderr what was lost (struct ux_symbol_files), if something was. */
void ux_find_warn(const char *path, const struct ux_error *lost);

#endif
