/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an uploaded bundle of sources into files of the index. */
#include "extract_job.h"

#include "source_pack.h"

#include <unistd.h>

enum {
	ARENA_MOST = 256 << 20, /* memory for paths and rows of UX_SOURCE_PACK_FILES_MOST files */
	BLOCKS = UX_SOURCE_PACK_TABLE_MOST + (1 << 20) /* size of a pack without its contents */
};

static enum ux_code sources_unpack(struct ux_store *s, const struct ux_candidate *c,
				   struct ux_sandbox_limits limits, const char *program,
				   int scratch, struct ux_error *err)
{
	int archive = -1;
	limits.output = UX_SOURCES_BYTES_MOST + BLOCKS;
	UX_TRY(ux_blobs_open(s->blobs, &c->blob, c->size, &archive, err));
	enum ux_code code = ux_sandbox_unpack(archive, scratch, &limits, program, err);
	close(archive);
	return code;
}

static struct ux_source *sources_make_rows(const struct ux_packed_source *files, size_t n,
					   const struct ux_blob_hash *blob, uint64_t blob_size,
					   struct ux_arena *arena)
{
	struct ux_source *rows = ux_arena_array(arena, struct ux_source, n + 1);
	for (size_t i = 0; rows && i < n; i++)
		rows[i] = (struct ux_source){.path = files[i].path,
					     .blob = *blob,
					     .blob_size = blob_size,
					     .off = files[i].off,
					     .size = files[i].size};
	return rows;
}

enum ux_code ux_source_unpack(struct ux_store *s, const struct ux_candidate *c,
			      struct ux_sandbox_limits limits, const char *program, int scratch,
			      struct ux_error *err)
{
	UX_ARENA(arena, ARENA_MOST);
	ux_cleanup(ux_file_unmap) struct ux_mapping pack = {0};
	struct ux_packed_source *files = NULL;
	size_t n = 0;
	UX_TRY(sources_unpack(s, c, limits, program, scratch, err));
	UX_TRY(ux_file_map_fd(scratch, &pack, err));
	UX_TRY(ux_source_pack_read(pack.bytes, &arena, &files, &n, err));
	struct ux_blob_hash blob = ux_blob_hash_of(pack.bytes);
	const struct ux_source *rows = sources_make_rows(files, n, &blob, pack.bytes.size, &arena);
	if (!rows)
		return ux_arena_fail(&arena, err);
	return ux_store_commit_sources(s, c->number, pack.bytes, &blob, rows, n, err);
}
