/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite database of an index. */
#include "db_engine.h"

#include "clock.h"
#include "name_glob.h"
#include "out.h"
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

enum {
	BUSY_MS = 3000, /* ms; `unhex key` may write while a server is running */
	BUSY_STEP_MS = 2,
	DEADLINE_STEPS = 1000, /* steps of a statement between two checks of its deadline */
	GLOB_ARGUMENTS = 2,
	/*
	 * Pages in the log before they are copied into the database: 16 MiB. A page that several
	 * transactions changed is copied once.
	 */
	LOG_PAGES = 4096,
};

/* Readers map the first bytes of the file, as many as SQLite allows: 2 GiB less 64 KiB. */
#define MAPPED_BYTES "2147418112"

/*
 * Called by SQLite while another process holds the index. Only the first writer waits for long. The
 * other writers queue after it; if each of them waited as long again, no thread would be left for
 * requests that only read.
 */
static int sqlite_wait_busy(void *ctx, int tries)
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

static sqlite3 *sqlite_of(const struct ux_db *db)
{
	return db->connection;
}

static enum ux_code sqlite_fail(struct ux_db *db, struct ux_error *err)
{
	int rc = sqlite3_errcode(sqlite_of(db));
	const char *words = sqlite3_errmsg(sqlite_of(db));
	switch (rc & 0xff) {
	case SQLITE_NOMEM:
		return ux_error_nomem(err);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ux_error_set(err, UX_EUNAVAILABLE, "the index is busy: %s", words);
	case SQLITE_INTERRUPT:
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "index query exceeded its timeout of %u ms", db->limit_ms);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB: /* not UX_ECORRUPT, which is about files from clients */
		return ux_error_set(err, UX_EIO, "the index is damaged: %s", words);
	case SQLITE_FULL:
		return ux_error_os(err, ENOSPC, "the index cannot grow");
	default:
		return ux_error_set(err, UX_EIO, "the index: %s", words);
	}
}

/* Runs SQL text that returns no rows: pragmas and the schema. */
static enum ux_code sqlite_exec(struct ux_db *db, const char *sql, struct ux_error *err)
{
	return sqlite3_exec(sqlite_of(db), sql, NULL, NULL, NULL) == SQLITE_OK
		       ? UX_OK
		       : sqlite_fail(db, err);
}

/* Called by SQLite while a statement runs. Not 0: interrupts the statement. */
static int sqlite_check_deadline(void *ctx)
{
	const struct ux_db *db = ctx;
	return db->deadline_ns != 0 && ux_clock_ns() > db->deadline_ns;
}

/*
 * ux_glob(PATTERN, TEXT). SQLite's own GLOB is not used: its time grows with a power of the number
 * of '*', and within one call it cannot be interrupted. The pattern is parsed once per statement.
 */
static void sqlite_glob(sqlite3_context *ctx, int n, sqlite3_value **values)
{
	struct ux_glob *g = sqlite3_get_auxdata(ctx, 0);
	const char *pattern = (const char *)sqlite3_value_text(values[0]);
	const char *text = (const char *)sqlite3_value_text(values[1]);
	(void)n;
	if (!pattern || !text)
		return; /* the result is NULL */
	if (!g) {
		g = malloc(sizeof(*g));
		if (!g) {
			sqlite3_result_error_nomem(ctx);
			return;
		}
		if (ux_glob_parse(pattern, g, NULL) != UX_OK) {
			free(g);
			sqlite3_result_error(ctx, "ux_glob: the pattern is not valid", -1);
			return;
		}
		sqlite3_result_int(ctx, ux_glob_matches(g, text));
		sqlite3_set_auxdata(ctx, 0, g, free);
		return;
	}
	sqlite3_result_int(ctx, ux_glob_matches(g, text));
}

static enum ux_code sqlite_open_reader(struct ux_db *db, struct ux_error *err)
{
	if (sqlite3_create_function_v2(sqlite_of(db), "ux_glob", GLOB_ARGUMENTS,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
				       sqlite_glob, NULL, NULL, NULL) != SQLITE_OK)
		return sqlite_fail(db, err);
	sqlite3_progress_handler(sqlite_of(db), DEADLINE_STEPS, sqlite_check_deadline, db);
	/*
	 * There may be several readers, each with up to 2 MiB of cached pages. Mapped pages are not
	 * copied there: in a large index, nearly every page is read for only one row.
	 */
	return sqlite_exec(db,
			   "PRAGMA query_only = ON;"
			   "PRAGMA cache_size = -2048;"
			   "PRAGMA mmap_size = " MAPPED_BYTES ";",
			   err);
}

