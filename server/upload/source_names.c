/* SPDX-License-Identifier: Apache-2.0 */
/* Finds files of source packages by the ends of names in debug information. */
#include "source_names.h"

#include "partition.h"

#include <stdlib.h>

enum {
	/* least components that remain of a file's path that begins in the middle of a name */
	LEFT_MIN = 2,
};

static const char *tree_base(const char *path)
{
	return strrchr(path, '/') + 1;
}

struct tree_entry {
	const char *base;
	uint32_t number;
};

static int tree_entry_cmp(const void *x, const void *y)
{
	const struct tree_entry *a = x, *b = y;
	int order = strcmp(a->base, b->base);
	return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

enum ux_code ux_source_tree_make(const struct ux_packed_source *files, size_t n, const char *root,
				 struct ux_arena *arena, struct ux_source_tree *ret,
				 struct ux_error *err)
{
	struct ux_source_tree t = {.files = files, .root = strlen(root)};
	struct tree_entry *entries = ux_arena_array(arena, struct tree_entry, n + 1);
	t.by_base = ux_arena_array(arena, uint32_t, n + 1);
	if (!entries || !t.by_base)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < n; i++)
		if (strncmp(files[i].path, root, t.root) == 0 && files[i].path[t.root] == '/')
			entries[t.n++] = (struct tree_entry){tree_base(files[i].path), (uint32_t)i};
	qsort(entries, t.n, sizeof(*entries), tree_entry_cmp);
	for (size_t i = 0; i < t.n; i++)
		t.by_base[i] = entries[i].number;
	*ret = t;
	return UX_OK;
}

/* Skips n components at the front of a path; NULL: the path has only n components or fewer. */
static const char *tree_pass(const char *path, unsigned n)
{
	for (; path && n > 0; n--)
		path = strchr(path + 1, '/');
	return path;
}

const char *ux_source_name_of(const char *name)
{
	if (strncmp(name, "/build/", strlen("/build/")) == 0)
		return tree_pass(name, 3);
	if (strncmp(name, "/usr/src/", strlen("/usr/src/")) == 0)
		return tree_pass(name, 3);
	return strncmp(name, "/usr/", strlen("/usr/")) == 0 ? NULL : name;
}

/* How much a file and a name have in common. */
struct tree_match {
	unsigned common;           /* components at the end */
	bool file_ends, name_ends; /* nothing else is left of it */
};

/* Returns the length of a path without its last component and the slash before it. */
static size_t tree_cut(const char *path, size_t size)
{
	while (size > 0 && path[--size] != '/')
		;
	return size;
}

static struct tree_match tree_compare(const char *file, const char *name)
{
	struct tree_match m = {0};
	size_t a = strlen(file), b = strlen(name);
	while (a > 0 && b > 0) {
		size_t x = tree_cut(file, a), y = tree_cut(name, b);
		size_t from_x = x + (file[x] == '/'), from_y = y + (name[y] == '/');
		if (a - from_x != b - from_y ||
		    memcmp(file + from_x, name + from_y, a - from_x) != 0)
			break;
		m.common++;
		a = x;
		b = y;
	}
	m.file_ends = a == 0;
	m.name_ends = b == 0;
	return m;
}

/* Returns the first file whose last component is not less than the name's. */
static size_t tree_lower_bound(const struct ux_source_tree *t, const char *base)
{
	return ux_partition_point(i, 0, t->n,
				  strcmp(tree_base(t->files[t->by_base[i]].path), base) < 0);
}

bool ux_source_tree_find(const struct ux_source_tree *t, const char *given, bool relative,
			 size_t *ret)
{
	const char *name = relative ? given : ux_source_name_of(given);
	const char *base = name ? tree_base(name) : "";
	struct tree_match best = {0};
	size_t found = 0;
	unsigned as_good = 0;
	if (base[0] == '\0')
		return false;
	for (size_t i = tree_lower_bound(t, base); i < t->n; i++) {
		const char *path = t->files[t->by_base[i]].path;
		if (strcmp(tree_base(path), base) != 0)
			break;
		struct tree_match m = tree_compare(path + t->root, name);
		if (m.common < best.common)
			continue;
		bool better = m.common > best.common || (m.file_ends && !best.file_ends);
		as_good = better ? 1 : as_good + (m.file_ends == best.file_ends);
		if (better) {
			best = m;
			found = t->by_base[i];
		}
	}
	*ret = found;
	return as_good == 1 && (best.name_ends || (best.file_ends && best.common >= LEFT_MIN));
}
