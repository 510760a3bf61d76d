/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks an uploaded bundle of sources into files of the index. */
#include "extract_job.h"

#include "debian_source.h"
#include "gsym_reader.h"
#include "path_canonical.h"
#include "source_names.h"
#include "source_pack.h"
#include "vec.h"

#include <unistd.h>

enum {
	ARENA_MAX = 256 << 20, /* memory for paths and rows of UX_SOURCE_PACK_FILES_MAX files */
	BLOCKS = UX_SOURCE_PACK_TABLE_MAX + (1 << 20) /* bytes of a pack without its contents */
};

static enum ux_code sources_unpack(struct ux_store *s, const struct ux_candidate *c,
				   struct ux_sandbox_limits limits, const char *program,
				   int scratch, struct ux_error *err)
{
	int archive = -1;
	limits.output = UX_SOURCES_BYTES_MAX + BLOCKS;
	UX_TRY(ux_blobs_open(s->blobs, &c->blob, c->size, &archive, err));
	enum ux_code code = ux_sandbox_unpack(archive, scratch, &limits, program, err);
	close(archive);
	return code;
}

UX_VEC(source_rows, struct ux_source);

/* The index entries for a pack. */
struct source_naming {
	const struct ux_packed_source *files;
	struct ux_blob_hash blob;
	uint64_t blob_size;
	struct ux_source_tree tree;
	struct source_rows rows;
	struct ux_arena *arena;
	struct ux_error *err;
};

static enum ux_code naming_add(struct source_naming *n, const char *path, size_t file)
{
	const struct ux_source row = {.path = path,
				      .blob = n->blob,
				      .blob_size = n->blob_size,
				      .off = n->files[file].off,
				      .size = n->files[file].size};
	return source_rows_append(&n->rows, row) ? UX_OK : ux_error_nomem(n->err);
}

/* Adds a row under a name from debug information, if it is a file of the package. */
static enum ux_code naming_add_name(struct source_naming *n, struct ux_bytes name)
{
	const char *path = NULL;
	size_t file = 0;
	enum ux_code code = ux_path_of_source(name, n->arena, &path, NULL);
	if (code == UX_EINVAL)
		return UX_OK;
	if (code != UX_OK)
		return ux_arena_fail(n->arena, n->err);
	bool relative = name.size > 0 && name.data[0] != '/';
	if (!ux_source_tree_find(&n->tree, path, relative, &file) ||
	    strcmp(n->files[file].path, path) == 0)
		return UX_OK;
	return naming_add(n, path, file);
}

static enum ux_code naming_add_gsym(struct source_naming *n, struct ux_bytes file)
{
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	struct ux_gsym g;
	if (ux_gsym_open(&g, file, NULL) != UX_OK)
		return UX_OK;
	for (uint32_t i = 1; i < g.n_files; i++) {
		const char *dir = NULL, *base = NULL;
		if (n->rows.size >= UX_SOURCES_MAX)
			break;
		if (!ux_gsym_file(&g, i, &dir, &base))
			continue;
		ux_out_reset(&name);
		ux_out_path(&name, ux_bytes_cstr(dir), ux_bytes_cstr(base));
		UX_TRY(ux_out_status(&name, n->err));
		UX_TRY(naming_add_name(n, ux_out_bytes(&name)));
	}
	return UX_OK;
}

/*
 * Names the files of a source package as the module's symbols do. Without symbols they have only
 * their own names.
 */
static enum ux_code naming_add_names(struct source_naming *n, struct ux_store *s,
				     const struct ux_module *m, const char *requested)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	const struct ux_candidate *c = m ? ux_module_best(m, UX_KIND_GSYM) : NULL;
	if (requested)
		UX_TRY(naming_add_name(n, ux_bytes_cstr(requested)));
	if (!c || ux_blobs_map(s->blobs, &c->blob, c->size, &file, NULL) != UX_OK)
		return UX_OK;
	return naming_add_gsym(n, file.bytes);
}

static int source_row_cmp(const void *x, const void *y)
{
	const struct ux_source *a = x, *b = y;
	return strcmp(a->path, b->path);
}

/* Sorts the entries and removes duplicates: the index has a path once for each candidate. */
static void naming_sort(struct source_naming *n)
{
	size_t kept = 0;
	qsort(n->rows.data, n->rows.size, sizeof(*n->rows.data), source_row_cmp);
	for (size_t i = 0; i < n->rows.size; i++)
		if (kept == 0 || strcmp(n->rows.data[kept - 1].path, n->rows.data[i].path) != 0)
			n->rows.data[kept++] = n->rows.data[i];
	n->rows.size = kept;
}

enum ux_code ux_source_unpack(struct ux_store *s, const struct ux_candidate *c,
			      const struct ux_module *m, const char *requested,
			      struct ux_sandbox_limits limits, const char *program, int scratch,
			      struct ux_error *err)
{
	UX_ARENA(arena, ARENA_MAX);
	ux_cleanup(ux_file_unmap) struct ux_mapping pack = {0};
	struct ux_packed_source *files = NULL;
	char root[UX_DEBIAN_SOURCE_NAME];
	size_t n = 0;
	UX_TRY(sources_unpack(s, c, limits, program, scratch, err));
	UX_TRY(ux_file_map_fd(scratch, &pack, err));
	UX_TRY(ux_source_pack_read(pack.bytes, &arena, &files, &n, err));
	struct source_naming naming = {.files = files,
				       .blob = ux_blob_hash_of(pack.bytes),
				       .blob_size = pack.bytes.size,
				       .arena = &arena,
				       .err = err};
	enum ux_code code = UX_OK;
	for (size_t i = 0; i < n && code == UX_OK; i++)
		code = naming_add(&naming, files[i].path, i);
	if (code == UX_OK && ux_debian_source_root(c->file_name, root)) {
		code = ux_source_tree_make(files, n, root, &arena, &naming.tree, err);
		if (code == UX_OK)
			code = naming_add_names(&naming, s, m, requested);
		if (code == UX_OK)
			naming_sort(&naming);
	}
	if (code == UX_OK)
		code = ux_store_commit_sources(s, c->number, pack.bytes, &naming.blob,
					       naming.rows.data, naming.rows.size, err);
	source_rows_deinit(&naming.rows);
	return code;
}
