/* SPDX-License-Identifier: Apache-2.0 */
/* Where extracted symbols are kept from one command to the next. */
#ifndef UX_CACHE_FOLDER_H
#define UX_CACHE_FOLDER_H

#include "out.h"

#include <sys/stat.h>

/* What UNHEX_CACHE says. */
enum ux_cache_wish {
	UX_CACHE_OFF,   /* "off" or nothing */
	UX_CACHE_USUAL, /* it is not set: the user's folder, where it may be taken for granted */
	UX_CACHE_ON,    /* "on": the user's folder; else the folder that it names */
};

enum ux_cache_wish ux_cache_wish(void);

/*
 * Puts the folder's path with a '/' behind it and without a NUL, and makes the folder, for us
 * alone, when it is missing. The user's is $XDG_CACHE_HOME/unhex, else $HOME/.cache/unhex, of
 * absolute paths (XDG Base Directory Specification 0.8). Unless UNHEX_CACHE asks for it, that one
 * is taken only where all of this holds, so that nobody's files are mixed with others': the folder
 * that the environment names is there and belongs to us, as does ours, nobody else may write to
 * either, and we do not run with more rights than who started us. False: there is no folder.
 */
bool ux_cache_folder(enum ux_cache_wish wish, struct ux_out *out);

/* True for a file that nobody but us may have written. */
bool ux_cache_is_ours(const struct stat *st);

#endif
