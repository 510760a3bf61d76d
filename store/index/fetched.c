/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of upstreams and their expiry. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(fetched_rows, struct ux_fetched);

/* Columns in the order in which fetched_read() reads them. */
#define FETCHED_COLUMNS                                                                    \
	"ns, upstream, id, artifact, outcome, status, reason, queried, expires, took_ms, " \
	"blob, size, file_name "

UX_SQL(sql_fetched_drop, "DELETE FROM fetched WHERE ns = :ns AND id = :id AND artifact = :artifact "
			 "AND upstream = :upstream");

static enum ux_code fetched_delete(struct ux_db *db, const struct ux_fetched *a,
				   struct ux_error *err)
{
	UX_STMT(st, db, &sql_fetched_drop);
	ux_stmt_bind_text(&st, ":ns", a->ns);
	ux_stmt_bind_text(&st, ":id", a->id);
	ux_stmt_bind_text(&st, ":artifact", a->artifact);
	ux_stmt_bind_text(&st, ":upstream", a->upstream);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_fetched_put,
       "INSERT INTO fetched (" FETCHED_COLUMNS ") "
       "VALUES (:ns, :upstream, :id, :artifact, :outcome, :status, :reason, :queried, "
       ":expires, :took_ms, :blob, :size, :file_name)");

static enum ux_code fetched_insert(struct ux_db *db, const struct ux_fetched *a,
				   struct ux_error *err)
{
	UX_STMT(st, db, &sql_fetched_put);
	ux_stmt_bind_text(&st, ":ns", a->ns);
	ux_stmt_bind_text(&st, ":upstream", a->upstream);
	ux_stmt_bind_text(&st, ":id", a->id);
	ux_stmt_bind_text(&st, ":artifact", a->artifact);
	ux_stmt_bind_int(&st, ":outcome", a->outcome);
	ux_stmt_bind_int(&st, ":status", a->status);
	ux_stmt_bind_text(&st, ":reason", a->reason);
	ux_stmt_bind_int(&st, ":queried", a->queried);
	ux_stmt_bind_int(&st, ":expires", a->expires);
	ux_stmt_bind_int(&st, ":took_ms", (int64_t)a->took_ms);
	if (a->has_blob)
		ux_stmt_bind_bytes(&st, ":blob", a->blob.bytes, sizeof(a->blob.bytes));
	ux_stmt_bind_int(&st, ":size", (int64_t)a->size);
	ux_stmt_bind_text(&st, ":file_name", a->file_name);
	return ux_stmt_run(&st, NULL, err);
}

/*
 * Stores an answer. Adds the blob's row after the old answer was deleted, because a trigger of that
 * deletion could remove it.
 */
