/* SPDX-License-Identifier: Apache-2.0 */
/* Collects the source files of a module to push. */
#include "push_work.h"

#include "bundle.h"
#include "file.h"
#include "gsym_reader.h"
#include "path_canonical.h"

#include <limits.h>

enum {
	ARENA_MAX = 256 << 20 /* memory for paths */
};

/* One file: its name in the archive, and its path in the debug information. */
struct named {
	const char *path;
	const char *raw;
};

struct collecting {
	const struct ux_push_options *o;
	const struct ux_source_trees *trees;
	struct ux_push_sources *s;
	struct ux_bundle_writer writer;
	struct ux_arena arena;
	uint64_t bytes; /* size of the contents */
};

static void collecting_deinit(struct collecting *c)
{
	ux_bundle_writer_close(&c->writer);
	ux_arena_deinit(&c->arena);
}

void ux_push_sources_deinit(struct ux_push_sources *s)
{
	ux_out_deinit(&s->archive);
	*s = (struct ux_push_sources){0};
}

/* Cuts the next FROM=TO off the front of a list; false at the end. */
static bool prefix_next(struct ux_bytes *list, struct ux_bytes *ret_from, struct ux_bytes *ret_to)
{
	if (list->size == 0)
		return false;
	const uint8_t *colon = memchr(list->data, ':', list->size);
	struct ux_bytes one =
		ux_bytes(list->data, colon ? (size_t)(colon - list->data) : list->size);
	const uint8_t *equal = one.size > 0 ? memchr(one.data, '=', one.size) : NULL;
	size_t used = one.size + (colon != NULL);
	*list = ux_bytes(list->data + used, list->size - used);
	*ret_from = ux_bytes(one.data, equal ? (size_t)(equal - one.data) : 0);
	*ret_to = equal ? ux_bytes(equal + 1, one.size - ret_from->size - 1) : UX_BYTES_NONE;
	return true;
}

enum ux_code ux_push_prefixes_check(const char *prefixes, struct ux_error *err)
{
	struct ux_bytes list = ux_bytes_cstr(prefixes), from, to;
	while (prefix_next(&list, &from, &to))
		if (from.size == 0 || to.size == 0)
			return ux_error_set(err, UX_EINVAL,
					    "expected a source prefix FROM=TO, both non-empty");
	return UX_OK;
}

/* Returns whether the path begins with the folder. */
static bool prefix_matches(struct ux_bytes path, struct ux_bytes folder)
{
	if (!ux_bytes_starts(path, folder))
		return false;
	return path.size == folder.size || path.data[folder.size] == '/' ||
	       folder.data[folder.size - 1] == '/';
}

/* Returns the path on this machine; NULL: memory is short. */
static const char *source_local_path(struct collecting *c, const char *raw)
{
	struct ux_bytes list = ux_bytes_cstr(c->o->prefixes), from, to;
	struct ux_bytes path = ux_bytes_cstr(raw);
	while (prefix_next(&list, &from, &to)) {
		if (!prefix_matches(path, from))
			continue;
		size_t rest = path.size - from.size;
		char *text = ux_arena_array(&c->arena, char, to.size + rest + 1);
		if (!text)
			return NULL;
		memcpy(text, to.data, to.size);
		memcpy(text + to.size, raw + from.size, rest + 1);
		return text;
	}
	return raw;
}

enum ux_code ux_push_sources_trees(const struct ux_push_options *o, char *const *paths, size_t n,
				   struct ux_source_trees *ret, struct ux_error *err)
{
	struct ux_bytes list = ux_bytes_cstr(o->prefixes), from, to;
	char place[PATH_MAX];
	for (size_t i = 0; i < n; i++)
		UX_TRY(ux_source_trees_add_around(ret, paths[i], err));
	for (size_t i = 0; i < o->n_pids; i++) {
		snprintf(place, sizeof(place), "/proc/%d/exe", (int)o->pids[i]);
		UX_TRY(ux_source_trees_add_around(ret, place, err));
	}
	if (o->exe)
		UX_TRY(ux_source_trees_add_around(ret, o->exe, err));
	if (o->debug)
		UX_TRY(ux_source_trees_add_around(ret, o->debug, err));
	while (prefix_next(&list, &from, &to)) {
		snprintf(place, sizeof(place), "%.*s", (int)to.size, (const char *)to.data);
		UX_TRY(ux_source_trees_add(ret, place, err));
	}
	return ux_source_trees_add_around(ret, ".", err);
}

