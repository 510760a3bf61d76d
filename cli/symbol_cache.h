/* SPDX-License-Identifier: Apache-2.0 */
/* GSYM files of binaries that were extracted before, for commands that are started again and again.
 */
#ifndef UX_SYMBOL_CACHE_H
#define UX_SYMBOL_CACHE_H

#include "file.h"

/*
 * Off unless UNHEX_CACHE says where: a folder, or "on" for $XDG_CACHE_HOME/unhex (~/.cache/unhex),
 * which is made when it is missing. A file in it is named after what it was made from: our version,
 * options, and of each input its device, inode, size and time of change; so it is never stale, and
 * a binary that is replaced has another name. Files appear whole, by rename: any number of
 * processes may work on one folder. Only files are taken that are ours and that nobody else may
 * write.
 *
 * The folder stays under UX_SYMBOL_CACHE_MOST: what was used least recently is removed.
 */
struct ux_symbol_cache {
	char *path; /* malloc'ed: of the GSYM; NULL: there is no cache, or no use for one */
};

enum {
	UX_SYMBOL_CACHE_LEAST = 4 << 20, /* bytes of inputs; fewer are read at once anyway */
	UX_SYMBOL_CACHE_INPUTS = 3,
};

#define UX_SYMBOL_CACHE_MOST (UINT64_C(4) << 30) /* bytes */

/* Names the GSYM of these inputs (those that are mapped) and options (a word of letters, digits).
 */
void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options);
void ux_symbol_cache_deinit(struct ux_symbol_cache *c);

/* Maps the GSYM; false when it is not there, or is not ours. Its content is yet to be checked. */
bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret) ux_must;

/* Keeps a GSYM; a failure leaves the folder as it was. */
void ux_symbol_cache_keep(const struct ux_symbol_cache *c, struct ux_bytes gsym);

#endif
