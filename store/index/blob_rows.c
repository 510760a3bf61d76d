/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of blobs: which blobs the index refers to. */
#include "index_sql.h"

#include "vec.h"

UX_VEC(blob_rows, struct ux_blob_row);

UX_SQL(sql_blob_add, "INSERT INTO blobs (hash, size) VALUES (:hash, :size) ON CONFLICT DO NOTHING");

enum ux_code ux_blob_row_add(struct ux_db *db, const struct ux_blob_hash *hash, uint64_t size,
			     struct ux_error *err)
{
	UX_STMT(st, db, &sql_blob_add);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	ux_stmt_bind_int(&st, ":size", (int64_t)size);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_blob_used, "SELECT 1 FROM blobs_referred WHERE blob = :hash LIMIT 1");

static enum ux_code blob_used(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
			      struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_blob_used);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	return ux_stmt_step(&st, ret, err);
}

UX_SQL(sql_blob_page,
       "SELECT hash, size FROM blobs WHERE hash > :after ORDER BY hash LIMIT :limit");

static enum ux_code blob_list(struct ux_index *ix, const struct ux_blob_hash *after, size_t limit,
			      struct ux_arena *arena, struct ux_blob_rows *ret,
			      struct ux_error *err)
{
	ux_cleanup(blob_rows_deinit) struct blob_rows v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_blob_page);
	ux_stmt_bind_bytes(&st, ":after", after ? (const void *)after->bytes : "",
			   after ? sizeof(after->bytes) : 0);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
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
	ret->rows = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->rows ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_garbage_last, "SELECT coalesce(max(number), 0) FROM garbage");

static enum ux_code blob_garbage_last(struct ux_index *ix, int64_t *ret, struct ux_error *err)
{
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_garbage_last);
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = ux_stmt_get_int(&st, 0);
	return UX_OK;
}

UX_SQL(sql_garbage_page,
       "SELECT hash FROM garbage WHERE number <= :upto ORDER BY number LIMIT :limit");

static enum ux_code blob_garbage(struct ux_index *ix, int64_t upto, size_t limit,
				 struct ux_arena *arena, struct ux_blob_rows *ret,
				 struct ux_error *err)
{
	ux_cleanup(blob_rows_deinit) struct blob_rows v = {0};
	bool row = false;
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_garbage_page);
	ux_stmt_bind_int(&st, ":upto", upto);
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit);
	UX_TRY(ux_stmt_step(&st, &row, err));
	while (row) {
		struct ux_blob_row r = {0};
		UX_TRY(ux_stmt_get_bytes(&st, 0, r.hash.bytes, sizeof(r.hash.bytes), err));
		if (!blob_rows_append(&v, r))
			return ux_error_nomem(err);
		UX_TRY(ux_stmt_step(&st, &row, err));
	}
	ret->more = v.size == limit;
	ret->n = v.size;
	ret->rows = ux_rows_copy(arena, v.data, v.size, sizeof(*v.data));
	return ret->rows ? UX_OK : ux_arena_fail(arena, err);
}

UX_SQL(sql_blob_users,
       "SELECT m.number, c.number, " UX_SQL_FIRST_ID
       ", c.kind, c.holds, c.file_name, c.origin_name FROM candidates c "
       "JOIN modules m ON m.number = c.module WHERE c.blob = :hash ORDER BY c.number "
       "LIMIT :limit");

static enum ux_code blob_users(struct ux_index *ix, const struct ux_blob_hash *hash, size_t limit,
			       struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_blob_users);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	ux_stmt_bind_int(&st, ":limit", (int64_t)limit + 1);
	return ux_hits_read(&st, limit, arena, ret, err);
}

static enum ux_code blob_run(struct ux_db *db, const struct ux_sql *which,
			     const struct ux_blob_hash *hash, uint64_t *ret, struct ux_error *err)
{
	UX_STMT(st, db, which);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	return ux_stmt_run(&st, ret, err);
}

