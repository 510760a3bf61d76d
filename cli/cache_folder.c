/* SPDX-License-Identifier: Apache-2.0 */
/* Where extracted symbols are kept from one command to the next. */
#include "cache_folder.h"

#include <unistd.h>

enum ux_cache_wish ux_cache_wish(void)
{
	const char *wish = getenv("UNHEX_CACHE");
	if (!wish)
		return UX_CACHE_USUAL;
	return *wish && strcmp(wish, "off") != 0 ? UX_CACHE_ON : UX_CACHE_OFF;
}

static bool only_we_write(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool ux_cache_is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && only_we_write(st);
}

static bool is_our_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode) && only_we_write(&st);
}

/* The value of an environment variable that is an absolute path, and not the root: services have
 * that as their home. */
static const char *path_in(const char *variable)
{
	const char *path = secure_getenv(variable);
	return path && path[0] == '/' && path[1] ? path : NULL;
}

/* Makes the folder whose path is in out; where that fails, using it does. */
static void make(struct ux_out *out)
{
	ux_out_u8(out, 0);
	if (!out->failed)
		(void)mkdir((const char *)out->data, 0700);
	if (out->size > 0)
		out->size--;
}

static bool put_users(enum ux_cache_wish wish, struct ux_out *out)
{
	const char *cache = path_in("XDG_CACHE_HOME"), *home = path_in("HOME");
	const char *base = cache ? cache : home;
	if (!base || (wish == UX_CACHE_USUAL && !is_our_folder(base)))
		return false;
	ux_out_cstr(out, base);
	if (!cache) {
		ux_out_cstr(out, "/.cache");
		make(out);
	}
	ux_out_cstr(out, "/unhex");
	return true;
}

bool ux_cache_folder(enum ux_cache_wish wish, struct ux_out *out)
{
	const char *named = wish == UX_CACHE_ON ? getenv("UNHEX_CACHE") : NULL;
	if (wish == UX_CACHE_OFF)
		return false;
	if (named && strcmp(named, "on") != 0)
		ux_out_cstr(out, named);
	else if (!put_users(wish, out))
		return false;
	make(out);
	ux_out_u8(out, 0);
	if (out->failed || (wish == UX_CACHE_USUAL && !is_our_folder((const char *)out->data)))
		return false;
	out->data[out->size - 1] = '/';
	return true;
}
