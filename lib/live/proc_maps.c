/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of a process, as /proc/PID/maps lists them. */
#include "proc_maps.h"

#include "partition.h"
#include "text.h"

#include <sys/sysmacros.h>

enum {
	PATHS_BUDGET = 128 << 20,
	MAPS_MAX = 1 << 20,
	PERM_SIZE = 4,
};

void ux_proc_maps_deinit(struct ux_proc_maps *m)
{
	ux_arena_deinit(&m->arena);
	ux_proc_map_list_deinit(&m->list);
	*m = (struct ux_proc_maps){0};
}

/* Parses a number and the character after it, and moves past both. */
static bool proc_map_parse_number(struct ux_bytes *s, unsigned base, char end, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = ux_digits_parse(*s, base, &v);
	if (i == 0 || i == s->size || s->data[i] != (uint8_t)end)
		return false;
	*s = ux_bytes(s->data + i + 1, s->size - i - 1);
	*ret = v;
	return true;
}

static bool proc_map_parse_inode(struct ux_bytes *s, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = ux_digits_parse(*s, 10, &v);
	if (i == 0 || (i < s->size && s->data[i] != ' '))
		return false;
	while (i < s->size && s->data[i] == ' ')
		i++;
	*s = ux_bytes(s->data + i, s->size - i);
	*ret = v;
	return true;
}

static bool proc_path_starts(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

static enum ux_proc_map_kind proc_map_classify(const struct ux_proc_map *m)
{
	static const char *const memory[] = {"/memfd:", "/anon_hugepage", "/SYSV", "/dev/zero"};
	const char *path = m->path;
	if (strcmp(path, "[vdso]") == 0)
		return UX_PROC_MAP_VDSO;
	if (strcmp(path, "[vsyscall]") == 0)
		return UX_PROC_MAP_VSYSCALL;
	if (*path == 0 || proc_path_starts(path, "[anon") || proc_path_starts(path, "//anon") ||
	    strcmp(path, "[heap]") == 0 || proc_path_starts(path, "[stack"))
		return UX_PROC_MAP_ANON;
	for (size_t i = 0; i < ux_countof(memory); i++)
		if (proc_path_starts(path, memory[i]))
			return UX_PROC_MAP_MEMORY;
	return *path == '/' && m->ino != 0 ? UX_PROC_MAP_FILE : UX_PROC_MAP_SPECIAL;
}

/* Copies the path with \012 turned into newlines; returns its size. */
static size_t proc_path_unescape(struct ux_bytes path, char *to)
{
	size_t n = 0;
	for (size_t i = 0; i < path.size; n++) {
		bool newline = path.size - i >= 4 && memcmp(path.data + i, "\\012", 4) == 0;
		to[n] = newline ? '\n' : (char)path.data[i];
		i += newline ? 4 : 1;
	}
	to[n] = 0;
	return n;
}

static bool proc_maps_add_path(struct ux_proc_maps *m, struct ux_bytes path,
			       struct ux_proc_map *map)
{
	static const char mark[] = " (deleted)";
	const size_t mark_size = sizeof(mark) - 1;
	const struct ux_proc_map_list *l = &m->list;
	char *text = ux_arena_array(&m->arena, char, path.size + 1);
	if (!text)
		return false;
	size_t n = proc_path_unescape(path, text);
	if (n > mark_size && memcmp(text + n - mark_size, mark, mark_size) == 0) {
		map->deleted = true;
		text[n - mark_size] = 0;
	}
	/* Mappings of one file are adjacent lines, so they share the string. */
	map->path = l->size > 0 && strcmp(l->data[l->size - 1].path, text) == 0
			    ? l->data[l->size - 1].path
			    : text;
	return true;
}

static bool proc_map_parse_line(struct ux_bytes s, struct ux_proc_map *map,
				struct ux_bytes *ret_path)
{
	uint64_t major = 0, minor = 0;
	*map = (struct ux_proc_map){0};
	if (!proc_map_parse_number(&s, 16, '-', &map->start) ||
	    !proc_map_parse_number(&s, 16, ' ', &map->end) || s.size <= PERM_SIZE ||
	    s.data[PERM_SIZE] != ' ')
		return false;
	map->exec = s.data[2] == 'x';
	s = ux_bytes(s.data + PERM_SIZE + 1, s.size - PERM_SIZE - 1);
	if (!proc_map_parse_number(&s, 16, ' ', &map->off) ||
	    !proc_map_parse_number(&s, 16, ':', &major) ||
	    !proc_map_parse_number(&s, 16, ' ', &minor) || !proc_map_parse_inode(&s, &map->ino))
		return false;
	map->dev = makedev((unsigned)major, (unsigned)minor);
	*ret_path = s;
	return map->end > map->start && major <= UINT32_MAX && minor <= UINT32_MAX &&
	       !(s.size > 0 && memchr(s.data, 0, s.size));
}

static enum ux_code proc_maps_add_line(struct ux_proc_maps *m, struct ux_bytes line,
				       struct ux_error *err)
{
	struct ux_proc_map map;
	struct ux_bytes path = UX_BYTES_NONE;
	const struct ux_proc_map_list *l = &m->list;
	if (!proc_map_parse_line(line, &map, &path) ||
	    (l->size > 0 && map.start < l->data[l->size - 1].end)) {
		m->skipped++;
		return UX_OK;
	}
	if (m->list.size == MAPS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d mappings", MAPS_MAX);
	if (!proc_maps_add_path(m, path, &map))
		return ux_arena_fail(&m->arena, err);
	map.kind = proc_map_classify(&map);
	return ux_proc_map_list_append(&m->list, map) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_proc_maps_parse(struct ux_bytes text, struct ux_proc_maps *ret,
				struct ux_error *err)
{
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps m = {0};
	*ret = (struct ux_proc_maps){0};
	ux_arena_init(&m.arena, PATHS_BUDGET);
	while (text.size > 0) {
		const uint8_t *end = memchr(text.data, '\n', text.size);
		size_t n = end ? (size_t)(end - text.data) : text.size;
		if (end)
			UX_TRY(proc_maps_add_line(&m, ux_bytes(text.data, n), err));
		else
			m.skipped++;
		n = ux_min(n + 1, text.size);
		text = ux_bytes(text.data + n, text.size - n);
	}
	*ret = m;
	m = (struct ux_proc_maps){0};
	return UX_OK;
}

bool ux_proc_maps_find(const struct ux_proc_maps *m, uint64_t addr, size_t *ret)
{
	size_t low = ux_partition_point(i, 0, m->list.size, m->list.data[i].start <= addr);
	if (low == 0 || addr >= m->list.data[low - 1].end)
		return false;
	*ret = low - 1;
	return true;
}
