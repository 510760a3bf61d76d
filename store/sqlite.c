/* SPDX-License-Identifier: Apache-2.0 */
/* The SQLite database of an index. This is the only file that uses SQLite. */
#include "db.h"

#include "clock.h"
#include "glob.h"
#include "room.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <time.h>
#include <unistd.h>

enum {
	BUSY_MS = 3000, /* `unhex key` may write while a server is running */
	BUSY_STEP_MS = 2,
	DEADLINE_STEPS = 1000, /* steps of a statement between two looks at its deadline */
	GLOB_ARGUMENTS = 2,
};

/*
 * Pages in the log before they are copied into the database, 16 MiB. A page that several
 * transactions changed is copied once.
 */
#define LOG_PAGES "4096"

/*
 * Called by SQLite while another process holds the index. Only the first writer waits for long. The
 * other writers queue behind it; if each of them waited anew, no thread would be left for requests
 * that only read.
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
	case SQLITE_INTERRUPT:
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "the query of the index took longer than %u ms", db->limit_ms);
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
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? UX_OK
									    : ux_db_fail(db, err);
}

/* Called by SQLite while a statement runs. Not 0: the statement is interrupted. */
static int sqlite_check_deadline(void *ctx)
{
	const struct ux_db *db = ctx;
	return db->deadline_ns != 0 && ux_clock_ns() > db->deadline_ns;
}

void ux_db_limit(struct ux_db *db, uint32_t limit_ms)
{
	db->limit_ms = limit_ms;
	db->deadline_ns = limit_ms == 0 ? 0 : ux_clock_ns() + (int64_t)limit_ms * UX_CLOCK_NS_IN_MS;
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

enum ux_code ux_db_open(struct ux_db *db, const char *path, struct ux_error *err)
{
	*db = (struct ux_db){.log.fd = -1};
	pthread_mutex_init(&db->lock, NULL);
	pthread_mutex_init(&db->log.lock, NULL);
	pthread_cond_init(&db->log.changed, NULL);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(path, &db->sqlite, flags, NULL) != SQLITE_OK)
		return db->sqlite ? ux_db_fail(db, err) : ux_error_nomem(err);
	sqlite3_extended_result_codes(db->sqlite, 1);
	sqlite3_busy_handler(db->sqlite, sqlite_wait_busy, db);
	/* FULL: in WAL mode a commit is on the disk before it is acknowledged. */
	return sqlite_exec(db,
			   "PRAGMA journal_mode = WAL;"
			   "PRAGMA synchronous = FULL;"
			   "PRAGMA wal_autocheckpoint = " LOG_PAGES ";"
			   "PRAGMA foreign_keys = ON;"
			   "PRAGMA temp_store = MEMORY;"
			   "PRAGMA trusted_schema = OFF;",
			   err);
}

enum ux_code ux_db_open_reader(struct ux_db *db, const char *path, struct ux_error *err)
{
	UX_TRY(ux_db_open(db, path, err));
	if (sqlite3_create_function_v2(db->sqlite, "ux_glob", GLOB_ARGUMENTS,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL,
				       sqlite_glob, NULL, NULL, NULL) != SQLITE_OK)
		return ux_db_fail(db, err);
	sqlite3_progress_handler(db->sqlite, DEADLINE_STEPS, sqlite_check_deadline, db);
	/* There may be several, so each has half a MiB of pages instead of 2 MiB. */
	return sqlite_exec(db,
			   "PRAGMA query_only = ON;"
			   "PRAGMA cache_size = -512;",
			   err);
}

void ux_db_close(struct ux_db *db)
{
	if (!db->sqlite)
		return;
	for (size_t i = 0; i < UX_DB_STATEMENTS_MOST; i++)
		sqlite3_finalize(db->prepared[i].handle);
	sqlite3_close(db->sqlite);
	if (db->log.fd >= 0)
		close(db->log.fd);
	pthread_cond_destroy(&db->log.changed);
	pthread_mutex_destroy(&db->log.lock);
	pthread_mutex_destroy(&db->lock);
	*db = (struct ux_db){0};
}

