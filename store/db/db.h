/* SPDX-License-Identifier: Apache-2.0 */
/* One connection to an SQL database: prepared statements, named parameters, rows, transactions. */
#ifndef UX_DB_H
#define UX_DB_H

#include "arena.h"
#include "bytes.h"
#include "error.h"

#include <pthread.h>

/*
 * A statement with named parameters (:id). It is defined next to the function that binds its
 * parameters and reads its columns. The text uses the SQL that SQLite and PostgreSQL share;
 * docs/store.md lists the differences. Only PostgreSQL reads text in a comment that begins with
 * "postgres ".
 */
struct ux_sql {
	const char *name; /* for error messages */
	const char *text;
};

#define UX_SQL(variable, sql_text) static const struct ux_sql variable = {#variable, sql_text}

/* A database: SQLite or PostgreSQL (db_engine.h). */
struct ux_db_engine;

/* A prepared statement of a connection. The address of its struct ux_sql is the key. */
struct ux_db_prepared {
	const struct ux_sql *sql;
	void *handle; /* the engine's */
};

enum {
	/*
	 * Slots of the hash table, a power of two. It may have to hold every statement of the
	 * program, and must never be full: a search ends at a free slot.
	 */
	UX_DB_STATEMENTS_MAX = 1024,
	/* seconds after which a server that shares the database and has not reported has ended */
	UX_NODE_DEAD_S = 15
};

struct ux_checkpointer;
struct ux_id_filter;
struct ux_readers;
struct ux_room;

/*
 * The log of a database: tells whether commits that did not wait for the disk are on it by now.
 * Commits are numbered from 1.
 */
struct ux_db_log {
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	int fd;       /* -1: not opened yet */
	bool syncing; /* a thread syncs the log now; others wait for it */
	uint64_t committed;
	uint64_t promised; /* the last commit that was confirmed to a client */
	uint64_t synced;
};

/*
 * A connection. One thread at a time uses it: the thread that holds lock, or took it from a pool.
 */
struct ux_db {
	pthread_mutex_t lock;
	const struct ux_db_engine *engine; /* NULL: not opened */
	void *connection;                  /* the engine's */
	/* filled in when a statement is first used */
	struct ux_db_prepared prepared[UX_DB_STATEMENTS_MAX];
	size_t n_prepared;
	struct ux_id_filter *filter; /* filter of all IDs; borrowed; NULL: no filter */
	/* another process has held the index for too long: do not wait for it again */
	bool given_up;
	bool lazy;      /* commits do not wait for the disk: ux_tx_begin_lazy() */
	bool throwaway; /* no commit ever does: ux_index_throw_away() */
	struct ux_db_log log;
	struct ux_checkpointer *checkpointer; /* the engine's; NULL: commits copy the log */
	/* time of the monotonic clock at which a statement is interrupted; 0: never */
	int64_t deadline_ns;
	uint32_t limit_ms;          /* the same as a duration in ms, for the message */
	struct ux_readers *readers; /* the pool of the connection; NULL: none */
	bool taken;                 /* guarded by the pool's lock, like the next one */
	bool scans;                 /* taken for a query that may read every row */
	struct ux_room *room;       /* for writes; borrowed; NULL: not limited */
};

/*
 * Opens an SQLite file, or creates it; or connects to a PostgreSQL database, when location is a URL
 * that begins with "postgres://" or "postgresql://". A commit is on the disk before it returns.
 */
enum ux_code ux_db_open(struct ux_db *db, const char *location, struct ux_error *err) ux_must;

/* Opens an existing database only for reads, with a small cache. */
enum ux_code ux_db_open_reader(struct ux_db *db, const char *location, struct ux_error *err)
	ux_must;

/*
 * Limits statements from now on: they are interrupted limit_ms after this call, and return
 * UX_EUNAVAILABLE. 0: no limit.
 */
void ux_db_limit(struct ux_db *db, uint32_t limit_ms);
/* Checks the limit, for work of many short statements. UX_EUNAVAILABLE: deadline exceeded. */
enum ux_code ux_db_check_limit(struct ux_db *db, struct ux_error *err) ux_must;
void ux_db_close(struct ux_db *db);

/* Tests whether it is the URL of a database, not the path of a file. */
bool ux_db_is_url(const char *location);

/*
 * Runs the missing schema steps in one transaction, so that a crash leaves either the old schema or
 * the new one. UX_EUNSUPPORTED: the schema is newer than this program, or older than its base.
 */
enum ux_code ux_db_migrate(struct ux_db *db, struct ux_error *err) ux_must;

