/* SPDX-License-Identifier: Apache-2.0 */
/* A source file's path. */
#include "source_path.h"

/* POSIX, or a drive letter: cross compilers leave Windows paths. */
static bool path_is_absolute(const char *path)
{
	if (path[0] == '/' || path[0] == '\\')
		return true;
	return ((path[0] | 0x20) >= 'a' && (path[0] | 0x20) <= 'z') && path[1] == ':';
}

static bool path_is_empty(const char *s)
{
	return !s || s[0] == '\0';
}

/* Appends "/" unless there is one, and part. */
static char *path_append(char *at, const char *begin, const char *part, size_t n)
{
	if (at > begin && at[-1] != '/')
		*at++ = '/';
	memcpy(at, part, n);
	return at + n;
}

/* The directory of a name whose own part of the path has `n` bytes (up to its last slash, or 0). */
static const char *path_make_dir(const struct ux_code_path *p, size_t n, struct ux_arena *arena,
				 uint64_t *left)
{
	bool name_absolute = path_is_absolute(p->name);
	bool use_dir = !name_absolute && !path_is_empty(p->dir);
	bool use_comp = !name_absolute && !path_is_empty(p->comp_dir) &&
			!(use_dir && path_is_absolute(p->dir));
	if (!use_comp && n == 0)
		return use_dir ? p->dir : "";
	if (use_comp && !use_dir && n == 0)
		return p->comp_dir;
	size_t comp = use_comp ? strlen(p->comp_dir) : 0;
	size_t dir = use_dir ? strlen(p->dir) : 0;
	size_t need = comp + dir + n + 3;
	if (need > *left) {
		*left = 0;
		return use_dir ? p->dir : "";
	}
	*left -= need;
	char *text = ux_arena_alloc(arena, need, 1);
	if (!text)
		return NULL;
	char *at = text;
	if (use_comp)
		at = path_append(at, text, p->comp_dir, comp);
	if (use_dir)
		at = path_append(at, text, p->dir, dir);
	if (n > 0)
		at = path_append(at, text, p->name, n);
	*at = '\0';
	return text;
}

bool ux_source_path_split(const struct ux_code_path *path, struct ux_arena *arena, uint64_t *left,
			  struct ux_code_path *last, const char **last_dir,
			  struct ux_code_file *ret)
{
	const char *slash = strrchr(path->name, '/');
	ret->base = slash ? slash + 1 : path->name;
	/* A slash at the very front is the directory's own name. */
	size_t n = !slash ? 0 : slash == path->name ? 1 : (size_t)(slash - path->name);
	if (n == 0 && *last_dir && last->comp_dir == path->comp_dir && last->dir == path->dir) {
		ret->dir = *last_dir;
		return true;
	}
	ret->dir = path_make_dir(path, n, arena, left);
	if (n == 0) {
		*last = *path;
		*last_dir = ret->dir;
	}
	return ret->dir != NULL;
}
