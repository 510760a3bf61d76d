/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a unit by address, and the paths of its files. */
#include "code_unit.h"

#include "partition.h"

const struct ux_code_sequence *ux_code_lines_sequence(const struct ux_code_lines *lines,
						      uint64_t off, uint64_t pc)
{
	const struct ux_code_sequence *s = lines->whole;
	size_t lo = ux_partition_point(i, 0, lines->n_whole, s[i].off < off);
	if (lo < lines->n_whole && s[lo].off == off)
		return s[lo].lo <= pc && pc < s[lo].hi ? &s[lo] : NULL;
	lo = ux_code_lines_from(lines, pc);
	s = lines->sequences;
	return lo < lines->n_sequences && s[lo].off == off && s[lo].lo <= pc ? &s[lo] : NULL;
}

size_t ux_code_lines_from(const struct ux_code_lines *lines, uint64_t pc)
{
	return ux_partition_point(i, 0, lines->n_sequences, lines->sequences[i].hi <= pc);
}

/*
 * Returns whether the path is absolute in POSIX, or has a drive letter, as cross compilers for
 * Windows write it.
 */
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

/* Appends part, after a "/" unless `at` already ends with one. */
static char *path_append(char *at, const char *begin, const char *part, size_t n)
{
	if (at > begin && at[-1] != '/')
		*at++ = '/';
	memcpy(at, part, n);
	return at + n;
}

/*
 * Makes the directory of a file. Its name contributes the first `n` bytes of its text (up to its
 * last slash, or 0).
 */
static const char *path_make_dir(const struct ux_code_path *p, size_t n, struct ux_arena *arena,
				 struct ux_budget *budget)
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
	if (!ux_budget_charge(budget, need))
		return use_dir ? p->dir : "";
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

bool ux_code_path_split(const struct ux_code_path *path, struct ux_arena *arena,
			struct ux_budget *budget, struct ux_code_last_dir *last,
			struct ux_code_file *ret)
{
	const char *slash = strrchr(path->name, '/');
	ret->base = slash ? slash + 1 : path->name;
	/* For a file in the root, the directory is the slash itself. */
	size_t n = !slash ? 0 : slash == path->name ? 1 : (size_t)(slash - path->name);
	if (n == 0 && last->text && last->from.comp_dir == path->comp_dir &&
	    last->from.dir == path->dir) {
		ret->dir = last->text;
		return true;
	}
	ret->dir = path_make_dir(path, n, arena, budget);
	if (n == 0)
		*last = (struct ux_code_last_dir){*path, ret->dir};
	return ret->dir != NULL;
}