/* Sets the error of the last failure: UX_ENOMEM, UX_EUNAVAILABLE (busy), otherwise UX_EIO. */
enum ux_code ux_db_fail(struct ux_db *db, struct ux_error *err);

/* Copies the current state of the database to a new file, which is on the disk on return. */
enum ux_code ux_db_copy(struct ux_db *db, const char *path, struct ux_error *err) ux_must;

/* Runs the integrity check of the database. UX_EIO: the message describes the damage. */
enum ux_code ux_db_verify(struct ux_db *db, struct ux_error *err) ux_must;

struct ux_schema_step {
	const char *name; /* name of its file */
	const char *sql;
};

/* The schema files. The database stores the number of the last one that has been run. */
struct ux_schema {
	const struct ux_schema_step *steps; /* steps in the order of their numbers; {0}: the end */
	int base;    /* number of the first step, which makes all tables in an empty database */
	int version; /* number of the last step */
};
extern const struct ux_schema ux_sqlite_schema, ux_postgres_schema;

/* The first step that a database of `version` lacks; 0: it is empty. */
const struct ux_schema_step *ux_schema_missing(const struct ux_schema *s, int version);

/* UX_EUNSUPPORTED: the database is not empty, and its version is below the base. */
enum ux_code ux_schema_check_base(const struct ux_schema *s, int version, struct ux_error *err)
	ux_must;

/*
 * Returns UX_EUNSUPPORTED: the database has steps up to `version`, which this program does not
 * know.
 */
enum ux_code ux_schema_fail_newer(const struct ux_schema *s, int version, struct ux_error *err);

/* A statement in use. A failed bind is remembered and returned by the next step. */
struct ux_stmt {
	struct ux_db *db;
	const struct ux_sql *sql;
	void *handle; /* the engine's; NULL: it could not be prepared */
	int status;   /* the engine's; 0: nothing has failed */
};

struct ux_stmt ux_stmt_begin(struct ux_db *db, const struct ux_sql *sql);
void ux_stmt_end(struct ux_stmt *st);

/* Resets a statement, so that it can be run again: parameters stay until they are bound again. */
void ux_stmt_again(struct ux_stmt *st);

/* Declares a statement that is released at the end of the scope. */
#define UX_STMT(name, db, sql) \
	ux_cleanup(ux_stmt_end) struct ux_stmt name = ux_stmt_begin((db), (sql))

/*
 * name includes its colon. Text and bytes must live until the statement ends. A parameter that is
 * not bound is NULL.
 */
void ux_stmt_bind_int(struct ux_stmt *st, const char *name, int64_t v);
void ux_stmt_bind_text(struct ux_stmt *st, const char *name, const char *text);
void ux_stmt_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size);

/*
 * Binds a valid pattern of glob.h, or "", for the first argument of ux_glob(). If the statement
 * also compares it directly, then only with ''.
 */
void ux_stmt_bind_pattern(struct ux_stmt *st, const char *name, const char *pattern);

/* Binds 0 as NULL, for columns that may refer to a row. */
void ux_stmt_bind_int_or_null(struct ux_stmt *st, const char *name, int64_t v);

/* Runs to the next row; *ret_row is false after the last one. */
enum ux_code ux_stmt_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err) ux_must;

/*
 * Runs a statement that returns no rows. *ret_changed is the number of changed rows. ret_changed
 * NULL: in a transaction of writes, a later statement or the commit may fail instead of this one,
 * because it is sent to a database server together with the next one.
 */
enum ux_code ux_stmt_run(struct ux_stmt *st, uint64_t *ret_changed, struct ux_error *err) ux_must;

/* Runs an INSERT of one row with RETURNING number. */
enum ux_code ux_stmt_run_returning(struct ux_stmt *st, int64_t *ret, struct ux_error *err) ux_must;

/* Columns are counted from 0. Text is copied to the arena; NULL when the arena is full. */
int64_t ux_stmt_get_int(struct ux_stmt *st, int n);
const char *ux_stmt_get_text(struct ux_stmt *st, int n, struct ux_arena *arena);
/* The text is valid until the next step. NULL when memory is short. */
const char *ux_stmt_peek_text(struct ux_stmt *st, int n);
bool ux_stmt_is_null(struct ux_stmt *st, int n);
/* UX_EIO unless the column has exactly size bytes. */
enum ux_code ux_stmt_get_bytes(struct ux_stmt *st, int n, void *data, size_t size,
			       struct ux_error *err) ux_must;

/*
 * Scope of a transaction that writes: the transactions of other connections that wait for it, if
 * several servers share the database. SQLite has only one writer at a time.
 */
