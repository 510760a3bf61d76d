/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to SQLite. */
#include "sqlite_db.h"

#include <errno.h>
#include <time.h>

enum {
	BUSY_MS = 3000, /* `unhex key` writes beside a server */
	BUSY_STEP_MS = 2,
};

/*
 * SQLite calls it while another process holds the index. Only the first waits long: all who want to
 * write wait for each other too, and while each of them waited anew, no thread would be left to
 * answer who only reads.
 */
static int wait_busy(void *ctx, int tries)
{
	static const struct timespec step = {.tv_nsec = BUSY_STEP_MS * 1000000L};
	struct ux_db *db = ctx;
	if (db->given_up || tries >= BUSY_MS / BUSY_STEP_MS) {
		db->given_up = true;
		return 0;
	}
	nanosleep(&step, NULL);
	return 1;
}

enum ux_code ux_db_fail(struct ux_db *db, struct ux_error *err)
{
	int rc = sqlite3_errcode(db->sqlite);
	const char *words = sqlite3_errmsg(db->sqlite);
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return ux_error_nomem(err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ux_error_set(err, UX_EUNAVAILABLE, "the index is busy: %s", words);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: /* UX_ECORRUPT would be about what a client sent */
		return ux_error_set(err, UX_EIO, "the index is damaged: %s", words);
	case SQLITE_FULL:
		return ux_error_os(err, ENOSPC, "the index cannot grow");
	default:
		return ux_error_set(err, UX_EIO, "the index: %s", words);
	}
}

enum ux_code ux_db_open(struct ux_db *db, const char *path, struct ux_error *err)
{
	*db = (struct ux_db){0};
	pthread_mutex_init(&db->lock, NULL);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(path, &db->sqlite, flags, NULL) != SQLITE_OK)
		return db->sqlite ? ux_db_fail(db, err) : ux_error_nomem(err);
	sqlite3_extended_result_codes(db->sqlite, 1);
	sqlite3_busy_handler(db->sqlite, wait_busy, db);
	/* FULL: in WAL mode, a commit is on the disk before it is acknowledged. */
	return ux_db_exec(db,
			  "PRAGMA journal_mode = WAL;"
			  "PRAGMA synchronous = FULL;"
			  "PRAGMA foreign_keys = ON;"
			  "PRAGMA trusted_schema = OFF;",
			  err);
}

void ux_db_close(struct ux_db *db)
{
	if (!db->sqlite)
		return;
	for (int i = 0; i < UX_SQL_COUNT; i++)
		sqlite3_finalize(db->statements[i]);
	sqlite3_close(db->sqlite);
	pthread_mutex_destroy(&db->lock);
	*db = (struct ux_db){0};
}

enum ux_code ux_db_exec(struct ux_db *db, const char *sql, struct ux_error *err)
{
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? UX_OK
									    : ux_db_fail(db, err);
}

struct ux_stmt ux_stmt_begin(struct ux_db *db, enum ux_sql which)
{
	struct ux_stmt st = {.db = db, .s = db->statements[which]};
	if (!st.s) {
		st.rc = sqlite3_prepare_v3(db->sqlite, ux_sql_text[which], -1,
					   SQLITE_PREPARE_PERSISTENT, &st.s, NULL);
		db->statements[which] = st.s;
	}
	return st;
}

void ux_stmt_end(struct ux_stmt *st)
{
	if (!st->s)
		return;
	sqlite3_reset(st->s);
	sqlite3_clear_bindings(st->s);
}

static void latch(struct ux_stmt *st, int rc)
{
	if (st->rc == SQLITE_OK)
		st->rc = rc;
}

void ux_stmt_int(struct ux_stmt *st, int n, int64_t v)
{
	if (st->s)
		latch(st, sqlite3_bind_int64(st->s, n, v));
}

void ux_stmt_number(struct ux_stmt *st, int n, int64_t v)
{
	if (v != 0)
		ux_stmt_int(st, n, v);
}

void ux_stmt_text(struct ux_stmt *st, int n, const char *text)
{
	if (st->s)
		latch(st, sqlite3_bind_text(st->s, n, text ? text : "", -1, SQLITE_STATIC));
}

void ux_stmt_bytes(struct ux_stmt *st, int n, const void *data, size_t size)
{
	if (st->s)
		latch(st, sqlite3_bind_blob64(st->s, n, data, size, SQLITE_STATIC));
}

enum ux_code ux_stmt_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err)
{
	if (st->rc != SQLITE_OK)
		return ux_db_fail(st->db, err);
	int rc = sqlite3_step(st->s);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return ux_db_fail(st->db, err);
	st->db->given_up = false;
	*ret_row = rc == SQLITE_ROW;
	return UX_OK;
}

enum ux_code ux_stmt_run(struct ux_stmt *st, uint64_t *ret_changed, struct ux_error *err)
{
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	if (ret_changed)
		*ret_changed = (uint64_t)sqlite3_changes64(st->db->sqlite);
	return UX_OK;
}

int64_t ux_stmt_get_int(struct ux_stmt *st, int n)
{
	return sqlite3_column_int64(st->s, n);
}

const char *ux_stmt_get_text(struct ux_stmt *st, int n, struct ux_arena *arena)
{
	const void *text = sqlite3_column_text(st->s, n);
	return text ? ux_arena_strndup(arena, text, (size_t)sqlite3_column_bytes(st->s, n)) : NULL;
}

const char *ux_stmt_see_text(struct ux_stmt *st, int n)
{
	return (const char *)sqlite3_column_text(st->s, n);
}

bool ux_stmt_is_null(struct ux_stmt *st, int n)
{
	return sqlite3_column_type(st->s, n) == SQLITE_NULL;
}

enum ux_code ux_stmt_get_bytes(struct ux_stmt *st, int n, void *data, size_t size,
			       struct ux_error *err)
{
	const void *bytes = sqlite3_column_blob(st->s, n);
	if (!bytes || (size_t)sqlite3_column_bytes(st->s, n) != size)
		return ux_error_set(err, UX_EIO,
				    "the index is damaged: a hash of %d bytes, expected %zu",
				    sqlite3_column_bytes(st->s, n), size);
	memcpy(data, bytes, size);
	return UX_OK;
}

static enum ux_code run(struct ux_db *db, enum ux_sql which, struct ux_error *err)
{
	UX_STMT(st, db, which);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_tx_begin(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	*tx = (struct ux_tx){.db = db};
	UX_TRY(run(db, UX_SQL_BEGIN, err));
	tx->open = true;
	return UX_OK;
}

enum ux_code ux_tx_begin_read(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	*tx = (struct ux_tx){.db = db};
	UX_TRY(run(db, UX_SQL_BEGIN_READ, err));
	tx->open = true;
	return UX_OK;
}

enum ux_code ux_tx_commit(struct ux_tx *tx, struct ux_error *err)
{
	UX_TRY(run(tx->db, UX_SQL_COMMIT, err));
	tx->open = false;
	return UX_OK;
}

void ux_tx_end(struct ux_tx *tx)
{
	if (tx->open && run(tx->db, UX_SQL_ROLLBACK, NULL) == UX_OK)
		tx->open = false;
}
