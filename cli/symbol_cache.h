/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of GSYM files of binaries that were extracted before. */
#ifndef UX_SYMBOL_CACHE_H
#define UX_SYMBOL_CACHE_H

#include "file.h"
#include "out.h"

#include <sys/stat.h>

/* The value of UNHEX_CACHE. */
enum ux_cache_policy {
	UX_CACHE_OFF,     /* "off" or empty */
	UX_CACHE_DEFAULT, /* not set: the directory of the user, if that is safe */
	UX_CACHE_ON,      /* "on": the directory of the user; else its value is a directory */
};

enum ux_cache_policy ux_cache_policy(void);

/*
 * Appends the path of the cache directory with a '/' at the end and without a NUL, and creates the
 * directory with mode 0700 if it is missing. That of the user is $XDG_CACHE_HOME/unhex, else
 * $HOME/.cache/unhex, of absolute paths (XDG Base Directory Specification 0.8). Unless UNHEX_CACHE
 * asks for it, it is used only if the base directory exists, both directories belong to us and are
 * not writable by others, and we do not run with more rights than the user who started us. False:
 * there is no directory.
 */
bool ux_cache_folder(enum ux_cache_policy policy, struct ux_out *out);

/* Whether only we can have written a file. */
bool ux_cache_is_ours(const struct stat *st);

/*
 * One entry of the cache, a directory of files. Each is named after its inputs: our executable,
 * options, and of each input its device, inode, size and time of change; so it is never stale, and
 * a replaced binary has another name. Files appear whole, by rename, when they are on disk: any
 * number of processes may use one directory. Only files that belong to us and that no other user
 * may write are used.
 *
 * The directory stays below UX_SYMBOL_CACHE_MOST and UX_SYMBOL_CACHE_FILES: the least recently used
 * files are removed. Failures are silent: then there is no cache.
 *
 * With UNHEX_CACHE every GSYM is kept. The default cache keeps only those that have become worth
 * it: a second file beside the GSYM grows by one byte for each millisecond that was spent without
 * it.
 */
struct ux_symbol_cache {
	char *path;      /* malloc'ed: path of the GSYM; NULL: it is not cached */
	char *cost_path; /* malloc'ed: path of the file that counts milliseconds; NULL: the GSYM is
			kept at once */
};

enum {
	UX_SYMBOL_CACHE_LEAST =
		4 << 20, /* bytes of inputs; smaller ones are fast without a cache */
	UX_SYMBOL_CACHE_USUAL = 16 << 20, /* the same for the default cache */
	UX_SYMBOL_CACHE_FILES = 4096,
	UX_SYMBOL_CACHE_INPUTS = 3,
};

#define UX_SYMBOL_CACHE_MOST (UINT64_C(2) << 30) /* bytes */

/*
 * Sets the path for the GSYM of these inputs (those that are mapped) and options (letters and
 * digits). usual: use the default cache if UNHEX_CACHE is not set.
 */
void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options, bool usual);
void ux_symbol_cache_deinit(struct ux_symbol_cache *c);

/* Maps the GSYM; false when it is missing or not ours. Its contents are not checked. */
bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret) ux_must;

/* Whether the whole GSYM should be extracted and written for later commands: always with
 * UNHEX_CACHE, in the default cache once `most_ms` were spent. */
bool ux_symbol_cache_is_due(const struct ux_symbol_cache *c, uint64_t most_ms);

/* Adds the time that an answer without the GSYM has taken. */
void ux_symbol_cache_add_cost(const struct ux_symbol_cache *c, uint64_t ms);

/* Writes a GSYM to the cache and resets the counted time. A failure leaves no file. */
void ux_symbol_cache_write(const struct ux_symbol_cache *c, struct ux_bytes gsym);

/* Removes a damaged GSYM. */
void ux_symbol_cache_drop(const struct ux_symbol_cache *c);

#endif