enum {
	/*
	 * seconds after which another server's removal counts as abandoned; it has long ended by
	 * then
	 */
	REMOVAL_LOST_S = 300
};

UX_SQL(sql_removal_begin,
       "INSERT INTO garbage (hash, removing) VALUES (:hash, :now) ON CONFLICT (hash) DO UPDATE SET "
       "removing = :now WHERE garbage.removing = 0 OR garbage.removing < :lost");

/*
 * Claims the removal. Excludes transactions that add rows of blobs: all of them exclude each other.
 */
static enum ux_code blob_remove_begin(struct ux_index *ix, const struct ux_blob_hash *hash,
				      ux_time now, bool *ret, struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	uint64_t n = 0;
	bool used = false;
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin_lazy(&tx, db, err));
	{
		UX_STMT(st, db, &sql_blob_used);
		ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
		UX_TRY(ux_stmt_step(&st, &used, err));
	}
	if (!used) {
		UX_STMT(st, db, &sql_removal_begin);
		ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
		ux_stmt_bind_int(&st, ":now", now);
		ux_stmt_bind_int(&st, ":lost", now - REMOVAL_LOST_S);
		UX_TRY(ux_stmt_run(&st, &n, err));
	}
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = n > 0;
	return UX_OK;
}

UX_SQL(sql_removal_end, "DELETE FROM garbage WHERE hash = :hash AND removing = :now");

static enum ux_code blob_removed(struct ux_index *ix, const struct ux_blob_hash *hash, ux_time now,
				 struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	UX_STMT(st, db, &sql_removal_end);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	ux_stmt_bind_int(&st, ":now", now);
	return ux_stmt_run(&st, NULL, err);
}

UX_SQL(sql_garbage_drop, "DELETE FROM garbage WHERE hash = :hash AND removing = 0");

static enum ux_code blob_collected(struct ux_index *ix, const struct ux_blob_row *rows, size_t n,
				   struct ux_error *err)
{
	struct ux_db *db = ux_index_writer(ix);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	for (size_t i = 0; i < n; i++)
		UX_TRY(blob_run(db, &sql_garbage_drop, &rows[i].hash, NULL, err));
	return ux_tx_commit(&tx, err);
}

UX_SQL(sql_blob_lose_sources, "DELETE FROM sources WHERE blob = :hash");

UX_SQL(sql_blob_lose_fetched, "DELETE FROM fetched WHERE blob = :hash");

UX_SQL(sql_blob_lose_profiles, "DELETE FROM profiles WHERE blob = :hash");

/*
 * Candidates that were extracted from the lost blob become originals: they cannot be extracted
 * again.
 */
UX_SQL(sql_blob_lose_parents,
       "UPDATE candidates SET parent = NULL, cached = 0 WHERE parent IN (SELECT number "
       "FROM candidates WHERE blob = :hash)");

UX_SQL(sql_blob_lose_candidates, "DELETE FROM candidates WHERE blob = :hash");

