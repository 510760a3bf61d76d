/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite index: which blobs somebody refers to. */
#include "index_sqlite.h"

#include "vec.h"

UX_VEC(blob_rows, struct ux_blob_row);

enum ux_code ux_sqlite_blob_add(struct ux_db *db, const struct ux_blob_hash *hash, uint64_t size,
				struct ux_error *err)
{
	UX_STMT(st, db, UX_SQL_BLOB_ADD);
	ux_stmt_bytes(&st, 1, hash->bytes, sizeof(hash->bytes));
	ux_stmt_int(&st, 2, (int64_t)size);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code blob_used(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
			      struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_BLOB_USED);
	ux_stmt_bytes(&st, 1, hash->bytes, sizeof(hash->bytes));
	return ux_stmt_step(&st, ret, err);
}

static enum ux_code blob_list(struct ux_index *ix, const struct ux_blob_hash *after, size_t limit,
			      struct ux_arena *arena, struct ux_blob_rows *ret,
			      struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	ux_cleanup(blob_rows_deinit) struct blob_rows v = {0};
	bool row = false;
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_BLOB_PAGE);
	ux_stmt_bytes(&st, 1, after ? (const void *)after->bytes : "",
		      after ? sizeof(after->bytes) : 0);
	ux_stmt_int(&st, 2, (int64_t)limit + 1);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row && v.size < limit) {
		struct ux_blob_row r = {.size = (uint64_t)ux_stmt_get_int(&st, 1)};
		UX_TRY(ux_stmt_get_bytes(&st, 0, r.hash.bytes, sizeof(r.hash.bytes), err));
		if (!blob_rows_append(&v, r))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->more = row;
	ret->n = v.size;
	ret->rows = ux_sqlite_keep(arena, v.data, v.size, sizeof(*v.data));
	return ret->rows ? UX_OK : ux_arena_fail(arena, err);
}

static enum ux_code blob_users(struct ux_index *ix, const struct ux_blob_hash *hash, size_t limit,
			       struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, UX_SQL_BLOB_USERS);
	ux_stmt_bytes(&st, 1, hash->bytes, sizeof(hash->bytes));
	ux_stmt_int(&st, 2, (int64_t)limit + 1);
	return ux_sqlite_hits(&st, limit, arena, ret, err);
}

static enum ux_code lose_from(struct ux_db *db, enum ux_sql which, const struct ux_blob_hash *hash,
			      uint64_t *ret, struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_bytes(&st, 1, hash->bytes, sizeof(hash->bytes));
	return ux_stmt_run(&st, ret, err);
}

static enum ux_code blob_lose(struct ux_index *ix, const struct ux_blob_hash *hash,
			      const char *reason, ux_time now, struct ux_blob_loss *ret,
			      struct ux_error *err)
{
	static const struct ux_who check = {.key_id = "", .from = "check"};
	struct ux_db *db = ux_sqlite_writer(ix);
	struct ux_blob_loss loss = {0};
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(hash, text);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(lose_from(db, UX_SQL_BLOB_LOSE_SOURCES, hash, &loss.sources, err));
	UX_TRY(lose_from(db, UX_SQL_BLOB_LOSE_FETCHED, hash, &loss.fetched, err));
	UX_TRY(lose_from(db, UX_SQL_BLOB_LOSE_PARENTS, hash, NULL, err));
	UX_TRY(lose_from(db, UX_SQL_BLOB_LOSE_CANDIDATES, hash, &loss.candidates, err));
	UX_TRY(ux_sqlite_audit(db, &check, now, "", "blob-lost", text, reason, 0, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = loss;
	return UX_OK;
}

/* The first line of PRAGMA integrity_check is "ok", or what is wrong. */
static enum ux_code verify(struct ux_index *ix, struct ux_error *err)
{
	struct ux_db *db = ux_sqlite_reader(ix);
	sqlite3_stmt *s = NULL;
	enum ux_code code = UX_OK;
	UX_LOCKED(&db->lock);
	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA integrity_check(1)", -1, &s, NULL) !=
		    SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		code = ux_db_fail(db, err);
	else if (strcmp((const char *)sqlite3_column_text(s, 0), "ok") != 0)
		code = ux_error_set(err, UX_EIO, "the index is damaged: %s",
				    (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return code;
}

void ux_sqlite_blobs_init(struct ux_index *ix)
{
	ix->blobs.used = blob_used;
	ix->blobs.list = blob_list;
	ix->blobs.users = blob_users;
	ix->blobs.lose = blob_lose;
	ix->blobs.verify = verify;
}