/*
 * Returns whether the name is a source file's. Only such files are sent: debug information is
 * untrusted and may name any file.
 */
static bool source_name_is_known(const char *path)
{
	static const char *const endings[] = {
		"c",    "cc",    "cpp",   "cxx",      "c++", "C",   "h",   "hh",   "hpp",   "hxx",
		"h++",  "H",     "i",     "ii",       "inc", "inl", "ipp", "tcc",  "tpp",   "def",
		"s",    "S",     "asm",   "y",        "yy",  "l",   "ll",  "lex",  "rs",    "go",
		"d",    "di",    "m",     "mm",       "f",   "F",   "for", "f77",  "f90",   "f95",
		"f03",  "f08",   "F90",   "adb",      "ads", "ada", "pas", "zig",  "nim",   "v",
		"hs",   "lhs",   "ml",    "mli",      "mll", "mly", "erl", "hrl",  "ex",    "exs",
		"jl",   "cr",    "kt",    "cs",       "cu",  "cuh", "cl",  "ptx",  "pyx",   "pxd",
		"pxi",  "py",    "rb",    "php",      "lua", "js",  "ts",  "java", "swift", "scala",
		"vala", "gperf", "proto", "template", "gen"};
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash : path, '.');
	if (!dot || dot[1] == '\0') /* no extension, like the C++ headers <vector> and <string> */
		return !dot && strstr(path, "/include/") != NULL;
	for (size_t i = 0; i < ux_countof(endings); i++)
		if (strcmp(dot + 1, endings[i]) == 0)
			return true;
	return false;
}

static int source_by_path(const void *x, const void *y)
{
	const struct named *a = x, *b = y;
	int r = strcmp(a->path, b->path);
	return r != 0 ? r : strcmp(a->raw, b->raw);
}

static const char *source_join(struct ux_arena *arena, const char *dir, const char *base)
{
	size_t n = strlen(dir), m = strlen(base);
	bool slash = n > 0 && dir[n - 1] != '/';
	char *text = ux_arena_array(arena, char, n + slash + m + 1);
	if (!text)
		return NULL;
	memcpy(text, dir, n);
	if (slash)
		text[n] = '/';
	memcpy(text + n + slash, base, m + 1);
	return text;
}

/* Lists all paths, sorted, without paths that lead above the root. */
static enum ux_code sources_list(struct collecting *c, const struct ux_gsym *g, struct named **ret,
				 size_t *ret_n, struct ux_error *err)
{
	struct named *list = ux_arena_array(&c->arena, struct named, (size_t)g->n_files + 1);
	size_t n = 0;
	for (uint32_t i = 1; list && i < g->n_files; i++) {
		const char *dir = NULL, *base = NULL;
		if (!ux_gsym_file(g, i, &dir, &base) || base[0] == '\0')
			continue;
		struct named one = {.raw = source_join(&c->arena, dir, base)};
		if (!one.raw)
			return ux_arena_fail(&c->arena, err);
		enum ux_code code =
			ux_path_of_source(ux_bytes_cstr(one.raw), &c->arena, &one.path, NULL);
		if (code == UX_OK)
			list[n++] = one;
		else if (code != UX_EINVAL)
			return ux_arena_fail(&c->arena, err);
		else
			c->s->left_out++;
	}
	if (!list)
		return ux_arena_fail(&c->arena, err);
	qsort(list, n, sizeof(*list), source_by_path);
	*ret = list;
	*ret_n = n;
	return UX_OK;
}

/* Maps a file of the trees. *ret_outside is set if it is outside of them. */
static bool source_try(const struct collecting *c, const char *place, struct ux_mapping *ret,
		       bool *ret_outside)
{
	ux_push_reading(c->o, place);
	enum ux_code code = ux_source_trees_map(c->trees, place, ret, NULL);
	*ret_outside |= code == UX_EDENIED;
	return code == UX_OK;
}

