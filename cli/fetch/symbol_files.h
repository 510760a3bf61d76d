/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files that have the symbols of a binary, on this machine or on debuginfod servers;
 * and the client of debuginfod servers with its cache of files. */
#ifndef UX_SYMBOL_FILES_H
#define UX_SYMBOL_FILES_H

#include "debug_file.h"
#include "error.h"
#include "id.h"

/*
 * The servers that are queried, and where their files are cached. Zeroed fields have defaults. The
 * environment variables and the layout of the cache are the same as in libdebuginfod (elfutils), so
 * that gdb and unhex share fetched files: CACHE/HEX/debuginfo and CACHE/HEX/executable. An empty
 * file records that no server had the file; it is valid for as many seconds as the file
 * CACHE/cache_miss_s contains (600 by default).
 */
struct ux_debuginfod_options {
	const char *urls;    /* URLs, separated by blanks; NULL or "": no server is queried */
	const char *cache;   /* NULL: debuginfod_client in $XDG_CACHE_HOME or $HOME/.cache */
	const char *headers; /* file with HTTP header lines to send, such as keys; NULL: none */
	uint64_t size_max;   /* limit of the size of a file in bytes; 0: 4 GiB */
	unsigned silence_ms; /* limit for connecting and for a pause in the answer; 0: 4 s */
	unsigned max_ms;     /* limit for the transfer of one file; 0: 10 minutes */
};

/* Returns the options that the environment sets in DEBUGINFOD_URLS, DEBUGINFOD_CACHE_PATH,
 * DEBUGINFOD_HEADERS_FILE, DEBUGINFOD_MAXSIZE, DEBUGINFOD_TIMEOUT and DEBUGINFOD_MAXTIME (both in
 * seconds). The strings point into the environment. */
struct ux_debuginfod_options ux_debuginfod_environment(void);

/* Kinds of files that can be requested. */
enum ux_debuginfod_kind {
	UX_DEBUGINFOD_DEBUGINFO,
	UX_DEBUGINFOD_EXECUTABLE,
};

struct ux_debuginfod;

/* Creates a client and copies the options. Without URLs *ret is NULL, which is a valid client
 * that finds nothing. UX_EINVAL: a word in `urls` is not a URL. A client may be used by one thread
 * at a time. */
enum ux_code ux_debuginfod_create(struct ux_debuginfod **ret,
				  const struct ux_debuginfod_options *options, struct ux_error *err)
	ux_must;
void ux_debuginfod_destroy(struct ux_debuginfod *d);

/*
 * Returns the path, malloc'ed, of an ELF file with that GNU build ID. The file is in the cache, or
 * is fetched from the first server that has it. A server that does not answer in time, or closes
 * the connection early, is not queried again for a minute. A file is renamed into the cache only
 * when it is complete.
 *
 * UX_ENOTFOUND: every server has answered that it does not have the file (the cache records this),
 * or id is not a GNU build ID. UX_EUNAVAILABLE: no server has returned the file, and at least one
 * gave no valid answer. UX_EDENIED, UX_EIO, UX_ELIMIT: the cache cannot be written, or the file is
 * too large. UX_ENOMEM.
 */
enum ux_code ux_debuginfod_find(struct ux_debuginfod *d, const struct ux_id *id,
				enum ux_debuginfod_kind kind, char **ret_path, struct ux_error *err)
	ux_must;

/* The places where files are searched. Zeroed: in /usr/lib/debug, and on no servers. */
struct ux_finder {
	struct ux_debug_search search;
	struct ux_debuginfod *server; /* NULL: none */
};

/* The files that were found. Zeroed = no files. */
struct ux_symbol_files {
	struct ux_debug_file debug;      /* a separate debug file */
	struct ux_mapping supplementary; /* the file to which dwz has moved common DWARF entries */
	struct ux_error lost; /* why files may be missing: a server does not answer, or the
				 supplementary file was not found; code UX_OK: none are */
};

/*
 * Finds the files for exe, which was read from path (may be NULL), with ux_debug_file_find() and
 * ux_supplementary_find(). Files that are not on this machine are requested from the servers by
 * build ID. It is a success if nothing is found; only UX_ENOMEM is a failure. files must be closed
 * in either case.
 */
enum ux_code ux_symbol_files_find(struct ux_symbol_files *files, const struct ux_finder *finder,
				  struct ux_bytes exe, const char *path, struct ux_error *err)
	ux_must;

/* Finds only the supplementary file of a debug file that is known already. */
enum ux_code ux_symbol_files_supplement(struct ux_symbol_files *files,
					const struct ux_finder *finder, struct ux_bytes debug,
					const char *path, struct ux_error *err) ux_must;

void ux_symbol_files_close(struct ux_symbol_files *files);

#endif