enum ux_tx_scope {
	UX_TX_INDEX,    /* transactions of this scope: for checks that hold until the commit */
	UX_TX_JOBS,     /* the same, among transactions that lease jobs */
	UX_TX_PACKAGES, /* the same, among transactions that write packages */
	UX_TX_UPLOADS,  /* the same, among transactions that announce uploads */
	UX_TX_ROWS,     /* only transactions that write the same rows */
};

/* A transaction. ux_tx_end() rolls it back unless it has been committed. */
struct ux_tx {
	struct ux_db *db;
	bool durable;    /* its commit waits for the disk */
	uint64_t number; /* number of the commit */
	bool open;
};
enum ux_code ux_tx_begin(struct ux_tx *tx, struct ux_db *db, struct ux_error *err) ux_must;
/*
 * Begins a transaction that survives a crash of the process, but not a power cut: its commit does
 * not wait for the disk. For changes that are simply repeated if they are lost, such as the lease
 * of a job.
 */
enum ux_code ux_tx_begin_lazy(struct ux_tx *tx, struct ux_db *db, struct ux_error *err) ux_must;
/* Begins a transaction of a scope other than UX_TX_INDEX; lazy: as in ux_tx_begin_lazy(). */
enum ux_code ux_tx_begin_in(struct ux_tx *tx, struct ux_db *db, enum ux_tx_scope scope, bool lazy,
			    struct ux_error *err) ux_must;
/*
 * Waits until a commit is on the disk. Threads that wait at the same time share one sync. Any
 * thread.
 */
enum ux_code ux_db_sync(struct ux_db *db, uint64_t number, struct ux_error *err) ux_must;
/*
 * Copies pages of the log into the database in a thread from now on, so that no commit waits for
 * it. Call it before other threads use the connection.
 */
enum ux_code ux_db_checkpoint_aside(struct ux_db *db, struct ux_error *err) ux_must;
/*
 * Tests whether commits come faster than their pages are copied from the log into the database. Any
 * thread.
 */
bool ux_db_is_behind(struct ux_db *db);
/* Return the last commit, and the last one that was committed by ux_tx_promise(). Any thread. */
uint64_t ux_db_committed(struct ux_db *db);
uint64_t ux_db_promised(struct ux_db *db);
/* Begins a transaction for reads of one consistent snapshot. It needs no commit. */
enum ux_code ux_tx_begin_read(struct ux_tx *tx, struct ux_db *db, struct ux_error *err) ux_must;
enum ux_code ux_tx_commit(struct ux_tx *tx, struct ux_error *err) ux_must;
/*
 * Commits a lazy transaction that will be confirmed to a client after ux_db_sync(tx->number). The
 * caller calls that without the connection's lock.
 */
enum ux_code ux_tx_promise(struct ux_tx *tx, struct ux_error *err) ux_must;
void ux_tx_end(struct ux_tx *tx);

/* A moment of a database server. */
struct ux_db_moment {
	int64_t time_ms; /* by the server's clock, since 1970 */
	int64_t place;   /* transactions with lower numbers have ended */
	/* from a replica: ms since the last transaction that it has; otherwise 0 */
	int64_t lag_ms;
};

/*
 * Waits until another connection notifies this one (channel "unhex"), wake_fd can be read, or the
 * timeout expires. *ret: it was notified, or may have been while it was not connected.
 * UX_EUNSUPPORTED: the database is not a server.
 */
enum ux_code ux_db_wait(struct ux_db *db, int wake_fd, uint32_t timeout_ms, bool *ret,
			struct ux_error *err) ux_must;
enum ux_code ux_db_moment(struct ux_db *db, struct ux_db_moment *ret, struct ux_error *err) ux_must;

/* Counts of connections to a server since they were opened. */
struct ux_db_counts {
	uint64_t round_trips; /* answers that were waited for */
	uint64_t connected;   /* connections that were opened */
	uint64_t refused;     /* failed attempts to open one */
};

/* Adds the counts of a connection. Nothing for a database that is not a server. Any thread. */
void ux_db_count(const struct ux_db *db, struct ux_db_counts *to);

/* Copies n elements of size bytes into the arena. NULL only on failure. */
void *ux_rows_copy(struct ux_arena *arena, const void *data, size_t n, size_t size);

/* Holds the connection's lock until the end of the scope. */
static inline pthread_mutex_t *ux_lock_hold(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	return m;
}
static inline void ux_lock_release(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}
#define UX_LOCKED(mutex)                                                               \
	ux_cleanup(ux_lock_release) __attribute__((unused)) pthread_mutex_t *UX_PASTE( \
		ux_held_, __LINE__) = ux_lock_hold(mutex)

#endif
