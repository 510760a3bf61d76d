/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the symbols of a binary are in: of this machine, or of debuginfod servers. */
#ifndef UX_SYMBOL_FILES_H
#define UX_SYMBOL_FILES_H

#include "debug_file.h"
#include "error.h"
#include "id.h"

/*
 * Servers to ask, and where their files are cached. Zeroed fields have defaults. The names and the
 * meaning of the environment's variables, and the layout of the cache, are those of libdebuginfod
 * (elfutils), so that gdb and unhex share what they fetched: CACHE/HEX/debuginfo and
 * CACHE/HEX/executable; an empty file says that no server had it when it was made, for as many
 * seconds as CACHE/cache_miss_s holds (600).
 */
struct ux_debuginfod_options {
	const char *urls;    /* of servers, with blanks between; NULL or "": ask nobody */
	const char *cache;   /* NULL: $XDG_CACHE_HOME/debuginfod_client, in $HOME/.cache */
	const char *headers; /* file of header lines to send, for keys; NULL: none */
	uint64_t size_most;  /* bytes of a file; 0: 4 GiB */
	unsigned silence_ms; /* that a server may take to connect, or say nothing; 0: 4 s */
	unsigned most_ms;    /* that one file may take; 0: 10 minutes */
};

/* Options by DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH, DEBUGINFOD_HEADERS_FILE, DEBUGINFOD_MAXSIZE,
 * DEBUGINFOD_TIMEOUT and DEBUGINFOD_MAXTIME (seconds). Strings are the environment's. */
struct ux_debuginfod_options ux_debuginfod_environment(void);

/* What can be requested. */
enum ux_debuginfod_kind {
	UX_DEBUGINFOD_DEBUGINFO,
	UX_DEBUGINFOD_EXECUTABLE,
};

struct ux_debuginfod;

/* *ret is NULL, which finds nothing, when there are no URLs. Copies the options. UX_EINVAL: a word
 * that is no URL. One thread at a time. */
enum ux_code ux_debuginfod_create(struct ux_debuginfod **ret,
				  const struct ux_debuginfod_options *options, struct ux_error *err)
	ux_must;
void ux_debuginfod_destroy(struct ux_debuginfod *d);

/*
 * The path, malloc'ed, of an ELF file of that GNU build ID: kept from before, or from the first
 * server that has it. A server that does not answer in time, or breaks off, is not tried again for
 * a minute. A file appears in the cache whole or not at all.
 *
 * UX_ENOTFOUND: every server says that it has none (which is remembered), or id is no GNU build ID.
 * UX_EUNAVAILABLE: none has it, and at least one did not say so. UX_EDENIED, UX_EIO, UX_ELIMIT: the
 * cache cannot be written, the file is too large. UX_ENOMEM.
 */
enum ux_code ux_debuginfod_find(struct ux_debuginfod *d, const struct ux_id *id,
				enum ux_debuginfod_kind kind, char **ret_path, struct ux_error *err)
	ux_must;

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