/* Reads the single value of a pragma as a number, and as text into a buffer of size bytes. */
static enum ux_code sqlite_pragma(struct ux_db *db, const char *sql, int *ret, char *text,
				  size_t size, struct ux_error *err)
{
	sqlite3_stmt *s = NULL;
	enum ux_code code = UX_OK;
	if (sqlite3_prepare_v2(db->sqlite, sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW) {
		code = ux_db_fail(db, err);
	} else {
		*ret = sqlite3_column_int(s, 0);
		snprintf(text, size, "%s", (const char *)sqlite3_column_text(s, 0));
	}
	sqlite3_finalize(s);
	return code;
}

enum ux_code ux_db_migrate(struct ux_db *db, struct ux_error *err)
{
	int version = 0;
	char text[64];
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	UX_TRY(sqlite_pragma(db, "PRAGMA user_version", &version, text, sizeof(text), err));
	if (version > ux_schema_count)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the index is of schema %d; this unhex knows %d", version,
				    ux_schema_count);
	for (int i = version; i < ux_schema_count; i++)
		UX_TRY(sqlite_exec(db, ux_schema_steps[i].sql, err));
	snprintf(text, sizeof(text), "PRAGMA user_version = %d", ux_schema_count);
	if (version < ux_schema_count)
		UX_TRY(sqlite_exec(db, text, err));
	return ux_tx_commit(&tx, err);
}

/* Removes a database and the files beside it. */
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

/* All pages in one step: a snapshot, while the writer goes on in its log. */
static enum ux_code sqlite_copy_pages(struct ux_db *db, struct ux_db *to, struct ux_error *err)
{
	UX_TRY(sqlite_exec(to, "PRAGMA synchronous = FULL", err));
	sqlite3_backup *copy = sqlite3_backup_init(to->sqlite, "main", db->sqlite, "main");
	if (!copy)
		return ux_db_fail(to, err);
	(void)sqlite3_backup_step(copy, /* all pages */ -1);
	return sqlite3_backup_finish(copy) == SQLITE_OK ? UX_OK : ux_db_fail(to, err);
}

enum ux_code ux_db_copy(struct ux_db *db, const char *path, struct ux_error *err)
{
	struct ux_db to = {0};
	UX_TRY(sqlite_remove(path, err));
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return ux_error_os(err, errno, "cannot make %s", path);
	close(fd);
	int rc = sqlite3_open_v2(path, &to.sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
				 NULL);
	enum ux_code code = rc == SQLITE_OK ? sqlite_copy_pages(db, &to, err)
			    : to.sqlite     ? ux_db_fail(&to, err)
					    : ux_error_nomem(err);
	sqlite3_close(to.sqlite);
	return code;
}

/* The first line of the result is "ok" or describes what is wrong. */
enum ux_code ux_db_verify(struct ux_db *db, struct ux_error *err)
{
	int number = 0;
	char text[UX_ERROR_TEXT];
	UX_TRY(sqlite_pragma(db, "PRAGMA integrity_check(1)", &number, text, sizeof(text), err));
	return strcmp(text, "ok") == 0
		       ? UX_OK
		       : ux_error_set(err, UX_EIO, "the index is damaged: %s", text);
}

/* The entry of a prepared statement, or the free entry where it will be stored. */
static struct ux_db_prepared *sqlite_prepared(struct ux_db *db, const struct ux_sql *sql)
{
	size_t i = (uintptr_t)sql / sizeof(*sql) % UX_DB_STATEMENTS_MOST;
	while (db->prepared[i].sql && db->prepared[i].sql != sql)
		i = (i + 1) % UX_DB_STATEMENTS_MOST;
	return &db->prepared[i];
}

/*
 * Called before each write outside of a transaction, and before each transaction of writes. On a
 * disk that is nearly full, the log is copied into the database and truncated, which needs the
 * least room. It may have had so many bytes that the reserve fits again.
 */