/*
 * Maps a file. Its path may lead through a folder that no longer exists, as in "build/../x.c", so
 * its canonical form is tried too.
 */
static enum ux_code source_map(struct collecting *c, const struct named *one,
			       struct ux_mapping *ret, bool *ret_here, bool *ret_outside,
			       struct ux_error *err)
{
	const char *place = source_local_path(c, one->raw), *plain = NULL;
	if (!place)
		return ux_arena_fail(&c->arena, err);
	*ret_here = source_try(c, place, ret, ret_outside);
	if (*ret_here)
		return UX_OK;
	enum ux_code code = ux_path_canonical(ux_bytes_cstr(place), &c->arena, &plain, NULL);
	if (code != UX_OK && code != UX_EINVAL) /* a relative path has no canonical form */
		return ux_arena_fail(&c->arena, err);
	*ret_here = code == UX_OK && strcmp(plain, place) != 0 &&
		    source_try(c, plain, ret, ret_outside);
	if (*ret_here || !c->o->prefixes)
		return UX_OK;
	/* FROM may be a prefix of the canonical form only */
	place = source_local_path(c, one->path);
	if (!place)
		return ux_arena_fail(&c->arena, err);
	*ret_here = source_try(c, place, ret, ret_outside);
	return UX_OK;
}

/* Adds a file to the archive. False: it does not exist here. */
static enum ux_code source_add(struct collecting *c, const struct named *one, bool *ret_here,
			       bool *ret_outside, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	UX_TRY(source_map(c, one, &file, ret_here, ret_outside, err));
	if (!*ret_here)
		return UX_OK;
	uint64_t size = file.bytes.size;
	if (size > UX_PUSH_SOURCE_MAX || c->s->files == UX_PUSH_SOURCES_MAX ||
	    c->bytes + size > UX_PUSH_SOURCES_BYTES_MAX) {
		c->s->left_out++;
		return UX_OK;
	}
	UX_TRY(ux_bundle_writer_add(&c->writer, one->path, file.bytes, err));
	c->bytes += size;
	c->s->files++;
	return UX_OK;
}

/* If one path is written in several ways, uses the first one that leads to a file. */
static enum ux_code sources_add_all(struct collecting *c, const struct named *list, size_t n,
				    struct ux_error *err)
{
	bool here = false, outside = false;
	for (size_t i = 0; i < n; i++) {
		bool again = i > 0 && strcmp(list[i - 1].path, list[i].path) == 0;
		bool last = i + 1 == n || strcmp(list[i + 1].path, list[i].path) != 0;
		if (again && here)
			continue;
		here = false;
		outside = again && outside;
		if (!source_name_is_known(list[i].path)) {
			c->s->left_out += last;
			continue;
		}
		UX_TRY(source_add(c, &list[i], &here, &outside, err));
		c->s->outside += last && !here && outside;
		c->s->missing += last && !here && !outside;
	}
	return UX_OK;
}

enum ux_code ux_push_sources_collect(struct ux_bytes gsym, const struct ux_push_options *o,
				     const struct ux_source_trees *trees,
				     struct ux_push_sources *ret, struct ux_error *err)
{
	ux_cleanup(collecting_deinit) struct collecting c = {.o = o, .trees = trees, .s = ret};
	struct ux_gsym g;
	struct named *list = NULL;
	size_t n = 0;
	ux_arena_init(&c.arena, ARENA_MAX);
	UX_TRY(ux_push_prefixes_check(o->prefixes, err));
	UX_TRY(ux_gsym_open(&g, gsym, err));
	UX_TRY(sources_list(&c, &g, &list, &n, err));
	UX_TRY(ux_bundle_writer_open(&c.writer, &ret->archive, UX_PUSH_BUNDLE_MAX, err));
	UX_TRY(sources_add_all(&c, list, n, err));
	if (ret->files == 0 && ret->outside > 0)
		return ux_error_set(err, UX_ENOTFOUND,
				    "none of its %zu source files was found in the pushed trees, "
				    "%" PRIu64 " outside; --source-prefix DIR=DIR allows more",
				    n, ret->outside);
	if (ret->files == 0)
		return ux_error_set(err, UX_ENOTFOUND, "none of its %zu source files was found", n);
	return ux_bundle_writer_end(&c.writer, err);
}
