/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a database engine provides for db.h. They are called with the connection's
 * lock held, or by the thread that took it from a pool; only sync() is called without the lock.
 */
#ifndef UX_DB_ENGINE_H
#define UX_DB_ENGINE_H

#include "db.h"
#include "db_bulk.h"

/* Returns whether the commit of a transaction waits for the disk. */
enum ux_tx_kind {
	UX_TX_READ, /* one consistent snapshot, no writes */
	UX_TX_DURABLE,
	UX_TX_LAZY, /* survives a crash of the process, but not a power cut */
};

struct ux_db_engine {
	/* Connects for writes, or only for reads. */
	enum ux_code (*open)(struct ux_db *db, const char *location, bool reader,
			     struct ux_error *err);
	void (*close)(struct ux_db *db);
	enum ux_code (*migrate)(struct ux_db *db, struct ux_error *err);
	enum ux_code (*copy)(struct ux_db *db, const char *path, struct ux_error *err);
	enum ux_code (*verify)(struct ux_db *db, struct ux_error *err);
	enum ux_code (*fail)(struct ux_db *db, struct ux_error *err);
	bool remote; /* each statement is a round trip to a server */
	/* Makes all commits so far durable. */
	enum ux_code (*sync)(struct ux_db *db, struct ux_error *err);
	/* ux_db_checkpoint_aside(). NULL: the database needs no such thread. */
	enum ux_code (*checkpoint_aside)(struct ux_db *db, struct ux_error *err);
	bool (*is_behind)(struct ux_db *db); /* ux_db_is_behind(). NULL: never */

	enum ux_code (*begin)(struct ux_db *db, enum ux_tx_kind kind, enum ux_tx_scope scope,
			      struct ux_error *err);
	/*
	 * promise: the transaction is confirmed to a client after ux_db_sync(). *ret_durable: all
	 * commits so far, this one included, are durable now.
	 */
	enum ux_code (*commit)(struct ux_db *db, bool promise, bool *ret_durable,
			       struct ux_error *err);
	/*
	 * When a commit of a durable transaction returns, it has waited for the disk, so that a
	 * failed one has changed nothing. False: ux_db_sync() follows.
	 */
	bool commit_waits;
	enum ux_code (*rollback)(struct ux_db *db);

	/* ux_db_wait() and ux_db_moment(). NULL: the database is not a server. */
	enum ux_code (*wait)(struct ux_db *db, int wake_fd, uint32_t timeout_ms, bool *ret,
			     struct ux_error *err);
	enum ux_code (*moment)(struct ux_db *db, struct ux_db_moment *ret, struct ux_error *err);

	/*
	 * Adds the counts of a connection; any thread, while it is open. NULL: the database is not
	 * a server.
	 */
	void (*count)(const struct ux_db *db, struct ux_db_counts *to);

	const struct ux_db_bulk *bulk; /* for copies of all rows */

	/* Sets st->handle, or st->status. */
	void (*stmt_begin)(struct ux_stmt *st);
	void (*stmt_end)(struct ux_stmt *st);
	void (*stmt_again)(struct ux_stmt *st);
	void (*bind_int)(struct ux_stmt *st, const char *name, int64_t v);
	void (*bind_text)(struct ux_stmt *st, const char *name, const char *text);
	void (*bind_bytes)(struct ux_stmt *st, const char *name, const void *data, size_t size);
	/* A pattern of glob.h, in the form that the database's ux_glob() takes. */
	void (*bind_pattern)(struct ux_stmt *st, const char *name, const char *pattern);
	enum ux_code (*step)(struct ux_stmt *st, bool *ret_row, struct ux_error *err);
	/*
	 * Runs a statement whose result is not needed. In a transaction of writes its failure may
	 * be reported by a later statement, or by the commit. NULL: step() runs it.
	 */
	enum ux_code (*run_later)(struct ux_stmt *st, struct ux_error *err);
	uint64_t (*changed)(struct ux_stmt *st);
	int64_t (*column_int)(struct ux_stmt *st, int n);
	/* NUL-terminated; NULL: the column is NULL, or memory is short. Valid until the next step.
	 */
	const char *(*column_text)(struct ux_stmt *st, int n, size_t *ret_size);
	const void *(*column_bytes)(struct ux_stmt *st, int n, size_t *ret_size);
	bool (*column_is_null)(struct ux_stmt *st, int n);
};

extern const struct ux_db_engine ux_sqlite_engine;
extern const struct ux_db_engine ux_postgres_engine;

/* Returns the slot of a statement in db->prepared; its handle is NULL on first use. */
struct ux_db_prepared *ux_db_prepared(struct ux_db *db, const struct ux_sql *sql);

/* --- sums of rows in SQLite --------------------------------------------------------------------
 */

struct sqlite3;

/* Defines row_sum() on a connection, which every write to the tables with sums needs. */
bool ux_sqlite_define_row_sum(struct sqlite3 *sqlite);

/* --- checkpoints of SQLite -------------------------------------------------------------------- */

/*
 * Copies pages of the log into the database while the writer continues: no commit waits for it.
 * Without it, the commit that fills the log copies all of it before it returns.
 */
struct ux_checkpointer;

/*
 * Attaches to the writer's connection, and copies the log whenever it has that many pages. Starts
 * the thread the first time. Call it before other threads use the connection.
 */
enum ux_code ux_checkpointer_open(struct ux_checkpointer **ret, struct ux_db *writer,
				  unsigned log_pages, struct ux_error *err) ux_must;

/* Tests whether the log has grown to at least twice those pages. Any thread. */
bool ux_checkpointer_is_behind(struct ux_checkpointer *c);

/* Ends the thread; the log remains. Call it before the connection is closed. NULL is allowed. */
void ux_checkpointer_close(struct ux_checkpointer *c);

#endif
