/* SPDX-License-Identifier: Apache-2.0 */
/* GSYM files of binaries that were extracted before, for commands that are started again and again.
 */
#ifndef UX_SYMBOL_CACHE_H
#define UX_SYMBOL_CACHE_H

#include "cache_folder.h"
#include "file.h"

/*
 * A folder of files (cache_folder.h), each named after what it was made from: our executable,
 * options, and of each input its device, inode, size and time of change; so it is never stale, and
 * a binary that is replaced has another name. Files appear whole, by rename, when they are on the
 * disk: any number of processes may work on one folder. Only files are taken that are ours and that
 * nobody else may write.
 *
 * The folder stays under UX_SYMBOL_CACHE_MOST and UX_SYMBOL_CACHE_FILES: what was used least
 * recently is removed. Whatever goes wrong with it is silent: there is no cache then.
 *
 * A cache that was asked for has every GSYM that can be kept. The usual one has those that have
 * become worth it: beside the place of a GSYM, a file has as many bytes as milliseconds went into
 * doing without it.
 */
struct ux_symbol_cache {
	char *path;  /* malloc'ed: of the GSYM; NULL: there is no cache, or no use for one */
	char *spent; /* malloc'ed: of that file; NULL: the GSYM is wanted at once */
};

enum {
	UX_SYMBOL_CACHE_LEAST = 4 << 20,  /* bytes of inputs; fewer are read at once anyway */
	UX_SYMBOL_CACHE_USUAL = 16 << 20, /* the same for who did not ask for a cache */
	UX_SYMBOL_CACHE_FILES = 4096,
	UX_SYMBOL_CACHE_INPUTS = 3,
};

#define UX_SYMBOL_CACHE_MOST (UINT64_C(2) << 30) /* bytes */

/*
 * Names the GSYM of these inputs (those that are mapped) and options (a word of letters, digits).
 * usual: without being asked for by UNHEX_CACHE there is a cache, too.
 */
void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options, bool usual);
void ux_symbol_cache_deinit(struct ux_symbol_cache *c);

/* Maps the GSYM; false when it is not there, or is not ours. Its content is yet to be checked. */
bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret) ux_must;

/* True when it is time to make the GSYM for those who come later: at once, or when `most_ms` were
 * spent. */
bool ux_symbol_cache_is_due(const struct ux_symbol_cache *c, uint64_t most_ms);

/* Notes what an answer without it cost. */
void ux_symbol_cache_spend(const struct ux_symbol_cache *c, uint64_t ms);

/* Keeps a GSYM; a failure leaves the folder without it, and what was spent is forgotten. */
void ux_symbol_cache_keep(const struct ux_symbol_cache *c, struct ux_bytes gsym);

/* Removes a GSYM that turned out to be damaged. */
void ux_symbol_cache_drop(const struct ux_symbol_cache *c);

#endif