static enum ux_code sqlite_open(struct ux_db *db, const char *path, bool reader,
				struct ux_error *err)
{
	sqlite3 *sqlite = NULL;
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	int rc = sqlite3_open_v2(path, &sqlite, flags, NULL);
	db->connection = sqlite;
	if (rc != SQLITE_OK)
		return sqlite ? sqlite_fail(db, err) : ux_error_nomem(err);
	sqlite3_extended_result_codes(sqlite, 1);
	sqlite3_busy_handler(sqlite, sqlite_wait_busy, db);
	sqlite3_wal_autocheckpoint(sqlite, LOG_PAGES);
	/* FULL: in WAL mode a commit is on the disk before it is acknowledged. */
	UX_TRY(sqlite_exec(db,
			   "PRAGMA journal_mode = WAL;"
			   "PRAGMA synchronous = FULL;"
			   "PRAGMA foreign_keys = ON;"
			   "PRAGMA temp_store = MEMORY;"
			   "PRAGMA trusted_schema = OFF;",
			   err));
	if (!ux_sqlite_define_row_sum(sqlite))
		return sqlite_fail(db, err);
	return reader ? sqlite_open_reader(db, err) : UX_OK;
}

static enum ux_code sqlite_checkpoint_aside(struct ux_db *db, struct ux_error *err)
{
	return ux_checkpointer_open(&db->checkpointer, db, LOG_PAGES, err);
}

static bool sqlite_is_behind(struct ux_db *db)
{
	return db->checkpointer && ux_checkpointer_is_behind(db->checkpointer);
}

static void sqlite_close(struct ux_db *db)
{
	ux_checkpointer_close(ux_take(&db->checkpointer));
	for (size_t i = 0; i < UX_DB_STATEMENTS_MAX; i++)
		sqlite3_finalize(db->prepared[i].handle);
	sqlite3_close(sqlite_of(db));
	if (db->log.fd >= 0)
		close(db->log.fd);
}

/* Reads the single value of a pragma as a number, and as text into a buffer of size bytes. */
static enum ux_code sqlite_pragma(struct ux_db *db, const char *sql, int *ret, char *text,
				  size_t size, struct ux_error *err)
{
	sqlite3_stmt *s = NULL;
	enum ux_code code = UX_OK;
	if (sqlite3_prepare_v2(sqlite_of(db), sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW) {
		code = sqlite_fail(db, err);
	} else {
		*ret = sqlite3_column_int(s, 0);
		snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, 0));
	}
	sqlite3_finalize(s);
	return code;
}

static enum ux_code sqlite_migrate(struct ux_db *db, struct ux_error *err)
{
	const struct ux_schema *s = &ux_sqlite_schema;
	int version = 0;
	char text[64];
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(sqlite_pragma(db, "PRAGMA user_version", &version, text, sizeof(text), err));
	if (version > s->version)
		return ux_schema_fail_newer(s, version, err);
	UX_TRY(ux_schema_check_base(s, version, err));
	for (const struct ux_schema_step *step = ux_schema_missing(s, version); step->sql; step++)
		UX_TRY(sqlite_exec(db, step->sql, err));
	snprintf(text, sizeof(text), "PRAGMA user_version = %d", s->version);
	if (version < s->version)
		UX_TRY(sqlite_exec(db, text, err));
	return ux_tx_commit(&tx, err);
}

/* Removes a database and the files that belong to it. */
static enum ux_code sqlite_remove(const char *path, struct ux_error *err)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	for (size_t i = 0; i < ux_countof(suffixes); i++) {
		ux_cleanup(ux_free_ptr) char *name = NULL;
		if (asprintf(&name, "%s%s", path, suffixes[i]) < 0) {
			name = NULL;
			return ux_error_nomem(err);
		}
		if (unlink(name) != 0 && errno != ENOENT)
			return ux_error_os(err, errno, "cannot remove %s", name);
	}
	return UX_OK;
}