static void sqlite_make_room(struct ux_db *db)
{
	if (!db->room || !sqlite3_get_autocommit(db->sqlite) || !ux_room_release(db->room))
		return;
	sqlite3_wal_checkpoint_v2(db->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
	ux_room_restore(db->room);
}

UX_SQL(sql_begin, "BEGIN IMMEDIATE");
UX_SQL(sql_begin_read, "BEGIN");
UX_SQL(sql_commit, "COMMIT");
UX_SQL(sql_rollback, "ROLLBACK");

/* Whether commits of this connection wait until the disk has them. */
static enum ux_code sqlite_be_lazy(struct ux_db *db, bool lazy, struct ux_error *err)
{
	if (db->lazy == lazy)
		return UX_OK;
	UX_TRY(sqlite_exec(db, lazy ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL",
			   err));
	db->lazy = lazy;
	return UX_OK;
}

/* What a statement changes outside of a transaction is on the disk when it ends. */
static int sqlite_end_lazy(struct ux_db *db, const struct ux_sql *sql)
{
	if (!db->lazy || sql == &sql_begin || !sqlite3_get_autocommit(db->sqlite))
		return SQLITE_OK;
	return sqlite_be_lazy(db, false, NULL) == UX_OK ? SQLITE_OK : sqlite3_errcode(db->sqlite);
}

struct ux_stmt ux_stmt_begin(struct ux_db *db, const struct ux_sql *sql)
{
	sqlite_make_room(db);
	struct ux_db_prepared *p = sqlite_prepared(db, sql);
	struct ux_stmt st = {.db = db, .sql = sql, .status = sqlite_end_lazy(db, sql)};
	if (!p->handle && st.status == SQLITE_OK) {
		st.status = sqlite3_prepare_v3(db->sqlite, sql->text, -1, SQLITE_PREPARE_PERSISTENT,
					       &p->handle, NULL);
		db->n_prepared += p->sql == NULL;
		p->sql = sql;
		if (db->n_prepared == UX_DB_STATEMENTS_MOST)
			abort(); /* a defect of the program: the next search would not end */
	}
	st.handle = p->handle;
	return st;
}

void ux_stmt_end(struct ux_stmt *st)
{
	if (!st->handle)
		return;
	sqlite3_reset(st->handle);
	sqlite3_clear_bindings(st->handle);
}

/*
 * The number of a parameter. If the statement has none of that name, the result is 0 and the
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

void ux_stmt_bind_int(struct ux_stmt *st, const char *name, int64_t v)
{
	int n = sqlite_parameter(st, name);
	if (n > 0)
		sqlite_latch(st, sqlite3_bind_int64(st->handle, n, v));
}

void ux_stmt_bind_int_or_null(struct ux_stmt *st, const char *name, int64_t v)
{
	if (v != 0)
		ux_stmt_bind_int(st, name, v);
}

void ux_stmt_bind_text(struct ux_stmt *st, const char *name, const char *text)
{
	int n = sqlite_parameter(st, name);
	if (n > 0)
		sqlite_latch(st,
			     sqlite3_bind_text(st->handle, n, text ? text : "", -1, SQLITE_STATIC));
}

void ux_stmt_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size)
{
	int n = sqlite_parameter(st, name);
	if (n > 0)
		sqlite_latch(st, sqlite3_bind_blob64(st->handle, n, data, size, SQLITE_STATIC));
}

enum ux_code ux_stmt_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err)
{
	if (st->status == SQLITE_RANGE)
		return ux_error_set(err, UX_EIO, "a parameter that %s does not have",
				    st->sql->name);
	if (st->status != SQLITE_OK)
		return ux_db_fail(st->db, err);
	int status = sqlite3_step(st->handle);
	if (status != SQLITE_ROW && status != SQLITE_DONE)
		return ux_db_fail(st->db, err);
	st->db->given_up = false;
	*ret_row = status == SQLITE_ROW;
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

enum ux_code ux_stmt_run_returning(struct ux_stmt *st, int64_t *ret, struct ux_error *err)
{
	bool row = false;
	UX_TRY(ux_stmt_step(st, &row, err));
	*ret = row ? sqlite3_column_int64(st->handle, 0) : 0;
	return UX_OK;
}

int64_t ux_stmt_get_int(struct ux_stmt *st, int n)
{
	return sqlite3_column_int64(st->handle, n);
}

const char *ux_stmt_get_text(struct ux_stmt *st, int n, struct ux_arena *arena)
{
	const void *text = sqlite3_column_text(st->handle, n);
	return text ? ux_arena_strndup(arena, text, (size_t)sqlite3_column_bytes(st->handle, n))
		    : NULL;
}

const char *ux_stmt_peek_text(struct ux_stmt *st, int n)
{
	return (const char *)sqlite3_column_text(st->handle, n);
}

bool ux_stmt_is_null(struct ux_stmt *st, int n)
{
	return sqlite3_column_type(st->handle, n) == SQLITE_NULL;
}

enum ux_code ux_stmt_get_bytes(struct ux_stmt *st, int n, void *data, size_t size,
			       struct ux_error *err)
{
	const void *bytes = sqlite3_column_blob(st->handle, n);
	if (!bytes || (size_t)sqlite3_column_bytes(st->handle, n) != size)
		return ux_error_set(err, UX_EIO,
				    "the index is damaged: a hash of %d bytes, expected %zu",
				    sqlite3_column_bytes(st->handle, n), size);
	memcpy(data, bytes, size);
	return UX_OK;
}

static enum ux_code sqlite_run(struct ux_db *db, const struct ux_sql *sql, struct ux_error *err)
{
	UX_STMT(st, db, sql);
	return ux_stmt_run(&st, NULL, err);
}

enum ux_code ux_tx_begin(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	*tx = (struct ux_tx){.db = db};
	UX_TRY(sqlite_be_lazy(db, false, err));
	UX_TRY(sqlite_run(db, &sql_begin, err));
	tx->open = true;
	return UX_OK;
}

enum ux_code ux_tx_begin_read(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	*tx = (struct ux_tx){.db = db};
	UX_TRY(sqlite_run(db, &sql_begin_read, err));
	tx->open = true;
	return UX_OK;
}

enum ux_code ux_tx_begin_lazy(struct ux_tx *tx, struct ux_db *db, struct ux_error *err)
{
	*tx = (struct ux_tx){.db = db};
	UX_TRY(sqlite_be_lazy(db, true, err));
	UX_TRY(sqlite_run(db, &sql_begin, err));
	tx->open = true;
	return UX_OK;
}

static enum ux_code tx_commit(struct ux_tx *tx, bool promise, struct ux_error *err)
{
	struct ux_db_log *log = &tx->db->log;
	UX_TRY(sqlite_run(tx->db, &sql_commit, err));
	tx->open = false;
	pthread_mutex_lock(&log->lock);
	tx->number = ++log->committed;
	if (promise)
		log->promised = tx->number;
	pthread_mutex_unlock(&log->lock);
	return UX_OK;
}

enum ux_code ux_tx_commit(struct ux_tx *tx, struct ux_error *err)
{
	return tx_commit(tx, /* promise= */ false, err);
}