static enum ux_code fetched_put(struct ux_index *ix, const struct ux_fetched *a,
				struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(fetched_delete(db, a, err));
	if (a->has_blob)
		UX_TRY(ux_blob_row_add(db, &a->blob, a->size, err));
	UX_TRY(fetched_insert(db, a, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_fetch_outcome fetched_outcome(int64_t v)
{
	return v >= 0 && v < UX_FETCH_OUTCOMES ? (enum ux_fetch_outcome)v : UX_FETCH_FAILED;
}

static enum ux_code fetched_read(struct ux_stmt *st, struct ux_arena *arena, struct ux_fetched *ret,
				 struct ux_error *err)
{
	*ret = (struct ux_fetched){
		.ns = ux_stmt_get_text(st, 0, arena),
		.upstream = ux_stmt_get_text(st, 1, arena),
		.id = ux_stmt_get_text(st, 2, arena),
		.artifact = ux_stmt_get_text(st, 3, arena),
		.outcome = fetched_outcome(ux_stmt_get_int(st, 4)),
		.status = (unsigned)ux_stmt_get_int(st, 5),
		.reason = ux_stmt_get_text(st, 6, arena),
		.queried = ux_stmt_get_int(st, 7),
		.expires = ux_stmt_get_int(st, 8),
		.took_ms = (uint64_t)ux_stmt_get_int(st, 9),
		.has_blob = !ux_stmt_is_null(st, 10),
		.size = (uint64_t)ux_stmt_get_int(st, 11),
		.file_name = ux_stmt_get_text(st, 12, arena),
	};
	if (!ret->ns || !ret->upstream || !ret->id || !ret->artifact || !ret->reason ||
	    !ret->file_name)
		return ux_arena_fail(arena, err);
	return ret->has_blob
		       ? ux_stmt_get_bytes(st, 10, ret->blob.bytes, sizeof(ret->blob.bytes), err)
		       : UX_OK;
}

UX_SQL(sql_fetched_find, "SELECT " FETCHED_COLUMNS "FROM fetched WHERE ns = :ns AND id = :id "
			 "AND artifact = :artifact AND upstream = :upstream");

static enum ux_code fetched_find(struct ux_index *ix, const char *ns, const char *id,
				 const char *artifact, const char *upstream, struct ux_arena *arena,
				 struct ux_fetched *ret, struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_fetched_find);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", id);
	ux_stmt_bind_text(&st, ":artifact", artifact);
	ux_stmt_bind_text(&st, ":upstream", upstream);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? fetched_read(&st, arena, ret, err)
		   : ux_error_set(err, UX_ENOTFOUND, "no cached answer of upstream %.60s",
				  upstream);
}

UX_SQL(sql_fetched_list,
       "SELECT " FETCHED_COLUMNS "FROM fetched WHERE ns = :ns AND id = :id "
       "AND (:artifact = '' OR artifact = :artifact) ORDER BY artifact, upstream");

static enum ux_code fetched_list(struct ux_index *ix, const char *ns, const char *id,
				 const char *artifact, struct ux_arena *arena,
				 struct ux_fetched_list *ret, struct ux_error *err)
{
	ux_cleanup(fetched_rows_deinit) struct fetched_rows v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_fetched_list);
	ux_stmt_bind_text(&st, ":ns", ns);
	ux_stmt_bind_text(&st, ":id", id);
	ux_stmt_bind_text(&st, ":artifact", artifact);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_fetched a;
		UX_TRY(fetched_read(&st, arena, &a, err));
		if (!fetched_rows_append(&v, a))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->n = v.size;
	ret->answers = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->answers ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_fetched_expire, "DELETE FROM fetched WHERE (expires < :before OR :before = :all) "
			   "AND (:upstream = '' OR upstream = :upstream)");

static enum ux_code fetched_expire(struct ux_index *ix, const char *upstream, ux_time before,
				   uint64_t *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_fetched_expire);
	ux_stmt_bind_int(&st, ":before", before);
	ux_stmt_bind_text(&st, ":upstream", upstream);
	ux_stmt_bind_int(&st, ":all", INT64_MAX);
	return ux_stmt_run(&st, ret, err);
}

UX_SQL(sql_fetched_bytes,
       "SELECT (SELECT coalesce(sum(size), 0) FROM candidates WHERE cached = 1 AND origin = 1 "
       "AND (:ns = '' OR ns = :ns)) + (SELECT coalesce(sum(size), 0) FROM fetched "
       "WHERE blob IS NOT NULL AND (:ns = '' OR ns = :ns))");

static enum ux_code fetched_bytes(struct ux_index *ix, const char *ns, uint64_t *ret,
				  struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_LONG, err);
	UX_STMT(st, db, &sql_fetched_bytes);
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = (uint64_t)ux_stmt_get_int(&st, 0);
	return UX_OK;
}

UX_SQL(sql_fetched_oldest, "SELECT " FETCHED_COLUMNS "FROM fetched WHERE blob IS NOT NULL "
			   "AND (:ns = '' OR ns = :ns) ORDER BY queried LIMIT 1000");

/* Lists answers with files until their sizes add up to `bytes`. */
static enum ux_code fetched_list_oldest(struct ux_db *db, const char *ns, uint64_t bytes,
					struct ux_arena *arena, struct fetched_rows *ret,
					struct ux_error *err)
{
	uint64_t sum = 0;
	bool row = false;
	UX_STMT(st, db, &sql_fetched_oldest);
	ux_stmt_bind_text(&st, ":ns", ns);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && sum < bytes) {
		struct ux_fetched a;
		UX_TRY(fetched_read(&st, arena, &a, err));
		if (!fetched_rows_append(ret, a))
			return ux_error_nomem(err);
		sum += a.size;
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	return UX_OK;
}

static enum ux_code fetched_drop_files(struct ux_index *ix, const char *ns, uint64_t bytes,
				       struct ux_error *err)
{
	UX_ARENA(arena, 64 << 20);
	ux_cleanup(fetched_rows_deinit) struct fetched_rows v = {0};
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(fetched_list_oldest(db, ns, bytes, &arena, &v, err));
	for (size_t i = 0; i < v.size; i++)
		UX_TRY(fetched_delete(db, &v.data[i], err));
	return ux_tx_commit(&tx, err);
}

void ux_fetched_init(struct ux_index *ix)
{
	ix->fetched.put = fetched_put;
	ix->fetched.find = fetched_find;
	ix->fetched.list = fetched_list;
	ix->fetched.expire = fetched_expire;
	ix->fetched.bytes = fetched_bytes;
	ix->fetched.drop_files = fetched_drop_files;
}