/* Copies all pages in one step: a snapshot, while the writer continues in its log. */
static enum ux_code sqlite_copy_pages(struct ux_db *db, struct ux_db *to, struct ux_error *err)
{
	UX_TRY(sqlite_exec(to, "PRAGMA synchronous = FULL", err));
	sqlite3_backup *copy = sqlite3_backup_init(sqlite_of(to), "main", sqlite_of(db), "main");
	if (!copy)
		return sqlite_fail(to, err);
	(void)sqlite3_backup_step(copy, /* all pages */ -1);
	return sqlite3_backup_finish(copy) == SQLITE_OK ? UX_OK : sqlite_fail(to, err);
}

static enum ux_code sqlite_copy(struct ux_db *db, const char *path, struct ux_error *err)
{
	struct ux_db to = {0};
	UX_TRY(sqlite_remove(path, err));
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot create %s", path);
	close(fd);
	sqlite3 *sqlite = NULL;
	int rc = sqlite3_open_v2(path, &sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	to.connection = sqlite;
	enum ux_code code = rc == SQLITE_OK ? sqlite_copy_pages(db, &to, err)
			    : sqlite        ? sqlite_fail(&to, err)
					    : ux_error_nomem(err);
	sqlite3_close(sqlite);
	return code;
}

/* The first line of the result is "ok" or describes the damage. */
static enum ux_code sqlite_verify(struct ux_db *db, struct ux_error *err)
{
	int number = 0;
	char text[UX_ERROR_TEXT];
	UX_TRY(sqlite_pragma(db, "PRAGMA integrity_check(1)", &number, text, sizeof(text), err));
	return strcmp(text, "ok") == 0
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the index is damaged: %s", text);
}

/*
 * Called before each write outside a transaction, and before each transaction of writes. On a disk
 * that is nearly full, the log is copied into the database and truncated, which needs the least
 * room. Truncating it may free enough for the reserve.
 */
static void sqlite_make_room(struct ux_db *db)
{
	if (!db->room || !sqlite3_get_autocommit(sqlite_of(db)) || !ux_room_release(db->room))
		return;
	sqlite3_wal_checkpoint_v2(sqlite_of(db), NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	ux_room_restore(db->room);
}

UX_SQL(sql_begin, "BEGIN IMMEDIATE");
UX_SQL(sql_begin_read, "BEGIN");
UX_SQL(sql_commit, "COMMIT");
UX_SQL(sql_rollback, "ROLLBACK");

/* Sets whether commits of this connection wait for the disk. */
static enum ux_code sqlite_be_lazy(struct ux_db *db, bool lazy, struct ux_error *err)
{
	lazy = lazy || db->throwaway;
	if (db->lazy == lazy)
		return UX_OK;
	UX_TRY(sqlite_exec(db, lazy ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL",
			   err));
	db->lazy = lazy;
	return UX_OK;
}

/*
 * Turns lazy commits off before a statement outside a transaction: its changes must be on the disk
 * when it ends.
 */
static int sqlite_end_lazy(struct ux_db *db, const struct ux_sql *sql)
{
	if (!db->lazy || sql == &sql_begin || !sqlite3_get_autocommit(sqlite_of(db)))
		return SQLITE_OK;
	return sqlite_be_lazy(db, false, NULL) == UX_OK ? SQLITE_OK
							: sqlite3_errcode(sqlite_of(db));
}

static void sqlite_stmt_begin(struct ux_stmt *st)
{
	struct ux_db *db = st->db;
	sqlite_make_room(db);
	struct ux_db_prepared *p = ux_db_prepared(db, st->sql);
	sqlite3_stmt *handle = p->handle;
	st->status = sqlite_end_lazy(db, st->sql);
	if (!handle && st->status == SQLITE_OK) {
		st->status = sqlite3_prepare_v3(sqlite_of(db), st->sql->text, -1,
						SQLITE_PREPARE_PERSISTENT, &handle, NULL);
		p->handle = handle;
	}
	st->handle = handle;
}

static void sqlite_stmt_again(struct ux_stmt *st)
{
	sqlite3_reset(st->handle);
}

static void sqlite_stmt_end(struct ux_stmt *st)
{
	sqlite_stmt_again(st);
	sqlite3_clear_bindings(st->handle);
}

/*
 * Returns the number of a parameter. If the statement has no such parameter, returns 0, and the
 * statement fails.
 */
static int sqlite_parameter(struct ux_stmt *st, const char *name)
{
	int n = st->handle ? sqlite3_bind_parameter_index(st->handle, name) : 0;
	if (n == 0 && st->status == SQLITE_OK)
		st->status = SQLITE_RANGE;
	return n;
}

static void sqlite_latch(struct ux_stmt *st, int status)
{
	if (st->status == SQLITE_OK)
		st->status = status;
}

static void sqlite_bind_int(struct ux_stmt *st, const char *name, int64_t v)
{
	int n = sqlite_parameter(st, name);
	if (n > 0)
		sqlite_latch(st, sqlite3_bind_int64(st->handle, n, v));
}

static void sqlite_bind_text(struct ux_stmt *st, const char *name, const char *text)
{
	int n = sqlite_parameter(st, name);
	if (n > 0)
		sqlite_latch(st, sqlite3_bind_text(st->handle, n, text, -1, SQLITE_STATIC));
}

static void sqlite_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size)
{
	int n = sqlite_parameter(st, name);
	if (n > 0)
		sqlite_latch(st, sqlite3_bind_blob64(st->handle, n, data, size, SQLITE_STATIC));
}

static enum ux_code sqlite_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err)
{
	if (st->status == SQLITE_RANGE)
		return ux_error_set(err, UX_EIO, "statement %s has no such parameter",
				    st->sql->name);
	if (st->status != SQLITE_OK)
		return sqlite_fail(st->db, err);
	int status = sqlite3_step(st->handle);
	if (status != SQLITE_ROW && status != SQLITE_DONE)
		return sqlite_fail(st->db, err);
	st->db->given_up = false;
	*ret_row = status == SQLITE_ROW;
	return UX_OK;
}

