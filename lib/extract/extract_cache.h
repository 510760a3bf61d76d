/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of GSYM files of binaries that were extracted before. */
#ifndef UX_EXTRACT_CACHE_H
#define UX_EXTRACT_CACHE_H

#include "file.h"
#include "out.h"

#include <sys/stat.h>

/* The value of the environment variable UNHEX_CACHE. */
enum ux_cache_policy {
	UX_CACHE_OFF,     /* "off" or empty */
	UX_CACHE_DEFAULT, /* not set: the user's cache directory is used if that is safe */
	UX_CACHE_ON,      /* "on": the user's cache directory; any other value is a directory */
};

enum ux_cache_policy ux_cache_policy(void);

/*
 * Appends the path of the cache directory with a '/' at the end and without a NUL, and creates the
 * directory with mode 0700 if it is missing. The user's cache directory is $XDG_CACHE_HOME/unhex,
 * else $HOME/.cache/unhex; both variables must be absolute paths (XDG Base Directory Specification
 * 0.8). Unless UNHEX_CACHE is "on", it is used only if the base directory exists, both directories
 * belong to the user and are not writable by others, and the process does not run with more rights
 * than the user who started it. Returns false when there is no cache directory.
 */
bool ux_cache_folder(enum ux_cache_policy policy, struct ux_out *out);

/* Returns whether the file belongs to this user and no other user can have written it. */
bool ux_cache_is_ours(const struct stat *st);

/*
 * One entry of the cache, which is a directory of files. The name of a file is made from its
 * inputs: the executable of unhex, the options, and the device, inode, size and time of change of
 * each input file. So an entry is never stale: a binary that was replaced has a different name. A
 * file is renamed into the cache when it is complete and on disk, so any number of processes may
 * use one directory. Only files that belong to this user and that no other user may write are used.
 *
 * The directory is kept below UX_EXTRACT_CACHE_MAX bytes and UX_EXTRACT_CACHE_FILES files by
 * removing the least recently used files. Failures are not reported; the command then works without
 * the cache.
 *
 * With UNHEX_CACHE every GSYM is stored. The default cache stores only a GSYM that saves enough
 * time: a second file, at the path of the GSYM with another suffix, grows by one byte for each
 * millisecond that commands have spent without the GSYM.
 */
struct ux_extract_cache {
	char *path;      /* malloc'ed: path of the GSYM; NULL: it is not cached */
	char *cost_path; /* malloc'ed: path of the file that counts milliseconds; NULL: the GSYM is
			    stored immediately */
};

enum {
	UX_EXTRACT_CACHE_MIN = 4 << 20, /* bytes of inputs; smaller ones are fast without a cache */
	UX_EXTRACT_CACHE_USUAL = 16 << 20, /* the same for the default cache */
	UX_EXTRACT_CACHE_FILES = 4096,
	UX_EXTRACT_CACHE_INPUTS = 3,
};

#define UX_EXTRACT_CACHE_MAX (UINT64_C(2) << 30) /* bytes */

/*
 * Sets the path for the GSYM of these inputs and options. Inputs that are not mapped are ignored;
 * options is a string of letters and digits.
 */
void ux_extract_cache_init(struct ux_extract_cache *c,
			   const struct ux_mapping *const inputs[UX_EXTRACT_CACHE_INPUTS],
			   const char *options);
void ux_extract_cache_deinit(struct ux_extract_cache *c);

/*
 * Returns the processor time, in milliseconds, that partial extractions of these inputs may take
 * before everything is extracted: half of the estimate for that. If a partial extraction costs as
 * much as a full one, as with compressed DWARF, only one of them was wasted.
 */
uint64_t ux_extract_cache_max_ms(const struct ux_mapping *const inputs[UX_EXTRACT_CACHE_INPUTS]);

/* Maps the GSYM. Returns false when it is missing or another user could have written it. Its
 * contents are not checked. */
bool ux_extract_cache_find(const struct ux_extract_cache *c, struct ux_mapping *ret) ux_must;

/* Returns whether the whole GSYM should be extracted and written for later commands. With
 * UNHEX_CACHE this is always the case, in the default cache once commands have spent `max_ms`
 * without it. */
bool ux_extract_cache_is_due(const struct ux_extract_cache *c, uint64_t max_ms);

/* Adds the time that a command took to answer without the GSYM. */
void ux_extract_cache_add_cost(const struct ux_extract_cache *c, uint64_t ms);

/* Writes a GSYM to the cache and resets the counted time. A failure leaves no file. */
void ux_extract_cache_write(const struct ux_extract_cache *c, struct ux_bytes gsym);

/* Removes a damaged GSYM. */
void ux_extract_cache_drop(const struct ux_extract_cache *c);

#endif
