/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of kernel modules. */
#include "module_tree.h"

#include "file.h"
#include "kernel.h"

#include <fts.h>
#include <limits.h>
#include <unistd.h>

enum {
	RELEASE_MAX = 255,   /* bytes of a release: shorter than a file name may be */
	ENTRIES_MAX = 65536, /* files and folders of one release that are visited */
};

bool ux_module_name(struct ux_bytes path, char name[static UX_MODULE_NAME_MAX])
{
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	struct ux_bytes s = path;
	if (slash)
		s = ux_bytes(slash + 1, path.size - (size_t)(slash + 1 - path.data));
	const uint8_t *end = s.size > 0 ? memmem(s.data, s.size, ".ko", 3) : NULL;
	if (end)
		s.size = (size_t)(end - s.data);
	else if (s.size > 2 && s.data[0] == '[' && s.data[s.size - 1] == ']')
		s = ux_bytes(s.data + 1, s.size - 2);
	else
		return false;
	if (s.size == 0 || s.size >= UX_MODULE_NAME_MAX)
		return false;
	for (size_t i = 0; i < s.size; i++)
		name[i] = s.data[i] == '-' ? '_' : (char)s.data[i];
	name[s.size] = 0;
	return true;
}

/* Returns whether a release can be the name of a folder. */
static bool module_release_is_name(struct ux_bytes release)
{
	return release.size > 0 && release.size <= RELEASE_MAX && release.data[0] != '.' &&
	       !memchr(release.data, '/', release.size) && !memchr(release.data, 0, release.size);
}

/* Returns a module's path by the folder's modules.dep. NULL: it is not listed, or the file is
 * missing. */
static char *module_tree_listed(const char *folder, const char *name)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping list = {0};
	char path[PATH_MAX];
	if (snprintf(path, sizeof(path), "%s/modules.dep", folder) >= PATH_MAX ||
	    ux_file_map(path, &list, NULL) != UX_OK)
		return NULL;
	struct ux_bytes found = ux_modules_dep_find(list.bytes, name);
	if (found.size == 0 || found.data[0] == '/' || found.size >= PATH_MAX ||
	    snprintf(path, sizeof(path), "%s/%.*s", folder, (int)found.size,
		     (const char *)found.data) >= PATH_MAX)
		return NULL;
	return access(path, R_OK) == 0 ? strdup(path) : NULL;
}

static int module_tree_compare(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void module_tree_close(FTS **tree)
{
	if (*tree)
		(void)fts_close(*tree);
}

/* Returns the first file of a module in a folder: an unpacked package has no modules.dep. */
static char *module_tree_walk(char *folder, const char *name)
{
	char *const folders[] = {folder, NULL};
	ux_cleanup(module_tree_close) FTS *tree =
		fts_open(folders, FTS_PHYSICAL | FTS_NOCHDIR | FTS_NOSTAT, module_tree_compare);
	const FTSENT *e = NULL;
	for (size_t n = 0; tree && n < ENTRIES_MAX && (e = fts_read(tree)); n++)
		if (e->fts_info != FTS_D && e->fts_info != FTS_DP &&
		    ux_module_path_is(ux_bytes(e->fts_path, e->fts_pathlen), name))
			return strdup(e->fts_path);
	return NULL;
}

enum ux_code ux_module_tree_find(struct ux_bytes root, struct ux_bytes release, const char *name,
				 char **ret, struct ux_error *err)
{
	static const char *const folders[] = {"/lib/modules", "/usr/lib/modules"};
	char *found = NULL;
	for (size_t i = 0; module_release_is_name(release) && !found && i < ux_countof(folders);
	     i++) {
		ux_cleanup(ux_free_ptr) char *folder = NULL;
		if (asprintf(&folder, "%.*s%s/%.*s", (int)ux_min(root.size, (size_t)PATH_MAX),
			     root.size > 0 ? (const char *)root.data : "", folders[i],
			     (int)release.size, (const char *)release.data) < 0) {
			folder = NULL;
			return ux_error_nomem(err);
		}
		found = module_tree_listed(folder, name);
		if (!found)
			found = module_tree_walk(folder, name);
	}
	if (!found)
		return ux_error_set(err, UX_ENOTFOUND, "no such module of that kernel was found");
	*ret = found;
	return UX_OK;
}