static uint64_t sqlite_changed(struct ux_stmt *st)
{
	return (uint64_t)sqlite3_changes64(sqlite_of(st->db));
}

static int64_t sqlite_column_int(struct ux_stmt *st, int n)
{
	return sqlite3_column_int64(st->handle, n);
}

static const char *sqlite_column_text(struct ux_stmt *st, int n, size_t *ret_size)
{
	const void *text = sqlite3_column_text(st->handle, n);
	*ret_size = (size_t)sqlite3_column_bytes(st->handle, n);
	return text;
}

static const void *sqlite_column_bytes(struct ux_stmt *st, int n, size_t *ret_size)
{
	const void *bytes = sqlite3_column_blob(st->handle, n);
	*ret_size = (size_t)sqlite3_column_bytes(st->handle, n);
	return bytes;
}

static bool sqlite_column_is_null(struct ux_stmt *st, int n)
{
	return sqlite3_column_type(st->handle, n) == SQLITE_NULL;
}

static enum ux_code sqlite_run(struct ux_db *db, const struct ux_sql *sql, struct ux_error *err)
{
	UX_STMT(st, db, sql);
	return ux_stmt_run(&st, NULL, err);
}

static enum ux_code sqlite_begin(struct ux_db *db, enum ux_tx_kind kind, enum ux_tx_scope scope,
				 struct ux_error *err)
{
	(void)scope; /* there is only one writer at a time */
	if (kind == UX_TX_READ)
		return sqlite_run(db, &sql_begin_read, err);
	UX_TRY(sqlite_be_lazy(db, kind == UX_TX_LAZY, err));
	return sqlite_run(db, &sql_begin, err);
}

/* Commits. One that waited for the disk does not count as a sync of earlier commits. */
static enum ux_code sqlite_commit(struct ux_db *db, bool promise, bool *ret_durable,
				  struct ux_error *err)
{
	(void)promise;
	*ret_durable = false;
	return sqlite_run(db, &sql_commit, err);
}

static enum ux_code sqlite_rollback(struct ux_db *db)
{
	return sqlite_run(db, &sql_rollback, NULL);
}

/*
 * Syncs the log through a descriptor of our own. The log has no locks that closing the descriptor
 * could release: SQLite's are on the database and its shared memory. SQLite synced the log's folder
 * when it created the log, and syncs the log before it copies pages to the database.
 */
