/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the symbols of a binary are in: of this machine, or of debuginfod servers. */
#ifndef UX_SYMBOL_FILES_H
#define UX_SYMBOL_FILES_H

#include "debug_file.h"
#include "debuginfod.h"

/* Where to look. Zeroed: /usr/lib/debug, and no servers. */
struct ux_finder {
	struct ux_debug_search search;
	struct ux_debuginfod *server; /* NULL: none */
};

/* What was found. Zeroed is nothing. */
struct ux_symbol_files {
	struct ux_debug_file debug;      /* a separate debug file */
	struct ux_mapping supplementary; /* what dwz moved common entries to */
	struct ux_error
		lost; /* why there is less than there could be: a server that does not
			 answer, a supplementary file that is not there; code UX_OK: nothing */
};

/*
 * Finds the files of exe, read from path (may be NULL): see ux_debug_file_find() and
 * ux_supplementary_find(); what is not on this machine is requested from the servers by build ID.
 * UX_OK also when nothing is found; UX_ENOMEM. files must be closed in either case.
 */
enum ux_code ux_symbol_files_find(struct ux_symbol_files *files, const struct ux_finder *finder,
				  struct ux_bytes exe, const char *path, struct ux_error *err)
	ux_must;

/* The same for a debug file that is known already: its supplementary file alone. */
enum ux_code ux_symbol_files_supplement(struct ux_symbol_files *files,
					const struct ux_finder *finder, struct ux_bytes debug,
					const char *path, struct ux_error *err) ux_must;

void ux_symbol_files_close(struct ux_symbol_files *files);

#endif
