/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a database behind db.h has to provide. The functions are called with the connection's lock
 * held, or by the thread that took it from a pool; only sync() is called without.
 */
#ifndef UX_DB_ENGINE_H
#define UX_DB_ENGINE_H

#include "db.h"
#include "db_bulk.h"

/* What the commit of a transaction waits for. */
enum ux_tx_kind {
	UX_TX_READ, /* one consistent snapshot, no writes */
	UX_TX_DURABLE,
	UX_TX_LAZY, /* survives a crash of the process, but not a power cut */
};

struct ux_db_engine {
	/* Connects for writes or for reads alone. */
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
	/* ux_db_checkpoint_aside(). NULL: the database does so by itself. */
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
	 * A commit of a durable transaction has waited for the disk when it returns, so that one
	 * that failed has changed nothing. Otherwise ux_db_sync() follows.
	 */
	bool commit_waits;
	enum ux_code (*rollback)(struct ux_db *db);

	/* ux_db_wait() and ux_db_moment(). NULL: of a database that is no server. */
	enum ux_code (*wait)(struct ux_db *db, int wake_fd, uint32_t timeout_ms, bool *ret,
			     struct ux_error *err);
	enum ux_code (*moment)(struct ux_db *db, struct ux_db_moment *ret, struct ux_error *err);

	/* Adds what a connection has done; any thread, while it is open. NULL: it is no server. */
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
	 * Runs a statement whose result is not needed. In a transaction of writes it may fail when
	 * a later one does, or the commit. NULL: step() does.
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

/* The place of a statement in db->prepared; its handle is NULL when it is used for the first time.
 */
struct ux_db_prepared *ux_db_prepared(struct ux_db *db, const struct ux_sql *sql);

/* --- checkpoints of SQLite -------------------------------------------------------------------- */

/*
 * Copies pages of the log into the database while the writer goes on: no commit waits for that.
 * Without it, the commit that fills the log copies all of it before it returns.
 */
struct ux_checkpointer;

/*
 * Begins for the writer's connection, once its log has so many pages. The thread is started when
 * that is so for the first time. Call it before other threads use the connection.
 */
enum ux_code ux_checkpointer_open(struct ux_checkpointer **ret, struct ux_db *writer,
				  unsigned log_pages, struct ux_error *err) ux_must;

/* Has the log grown to twice those pages, or more? Any thread. */
bool ux_checkpointer_is_behind(struct ux_checkpointer *c);

/* Ends the thread; the log stays as it is. Call it before the connection is closed. NULL is
 * allowed.
 */
void ux_checkpointer_close(struct ux_checkpointer *c);

#endif