static enum ux_code sqlite_sync_log(struct ux_db *db, struct ux_error *err)
{
	struct ux_db_log *log = &db->log;
	if (db->throwaway)
		return UX_OK;
	const char *path = sqlite3_filename_wal(sqlite3_db_filename(sqlite_of(db), "main"));
	if (log->fd < 0)
		log->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (log->fd < 0)
		return ux_error_os(err, errno, "cannot open the log of the index");
	return fdatasync(log->fd) == 0
		       ? UX_OK
		       : ux_error_os(err, errno, "cannot sync the log of the index");
}

/* Runs the SQL text that a SELECT returns; NULL: none. */
static enum ux_code sqlite_exec_selected(struct ux_db *db, const char *select, struct ux_error *err)
{
	sqlite3_stmt *s = NULL;
	if (sqlite3_prepare_v2(sqlite_of(db), select, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW) {
		sqlite3_finalize(s);
		return sqlite_fail(db, err);
	}
	const char *text = (const char *)sqlite3_column_text(s, 0);
	ux_cleanup(ux_free_ptr) char *copy = text ? strdup(text) : NULL;
	sqlite3_finalize(s); /* before the schema changes */
	if (text && !copy)
		return ux_error_nomem(err);
	return copy ? sqlite_exec(db, copy, err) : UX_OK;
}

/* Drops the triggers, because they cannot be turned off; the end creates them again. */
static enum ux_code sqlite_bulk_begin(struct ux_db *db, struct ux_error *err)
{
	UX_TRY(sqlite_exec(
		db,
		"PRAGMA defer_foreign_keys = ON;"
		"CREATE TEMP TABLE ux_triggers AS SELECT name, sql FROM main.sqlite_master "
		"WHERE type = 'trigger'",
		err));
	return sqlite_exec_selected(
		db, "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM temp.ux_triggers", err);
}

static enum ux_code sqlite_bulk_end(struct ux_db *db, struct ux_error *err)
{
	UX_TRY(sqlite_exec_selected(db, "SELECT group_concat(sql, ';') FROM temp.ux_triggers",
				    err));
	return sqlite_exec(db, "DROP TABLE temp.ux_triggers", err);
}

static enum ux_code sqlite_bulk_rows(struct ux_db *db, const char *select, unsigned number,
				     struct ux_out *out, struct ux_error *err)
{
	(void)db;
	(void)number;
	(void)err;
	ux_out_cstr(out, select);
	return UX_OK;
}

static const struct ux_db_bulk sqlite_bulk = {
	.columns =
		{"sqlite_columns",
		 "SELECT t.name, c.name, c.type FROM sqlite_master t, pragma_table_xinfo(t.name) c "
		 "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0 "
		 "ORDER BY t.name, c.cid"},
	.numbering = {"sqlite_numbering", "SELECT name, seq FROM sqlite_sequence"},
	.renumber = {"sqlite_renumber",
		     "INSERT INTO sqlite_sequence (name, seq) SELECT :name, max(:last, "
		     "coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = :name), 0))"},
	.begin = sqlite_bulk_begin,
	.end = sqlite_bulk_end,
	.rows = sqlite_bulk_rows,
};

const struct ux_db_engine ux_sqlite_engine = {
	.open = sqlite_open,
	.close = sqlite_close,
	.migrate = sqlite_migrate,
	.copy = sqlite_copy,
	.verify = sqlite_verify,
	.fail = sqlite_fail,
	.sync = sqlite_sync_log,
	.checkpoint_aside = sqlite_checkpoint_aside,
	.is_behind = sqlite_is_behind,
	.begin = sqlite_begin,
	.commit = sqlite_commit,
	.commit_waits = true,
	.rollback = sqlite_rollback,
	.bulk = &sqlite_bulk,
	.stmt_begin = sqlite_stmt_begin,
	.stmt_end = sqlite_stmt_end,
	.stmt_again = sqlite_stmt_again,
	.bind_int = sqlite_bind_int,
	.bind_text = sqlite_bind_text,
	.bind_bytes = sqlite_bind_bytes,
	.bind_pattern = sqlite_bind_text,
	.step = sqlite_step,
	.changed = sqlite_changed,
	.column_int = sqlite_column_int,
	.column_text = sqlite_column_text,
	.column_bytes = sqlite_column_bytes,
	.column_is_null = sqlite_column_is_null,
};
