/* SPDX-License-Identifier: Apache-2.0 */
/* Source files of modules, found by the path in the debug information. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(sources, struct ux_source);

UX_SQL(sql_source_add, "INSERT INTO sources (module, path, candidate, blob, off, size) "
		       "SELECT module, :path, number, :blob, :off, :size FROM candidates "
		       "WHERE number = :candidate");

static enum ux_code source_insert(struct ux_db *db, int64_t candidate, const struct ux_source *s,
				  struct ux_error *err)
{
	uint64_t n = 0;
	UX_TRY(ux_blob_row_add(db, &s->blob, s->blob_size, err));
	UX_STMT(st, db, &sql_source_add);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	ux_stmt_bind_text(&st, ":path", s->path);
	ux_stmt_bind_bytes(&st, ":blob", s->blob.bytes, sizeof(s->blob.bytes));
	ux_stmt_bind_int(&st, ":off", (int64_t)s->off);
	ux_stmt_bind_int(&st, ":size", (int64_t)s->size);
	UX_TRY(ux_stmt_run(&st, &n, err));
	return n > 0 ? UX_OK : ux_error_set(err, UX_ENOTFOUND, "no such candidate");
}

UX_SQL(sql_sources_clear, "DELETE FROM sources WHERE candidate = :candidate");

static enum ux_code sources_put(struct ux_index *ix, int64_t candidate,
				const struct ux_source *sources, size_t n, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	if (n > UX_SOURCES_MAX)
		return ux_error_set(err, UX_ELIMIT, "%zu source files exceed the limit of %d", n,
				    UX_SOURCES_MAX);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_STMT(st, db, &sql_sources_clear);
	ux_stmt_bind_int(&st, ":candidate", candidate);
	UX_TRY(ux_stmt_run(&st, NULL, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(source_insert(db, candidate, &sources[i], err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code source_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_source *ret,
				struct ux_error *err)
{
	*ret = (struct ux_source){
		.path = ux_stmt_get_text(st, 0, arena),
		.blob_size = (uint64_t)ux_stmt_get_int(st, 2),
		.off = (uint64_t)ux_stmt_get_int(st, 3),
		.size = (uint64_t)ux_stmt_get_int(st, 4),
		.bundle = "",
	};
	if (!ret->path)
		return ux_arena_fail(arena, err);
	return ux_stmt_get_bytes(st, 1, ret->blob.bytes, sizeof(ret->blob.bytes), err);
}

UX_SQL(sql_source_find,
       "SELECT s.path, s.blob, b.size, s.off, s.size, c.file_name, c.created, " UX_SQL_ID_FITS("i.") ", " UX_SQL_SOURCE_FITS(
	       "s.") " FROM ids i "
		     "JOIN sources s ON s.module = i.module LEFT JOIN blobs b ON b.hash = s.blob "
		     "LEFT JOIN candidates c ON c.number = s.candidate WHERE i.ns = :ns AND i.id = :id "
		     "AND s.path = :path ORDER BY s.candidate DESC LIMIT 1");

static enum ux_code source_find(struct ux_index *ix, const char *ns, const char *id,
				const char *path, struct ux_arena *arena, struct ux_source *ret,
				struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_source_find);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", id);
	ux_stmt_bind_text(&st, ":path", path);
	UX_TRY(ux_stmt_step(&st, &row, err));
	if (!row)
		return ux_error_set(err, UX_ENOTFOUND, "%.60s has no source file %.90s", id, path);
	if (ux_stmt_get_int(&st, 7) == 0)
		return ux_row_fail_damaged("ids", id, err);
	if (ux_stmt_get_int(&st, 8) == 0)
		return ux_row_fail_damaged("sources", path, err);
	UX_TRY(source_read(&st, arena, ret, err));
	ret->bundle = ux_stmt_get_text(&st, 5, arena);
	ret->created = ux_stmt_get_int(&st, 6);
	return ret->bundle ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_source_page,
       "SELECT s.path, s.blob, b.size, s.off, s.size FROM sources s "
       "JOIN blobs b ON b.hash = s.blob WHERE s.module = :module AND s.path > :after "
       "AND s.candidate = (SELECT max(n.candidate) FROM sources n "
       "WHERE n.module = s.module AND n.path = s.path) ORDER BY s.path LIMIT :limit");

static enum ux_code source_list(struct ux_index *ix, int64_t module, const char *after,
				size_t limit, struct ux_arena *arena, struct ux_source_list *ret,
				struct ux_error *err)
{
	ux_cleanup(sources_deinit) struct sources v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_source_page);
	ux_stmt_bind_int(&st, ":module", module);
	ux_stmt_bind_text(&st, ":after", after);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && v.size < limit) {
		struct ux_source s;
		UX_TRY(source_read(&st, arena, &s, err));
		if (!sources_append(&v, s))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->more = row;
	ret->n = v.size;
	ret->sources = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->sources ? UX_OK : ux_arena_fail(arena, err);
}

void ux_sources_init(struct ux_index *ix)
{
	ix->sources.put = sources_put;
	ix->sources.find = source_find;
	ix->sources.list = source_list;
}