static enum ux_code blob_lose(struct ux_index *ix, const struct ux_blob_hash *hash,
			      const char *reason, ux_time now, struct ux_blob_loss *ret,
			      struct ux_error *err)
{
	static const struct ux_who check = {.key_id = "", .from = "check"};
	struct ux_db *db = ux_index_writer(ix);
	struct ux_blob_loss loss = {0};
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(hash, text);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(blob_run(db, &sql_blob_lose_sources, hash, &loss.sources, err));
	UX_TRY(blob_run(db, &sql_blob_lose_fetched, hash, &loss.fetched, err));
	UX_TRY(blob_run(db, &sql_blob_lose_profiles, hash, &loss.profiles, err));
	UX_TRY(blob_run(db, &sql_blob_lose_parents, hash, NULL, err));
	UX_TRY(blob_run(db, &sql_blob_lose_candidates, hash, &loss.candidates, err));
	UX_TRY(ux_audit_write(db, &check, now, "", "blob-lost", text, reason, 0, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = loss;
	return UX_OK;
}

/* A failed candidate does not need its bytes: they are read again when they arrive again. */
UX_SQL(sql_blob_expected, "SELECT 1 FROM candidates WHERE blob = :hash AND state <> 2 "
			  "UNION ALL SELECT 1 FROM sources WHERE blob = :hash "
			  "UNION ALL SELECT 1 FROM fetched WHERE blob = :hash "
			  "UNION ALL SELECT 1 FROM profiles WHERE blob = :hash LIMIT 1");

static enum ux_code blob_expected(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
				  struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_POINT, err);
	UX_STMT(st, db, &sql_blob_expected);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	return ux_stmt_step(&st, ret, err);
}

UX_SQL(sql_blob_fail_makers,
       "UPDATE candidates SET state = 1 WHERE state = 0 AND blob <> :hash AND number IN "
       "(SELECT parent FROM candidates WHERE blob = :hash AND state <> 2 AND parent IS NOT NULL "
       "UNION SELECT candidate FROM sources WHERE blob = :hash)");

UX_SQL(sql_blob_fail_candidates,
       "UPDATE candidates SET state = 2, reason = :reason WHERE blob = :hash AND state <> 2");

static enum ux_code blob_fail_candidates(struct ux_db *db, const struct ux_blob_hash *hash,
					 const char *reason, uint64_t *ret, struct ux_error *err)
{
	UX_STMT(st, db, &sql_blob_fail_candidates);
	ux_stmt_bind_bytes(&st, ":hash", hash->bytes, sizeof(hash->bytes));
	ux_stmt_bind_text(&st, ":reason", reason);
	return ux_stmt_run(&st, ret, err);
}

/*
 * An upload stores its bytes before its transaction, and all transactions that add rows of blobs
 * exclude this one. So a row that was just added has its bytes, or they are lost indeed.
 */
static enum ux_code blob_fail_lost(struct ux_index *ix, const struct ux_blob_hash *hash,
				   const char *reason, ux_time now, ux_blob_lost_fn *lost,
				   void *ctx, struct ux_blob_loss *ret, struct ux_error *err)
{
	static const struct ux_who check = {.key_id = "", .from = "check"};
	struct ux_db *db = ux_index_writer(ix);
	struct ux_blob_loss loss = {0};
	bool is_lost = false;
	char text[2 * UX_BLOB_HASH_SIZE + 1];
	ux_blob_hash_text(hash, text);
	UX_LOCKED(&db->lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(lost(ctx, hash, &is_lost, err));
	*ret = loss;
	if (!is_lost)
		return UX_OK;
	UX_TRY(blob_run(db, &sql_blob_fail_makers, hash, NULL, err));
	UX_TRY(blob_run(db, &sql_blob_lose_sources, hash, &loss.sources, err));
	UX_TRY(blob_run(db, &sql_blob_lose_fetched, hash, &loss.fetched, err));
	UX_TRY(blob_run(db, &sql_blob_lose_profiles, hash, &loss.profiles, err));
	UX_TRY(blob_fail_candidates(db, hash, reason, &loss.candidates, err));
	UX_TRY(ux_audit_write(db, &check, now, "", "blob-lost", text, reason, 0, err));
	UX_TRY(ux_tx_commit(&tx, err));
	*ret = loss;
	return UX_OK;
}

static enum ux_code index_verify(struct ux_index *ix, struct ux_error *err)
{
	UX_READER(db, ix, UX_READ_LONG, err);
	return ux_db_verify(db, err);
}

void ux_blob_rows_init(struct ux_index *ix)
{
	ix->blobs.used = blob_used;
	ix->blobs.list = blob_list;
	ix->blobs.garbage = blob_garbage;
	ix->blobs.garbage_last = blob_garbage_last;
	ix->blobs.remove_begin = blob_remove_begin;
	ix->blobs.removed = blob_removed;
	ix->blobs.collected = blob_collected;
	ix->blobs.users = blob_users;
	ix->blobs.lose = blob_lose;
	ix->blobs.expected = blob_expected;
	ix->blobs.fail_lost = blob_fail_lost;
	ix->blobs.verify = index_verify;
}