enum ux_code ux_tx_promise(struct ux_tx *tx, struct ux_error *err)
{
	return tx_commit(tx, /* promise= */ true, err);
}

uint64_t ux_db_committed(struct ux_db *db)
{
	UX_LOCKED(&db->log.lock);
	return db->log.committed;
}

uint64_t ux_db_promised(struct ux_db *db)
{
	UX_LOCKED(&db->log.lock);
	return db->log.promised;
}

/*
 * Syncs the log by a descriptor of our own. The log has no locks that closing the descriptor could
 * release: SQLite's are on the database and its shared memory. SQLite has synced the log's folder
 * when it made the log, and syncs the log before it copies pages to the database.
 */
static enum ux_code sqlite_sync_log(struct ux_db *db, struct ux_error *err)
{
	struct ux_db_log *log = &db->log;
	const char *path = sqlite3_filename_wal(sqlite3_db_filename(db->sqlite, "main"));
	if (log->fd < 0)
		log->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (log->fd < 0)
		return ux_error_os(err, errno, "cannot open the log of the index");
	return fdatasync(log->fd) == 0
		       ? UX_OK
		       : ux_error_os(err, errno, "cannot sync the log of the index");
}

enum ux_code ux_db_sync(struct ux_db *db, uint64_t number, struct ux_error *err)
{
	struct ux_db_log *log = &db->log;
	enum ux_code code = UX_OK;
	UX_LOCKED(&log->lock);
	while (code == UX_OK && log->synced < number) {
		if (log->syncing) {
			pthread_cond_wait(&log->changed, &log->lock);
			continue;
		}
		uint64_t upto = log->committed;
		log->syncing = true;
		pthread_mutex_unlock(&log->lock);
		code = sqlite_sync_log(db, err);
		pthread_mutex_lock(&log->lock);
		log->syncing = false;
		if (code == UX_OK)
			log->synced = upto;
		pthread_cond_broadcast(&log->changed);
	}
	return code;
}

void ux_tx_end(struct ux_tx *tx)
{
	if (tx->open)
		tx->db->deadline_ns = 0; /* the end of a transaction is not interrupted */
	if (tx->open && sqlite_run(tx->db, &sql_rollback, NULL) == UX_OK)
		tx->open = false;
}
