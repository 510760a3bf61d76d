/* SPDX-License-Identifier: Apache-2.0 */
/* The paths at which files of a build ID and supplementary files may be. */
#include "debug_paths.h"

#include "path_base.h"
#include "search_path.h"
#include "text.h"

#include <stdlib.h>

bool ux_build_id_path(struct ux_bytes dir, const struct ux_id *id, const char *tail,
		      char ret[PATH_MAX])
{
	char hex[2 * UX_ID_BYTES_MAX + 1];
	ux_hex_encode(ux_bytes(id->bytes, id->size), hex);
	return id->size >= 2 && dir.size < PATH_MAX &&
	       snprintf(ret, PATH_MAX, "%.*s/.build-id/%.2s/%s%s", (int)dir.size,
			(const char *)dir.data, hex, hex + 2, tail) < PATH_MAX;
}

bool ux_perf_cache_path(const struct ux_id *id, const char *name, char ret[PATH_MAX])
{
	char dir[PATH_MAX], tail[32];
	const char *home = getenv("HOME");
	return home && *home == '/' && id->type == UX_ID_GNU &&
	       snprintf(dir, sizeof(dir), "%s/.debug", home) < PATH_MAX &&
	       snprintf(tail, sizeof(tail), "/%s", name) < (int)sizeof(tail) &&
	       ux_build_id_path(ux_bytes_cstr(dir), id, tail, ret);
}

bool ux_debug_paths_next(struct ux_debug_paths *p, char ret[PATH_MAX])
{
	const char *dir = NULL;
	size_t n = 0;
	while (ux_search_path_take(&p->dirs, &dir, &n))
		if (ux_build_id_path(ux_bytes(dir, n), p->id, ".debug", ret))
			return true;
	return false;
}

/* --- supplementary files ---------------------------------------------------------------------- */

/* Writes the link's path, from the folder of base if it is relative. */
static bool supplementary_beside(const struct ux_supplementary_paths *p, const char *base,
				 char ret[PATH_MAX])
{
	if (p->link[0] == '/')
		return snprintf(ret, PATH_MAX, "%s", p->link) < PATH_MAX;
	if (p->link[0] == '\0' || !base)
		return false;
	const char *slash = strrchr(base, '/');
	int folder = slash ? (int)ux_min((size_t)(slash - base), (size_t)PATH_MAX) : 1;
	return snprintf(ret, PATH_MAX, "%.*s/%s", folder, slash ? base : ".", p->link) < PATH_MAX;
}

static bool supplementary_dwz(const struct ux_supplementary_paths *p, struct ux_bytes dir,
			      char ret[PATH_MAX])
{
	static const char folder[] = "/.dwz/";
	const char *name = strstr(p->link, folder);
	name = name ? name + strlen(folder) : ux_path_base(p->link);
	return *name && dir.size < PATH_MAX &&
	       snprintf(ret, PATH_MAX, "%.*s%s%s", (int)dir.size, (const char *)dir.data, folder,
			name) < PATH_MAX;
}

static bool supplementary_try_dir(const struct ux_supplementary_paths *p, struct ux_bytes dir,
				  ux_debug_try_fn *try, void *ctx)
{
	char path[PATH_MAX];
	return (ux_build_id_path(dir, p->id, ".debug", path) && try(ctx, path)) ||
	       (supplementary_dwz(p, dir, path) && try(ctx, path));
}

bool ux_supplementary_paths_try(const struct ux_supplementary_paths *p, ux_debug_try_fn *try,
				void *ctx)
{
	char path[PATH_MAX];
	const char *tree = p->from ? strstr(p->from, "/.build-id/") : NULL, *dir = NULL;
	size_t n = 0;
	if ((supplementary_beside(p, p->from, path) && try(ctx, path)) ||
	    (p->link[0] != '/' && supplementary_beside(p, p->real, path) && try(ctx, path)) ||
	    (tree &&
	     supplementary_try_dir(p, ux_bytes(p->from, (size_t)(tree - p->from)), try, ctx)))
		return true;
	for (const char *rest = p->dirs; ux_search_path_take(&rest, &dir, &n);)
		if (supplementary_try_dir(p, ux_bytes(dir, n), try, ctx))
			return true;
	return false;
}
