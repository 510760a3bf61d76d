/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format of a source pack:
 *
 *     contents                      of all files, in any order
 *     table                         each file: offset u64, size u64, length of path u16, path
 *     offset of the table u64, number of files u32, version u32 (1), "UXSOURCE"
 *
 * Numbers are little-endian.
 */
#include "source_pack.h"

#include "cursor.h"
#include "path_canonical.h"

enum {
	VERSION = 1,
	ENTRY_MIN = 8 + 8 + 2,
	TAIL = 8 + 4 + 4 + 8,
};

static const char magic[8] = {'U', 'X', 'S', 'O', 'U', 'R', 'C', 'E'};
static const bool swapped = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;

enum ux_code ux_source_packer_put(struct ux_source_packer *p, struct ux_bytes content,
				  struct ux_error *err)
{
	UX_TRY(p->write(p->ctx, content, err));
	p->size += content.size;
	return UX_OK;
}

enum ux_code ux_source_packer_name(struct ux_source_packer *p, const char *path, uint64_t off,
				   struct ux_error *err)
{
	return ux_source_packer_entry(p, path, off, p->size - off, err);
}

enum ux_code ux_source_packer_entry(struct ux_source_packer *p, const char *path, uint64_t off,
				    uint64_t size, struct ux_error *err)
{
	size_t n = strlen(path);
	p->table.swap = swapped;
	if (p->count == UX_SOURCE_PACK_FILES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %u source files", p->count);
	if (p->table.size + ENTRY_MIN + n > UX_SOURCE_PACK_TABLE_MAX)
		return ux_error_set(err, UX_ELIMIT, "names of source files exceed %d bytes",
				    UX_SOURCE_PACK_TABLE_MAX);
	ux_out_u64(&p->table, off);
	ux_out_u64(&p->table, size);
	ux_out_u16(&p->table, (uint16_t)n);
	ux_out_put(&p->table, path, n);
	p->count++;
	return ux_out_status(&p->table, err);
}

enum ux_code ux_source_packer_end(struct ux_source_packer *p, struct ux_error *err)
{
	p->table.swap = swapped;
	ux_out_u64(&p->table, p->size);
	ux_out_u32(&p->table, p->count);
	ux_out_u32(&p->table, VERSION);
	ux_out_put(&p->table, magic, sizeof(magic));
	UX_TRY(ux_out_status(&p->table, err));
	return p->write(p->ctx, ux_out_bytes(&p->table), err);
}

void ux_source_packer_deinit(struct ux_source_packer *p)
{
	ux_out_deinit(&p->table);
}

/* Locates the table, which begins at *ret_end, the end of the contents. */
static enum ux_code source_pack_find_table(struct ux_bytes pack, struct ux_cur *ret,
					   uint32_t *ret_count, uint64_t *ret_end,
					   struct ux_error *err)
{
	struct ux_bytes tail = UX_BYTES_NONE, table = UX_BYTES_NONE;
	if (pack.size < TAIL)
		return ux_error_set(err, UX_ECORRUPT,
				    "pack of %zu bytes is too short for its trailer", pack.size);
	(void)ux_bytes_sub(pack, pack.size - TAIL, TAIL, &tail);
	struct ux_cur c = ux_cur_make(tail, "pack's end", swapped);
	uint64_t off = ux_cur_u64(&c);
	uint32_t count = ux_cur_u32(&c);
	if (ux_cur_u32(&c) != VERSION)
		ux_cur_bad(&c, "unknown version");
	if (!ux_bytes_eq(ux_cur_take(&c, sizeof(magic)), ux_bytes(magic, sizeof(magic))))
		ux_cur_bad(&c, "not a source pack");
	UX_TRY(ux_cur_status(&c, err));
	if (off > pack.size - TAIL || !ux_bytes_sub(pack, off, pack.size - TAIL - off, &table))
		return ux_error_set(err, UX_ECORRUPT, "the pack's table is after its end");
	if (count > UX_SOURCE_PACK_FILES_MAX || count > table.size / ENTRY_MIN)
		return ux_error_set(err, UX_ECORRUPT, "%u files in a table of %zu bytes", count,
				    table.size);
	*ret = ux_cur_make(table, "pack's table", swapped);
	*ret_count = count;
	*ret_end = off;
	return UX_OK;
}

static enum ux_code source_pack_read_entry(struct ux_cur *c, uint64_t end, struct ux_arena *arena,
					   struct ux_packed_source *ret, struct ux_error *err)
{
	const char *path = NULL;
	ret->off = ux_cur_u64(c);
	ret->size = ux_cur_u64(c);
	struct ux_bytes name = ux_cur_take(c, ux_cur_u16(c));
	UX_TRY(ux_cur_status(c, err));
	if (ret->off > end || ret->size > end - ret->off)
		return ux_error_set(err, UX_ECORRUPT, "a file exceeds its pack");
	UX_TRY(ux_path_canonical(name, arena, &path, err));
	if (!ux_bytes_eq(ux_bytes_cstr(path), name))
		return ux_error_set(err, UX_ECORRUPT, "a path in the pack is not canonical");
	ret->path = path;
	return UX_OK;
}

static int source_pack_by_path(const void *x, const void *y)
{
	const struct ux_packed_source *a = x, *b = y;
	int r = strcmp(a->path, b->path);
	return r != 0 ? r : (a->off > b->off) - (a->off < b->off);
}

/* Keeps only the last of the entries with the same path. */
static size_t source_pack_unique(struct ux_packed_source *list, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (i + 1 == n || strcmp(list[i].path, list[i + 1].path) != 0)
			list[kept++] = list[i];
	return kept;
}

enum ux_code ux_source_pack_read(struct ux_bytes pack, struct ux_arena *arena,
				 struct ux_packed_source **ret, size_t *ret_n, struct ux_error *err)
{
	struct ux_cur c;
	uint32_t count = 0;
	uint64_t end = 0;
	UX_TRY(source_pack_find_table(pack, &c, &count, &end, err));
	struct ux_packed_source *list =
		ux_arena_array(arena, struct ux_packed_source, (size_t)count + 1);
	if (!list)
		return ux_arena_fail(arena, err);
	for (uint32_t i = 0; i < count; i++)
		UX_TRY(source_pack_read_entry(&c, end, arena, &list[i], err));
	if (ux_cur_more(&c))
		return ux_error_set(err, UX_ECORRUPT, "more than %u files in the pack's table",
				    count);
	qsort(list, count, sizeof(*list), source_pack_by_path);
	*ret = list;
	*ret_n = source_pack_unique(list, count);
	return UX_OK;
}
