/* SPDX-License-Identifier: Apache-2.0 */
/* The file that dwz moved a debug file's common entries to. */
#include "supplementary.h"

#include "cursor.h"
#include "debug_file.h"

#include <limits.h>

enum ux_code ux_supplementary_link(const struct ux_elf *elf, struct ux_supplementary_link *ret,
				   struct ux_error *err)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, ".gnu_debugaltlink");
	struct ux_bytes raw = UX_BYTES_NONE;
	*ret = (struct ux_supplementary_link){.path = ""};
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_section_raw(elf, s, &raw, err));
	struct ux_cur c = ux_cur_make(raw, ".gnu_debugaltlink", elf->swap);
	struct ux_bytes path = ux_cur_str(&c);
	struct ux_bytes id = ux_cur_take(&c, ux_cur_left(&c));
	UX_TRY(ux_cur_status(&c, err));
	if (path.size == 0)
		return ux_error_at(err, UX_ECORRUPT, c.section, 0, "path is empty");
	UX_TRY(ux_id_make(UX_ID_GNU, id, &ret->id, err));
	ret->path = (const char *)path.data;
	return UX_OK;
}

static bool supplementary_try_path(const char *path, const struct ux_id *id, struct ux_mapping *ret)
{
	const char *why = NULL;
	return ux_debug_map_id(path, id, ret, &why);
}

/* "FOLDER OF base" "/" path; false when that is too long for a path. */
static bool supplementary_beside(char *out, const char *base, const char *path)
{
	const char *slash = strrchr(base, '/');
	int folder = slash ? (int)ux_min((size_t)(slash - base), (size_t)PATH_MAX) : 1;
	return snprintf(out, PATH_MAX, "%.*s/%s", folder, slash ? base : ".", path) < PATH_MAX;
}

/* The debug file is often met through a link of .build-id: what it says counts from its real place.
 */
static bool supplementary_try_link(const struct ux_supplementary_link *link, const char *debug_path,
				   struct ux_mapping *ret)
{
	char path[PATH_MAX];
	ux_cleanup(ux_free_ptr) char *real = realpath(debug_path, NULL);
	if (link->path[0] == '/')
		return supplementary_try_path(link->path, &link->id, ret);
	return (supplementary_beside(path, debug_path, link->path) &&
		supplementary_try_path(path, &link->id, ret)) ||
	       (real && supplementary_beside(path, real, link->path) &&
		supplementary_try_path(path, &link->id, ret));
}

static bool supplementary_try_dir(const struct ux_supplementary_link *link, const char *dir,
				  int dir_size, struct ux_mapping *ret)
{
	char path[PATH_MAX];
	const char *name = strstr(link->path, "/.dwz/");
	const char *slash = strrchr(link->path, '/');
	if (ux_debug_id_path(path, dir, (size_t)dir_size, &link->id) &&
	    supplementary_try_path(path, &link->id, ret))
		return true;
	name = name ? name + strlen("/.dwz/") : slash ? slash + 1 : link->path;
	return snprintf(path, sizeof(path), "%.*s/.dwz/%s", dir_size, dir, name) < PATH_MAX &&
	       supplementary_try_path(path, &link->id, ret);
}

/* A debug file of a tree that was unpacked somewhere has its neighbours in that tree. */
static bool supplementary_try_tree(const struct ux_supplementary_link *link, const char *debug_path,
				   struct ux_mapping *ret)
{
	const char *tree = strstr(debug_path, "/.build-id/");
	return tree && tree - debug_path < PATH_MAX &&
	       supplementary_try_dir(link, debug_path, (int)(tree - debug_path), ret);
}

enum ux_code ux_supplementary_find(struct ux_bytes debug, const char *debug_path, const char *dirs,
				   struct ux_mapping *ret, struct ux_error *err)
{
	struct ux_supplementary_link link;
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_elf_open(&elf, debug, err));
	UX_TRY(ux_supplementary_link(&elf, &link, err));
	if (link.path[0] == '\0' || supplementary_try_link(&link, debug_path, ret) ||
	    supplementary_try_tree(&link, debug_path, ret))
		return UX_OK;
	for (const char *dir = dirs ? dirs : UX_DEBUG_DIRS_DEFAULT; *dir != '\0';) {
		size_t n = strcspn(dir, ":");
		if (n > 0 && n < PATH_MAX && supplementary_try_dir(&link, dir, (int)n, ret))
			return UX_OK;
		dir += n + (dir[n] == ':');
	}
	return ux_error_set(err, UX_ENOTFOUND,
			    "supplementary file %.96s is not there, or of another build ID",
			    link.path);
}
