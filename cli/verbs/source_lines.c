/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of source files. */
#include "disas_out.h"

#include "file.h"
#include "hash.h"
#include "map.h"
#include "vec.h"

UX_VEC(line_starts, uint32_t);

/* A source file that was searched for; not mapped if it is not here. */
struct source_file {
	struct ux_mapping file;
	struct line_starts starts;
};

/* The two texts of a path belong to the caller's symbols, which live longer. */
struct source_key {
	const char *dir, *base;
};

static inline uint64_t source_key_hash(struct source_key k)
{
	return ux_hash_mix(ux_hash_bytes(ux_bytes_cstr(k.dir)),
			   ux_hash_bytes(ux_bytes_cstr(k.base)));
}

static inline bool source_key_eq(struct source_key a, struct source_key b)
{
	return strcmp(a.dir, b.dir) == 0 && strcmp(a.base, b.base) == 0;
}

UX_MAP(source_files, struct source_key, struct source_file, source_key_hash, source_key_eq);

struct ux_source_lines {
	const struct ux_option_each *maps;
	struct source_files files;
};

struct ux_source_lines *ux_source_lines_create(const struct ux_option_each *maps)
{
	struct ux_source_lines *s = calloc(1, sizeof(*s));
	if (s)
		s->maps = maps;
	return s;
}

void ux_source_lines_destroy(struct ux_source_lines *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->files.cap; i++) {
		ux_file_unmap(&s->files.entries[i].value.file);
		line_starts_deinit(&s->files.entries[i].value.starts);
	}
	source_files_deinit(&s->files);
	free(s);
}

bool ux_source_map_is_valid(const char *map)
{
	const char *equals = strchr(map, '=');
	return equals && equals > map && equals[1] != '\0';
}

/* Returns whether FROM, of n bytes, is path or a folder that contains it. */
static bool source_is_below(const char *path, const char *from, size_t n)
{
	return strncmp(path, from, n) == 0 &&
	       (path[n] == '/' || path[n] == '\0' || from[n - 1] == '/');
}

/* Returns the path on this machine, malloc'ed; NULL: out of memory. */
static char *source_path(const struct ux_source_lines *s, const char *dir, const char *base)
{
	char *path = NULL, *mapped = NULL;
	size_t n = strlen(dir);
	if (asprintf(&path, "%s%s%s", dir, n > 0 && dir[n - 1] != '/' ? "/" : "", base) < 0)
		return NULL;
	for (size_t i = 0; i < s->maps->n; i++) {
		const char *equals = strchr(s->maps->items[i], '=');
		size_t from = (size_t)(equals - s->maps->items[i]);
		if (!source_is_below(path, s->maps->items[i], from))
			continue;
		if (asprintf(&mapped, "%s%s", equals + 1, path + from) < 0)
			mapped = NULL;
		free(path);
		return mapped;
	}
	return path;
}

static void source_find_lines(struct source_file *f)
{
	struct ux_bytes bytes = f->file.bytes;
	if (bytes.size > 0)
		(void)line_starts_append(&f->starts, 0);
	for (size_t i = 0; i + 1 < bytes.size; i++)
		if (bytes.data[i] == '\n' && !line_starts_append(&f->starts, (uint32_t)(i + 1)))
			return;
}

static const struct source_file *source_open(struct ux_source_lines *s, const char *dir,
					     const char *base)
{
	bool fresh = false;
	struct source_key key = {dir, base};
	struct source_file *f = source_files_find(&s->files, key);
	if (f || s->files.size >= UX_SOURCE_LINES_FILES)
		return f;
	ux_cleanup(ux_free_ptr) char *path = source_path(s, dir, base);
	f = path ? source_files_insert(&s->files, key, &fresh) : NULL;
	if (!f || ux_file_map(path, &f->file, NULL) != UX_OK)
		return f;
	if (f->file.bytes.size > UX_SOURCE_LINES_BYTES)
		ux_file_unmap(&f->file);
	source_find_lines(f);
	return f;
}

bool ux_source_lines_get(struct ux_source_lines *s, const char *dir, const char *base,
			 uint32_t line, struct ux_bytes *ret)
{
	const struct source_file *f = *base != '\0' && line > 0 ? source_open(s, dir, base) : NULL;
	if (!f || line > f->starts.size)
		return false;
	uint32_t start = f->starts.data[line - 1];
	size_t end = line < f->starts.size ? f->starts.data[line] : f->file.bytes.size;
	struct ux_bytes text = ux_bytes(f->file.bytes.data + start, end - start);
	while (text.size > 0 &&
	       (text.data[text.size - 1] == '\n' || text.data[text.size - 1] == '\r'))
		text.size--;
	*ret = text;
	return true;
}
