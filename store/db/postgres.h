/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the PostgreSQL engine: a connection by libpq, which is loaded on demand.
 * Sources: PostgreSQL 15 documentation, chapter 34 (libpq) and appendix A (error codes).
 */
#ifndef UX_POSTGRES_H
#define UX_POSTGRES_H

#include "db_engine.h"

#include <libpq-fe.h>
#include <stdatomic.h>

enum {
	UX_POSTGRES_NUMBER = 24,   /* bytes of a 64-bit number as text */
	UX_POSTGRES_STATE = 5 + 1, /* bytes of an SQLSTATE */
};

#define UX_POSTGRES_CALLS(X)    \
	X(PQbackendPID)         \
	X(PQclear)              \
	X(PQcmdTuples)          \
	X(PQconnectdbParams)    \
	X(PQconsumeInput)       \
	X(PQerrorMessage)       \
	X(PQexec)               \
	X(PQexecPrepared)       \
	X(PQfinish)             \
	X(PQfreemem)            \
	X(PQgetisnull)          \
	X(PQgetlength)          \
	X(PQgetvalue)           \
	X(PQnotifies)           \
	X(PQntuples)            \
	X(PQprepare)            \
	X(PQreset)              \
	X(PQresultErrorField)   \
	X(PQresultStatus)       \
	X(PQsetNoticeProcessor) \
	X(PQsocket)             \
	X(PQstatus)

#define UX_POSTGRES_PIPELINE_CALLS(X) \
	X(PQenterPipelineMode)        \
	X(PQexitPipelineMode)         \
	X(PQgetResult)                \
	X(PQpipelineSync)             \
	X(PQsendQuery)                \
	X(PQsendQueryParams)          \
	X(PQsendQueryPrepared)

struct ux_postgres_calls {
#define UX_POSTGRES_CALL(name) __typeof__(&(name)) name;
	UX_POSTGRES_CALLS(UX_POSTGRES_CALL)
#undef UX_POSTGRES_CALL
};

/* Functions of libpq 14 and later, which let several statements share a round trip. */
struct ux_postgres_pipeline_calls {
#define UX_POSTGRES_CALL(name) __typeof__(&(name)) name;
	UX_POSTGRES_PIPELINE_CALLS(UX_POSTGRES_CALL)
#undef UX_POSTGRES_CALL
};

/* A connection. Used by one thread at a time, which holds the lock of its struct ux_db. */
struct ux_postgres {
	/* counters of struct ux_db_counts, so that no memory order is needed */
	_Atomic uint64_t round_trips;
	_Atomic uint64_t connected;
	_Atomic uint64_t refused;
	struct ux_postgres_calls calls;
	PGconn *connection;
	/* only for sync(), which may run in parallel to a statement; NULL: not open */
	PGconn *sync;
	char *location; /* a URL, which may contain a password */
	bool reader;
	unsigned session;   /* number of the connection, from 1 */
	unsigned listening; /* the session that listens to other nodes; 0: none */
	bool lost;          /* a statement failed without an answer of the server */
	bool open;          /* in a transaction */
	bool pipelines;     /* `pipeline` may be used */
	struct ux_postgres_pipeline_calls pipeline;
	/*
	 * statement that begins a transaction for reads, sent together with its first statement;
	 * NULL: none pending
	 */
	const char *begin;
	bool reads;          /* the open transaction only reads */
	bool ending;         /* its end was sent, and the answer has not been read yet */
	unsigned waiting;    /* statements of the open transaction with unread answers */
	uint32_t timeout_ms; /* timeout of the session */
	int64_t retry_ns;    /* monotonic time before which it does not try to connect again */
	char state[UX_POSTGRES_STATE];
	char message[UX_ERROR_TEXT];
	char away[UX_ERROR_TEXT]; /* why the last attempt to connect failed */
};

static inline struct ux_postgres *ux_postgres_of(const struct ux_db *db)
{
	return db->connection;
}

/*
 * Functions that return a code without setting an error store it in the connection;
 * ux_postgres_fail() sets it.
 */

/* Open and close a connection, for the engine. */
enum ux_code ux_postgres_open(struct ux_db *db, const char *location, bool reader,
			      struct ux_error *err) ux_must;
void ux_postgres_close(struct ux_db *db);

/*
 * Opens a connection with the parameters of p. NULL: memory is short; otherwise it may have failed.
 */
PGconn *ux_postgres_connect(const struct ux_postgres *p);

/* Tests whether the connection is open, as far as is known without using it. */
bool ux_postgres_is_connected(const struct ux_postgres *p);

/* Reconnects if the connection is lost, unless that has just failed or a transaction is open. */
enum ux_code ux_postgres_ensure(struct ux_db *db) ux_must;

/*
 * Sets the timeout of statements to the limit of db. Does nothing in a transaction, because its end
 * would undo that.
 */
enum ux_code ux_postgres_set_timeout(struct ux_db *db) ux_must;

/* Clears the result. UX_EIO: it is an error. */
enum ux_code ux_postgres_check(struct ux_postgres *p, PGresult *result) ux_must;

/* Stores the first line of a message, and its SQLSTATE (NULL: the connection failed). */
void ux_postgres_keep_error(struct ux_postgres *p, const char *state, const char *message);

/* Sets the stored error, and returns its code. */
enum ux_code ux_postgres_fail(struct ux_db *db, struct ux_error *err);

/* Runs PQexec() on one of the connections of p, counted as one round trip. */
PGresult *ux_postgres_query(struct ux_postgres *p, PGconn *connection, const char *sql);

/* Counts a round trip. */
void ux_postgres_note_trip(struct ux_postgres *p);

/* Adds the counters, for the engine. */
void ux_postgres_count(const struct ux_db *db, struct ux_db_counts *to);

/*
 * Sends the end of a transaction for reads; its answer is read before the connection is used again.
 * False: it has to be run normally.
 */
bool ux_postgres_send_end(struct ux_postgres *p);

/*
 * Sends p->begin and a prepared statement together, and returns the answer to the statement; if
 * p->begin succeeded, the transaction is open. NULL: memory is short, or the connection is lost.
 */
PGresult *ux_postgres_begin_with(struct ux_postgres *p, const char *name, int n,
				 const char *const *values, const int *sizes, const int *formats);

enum {
	UX_POSTGRES_WAITING_MAX = 64, /* statements that are sent before an answer is read */
};

/*
 * Sends a prepared statement without waiting, in an open transaction. False: memory is short, or
 * the connection is lost.
 */
bool ux_postgres_send_later(struct ux_postgres *p, const char *name, int n,
			    const char *const *values, const int *sizes, const int *formats);

/*
 * Reads the answers to statements sent by ux_postgres_send_later(); runs sql, one statement, after
 * them (NULL: none). Returns the first failure, or else the last answer; NULL as for
 * ux_postgres_begin_with().
 */
PGresult *ux_postgres_read_waiting(struct ux_postgres *p, const char *sql);

/* Runs SQL text that returns no rows. */
enum ux_code ux_postgres_exec(struct ux_db *db, const char *sql, struct ux_error *err) ux_must;

/* Notifications of other nodes, and the database's clock, for the engine. */
enum ux_code ux_postgres_wait(struct ux_db *db, int wake_fd, uint32_t timeout_ms, bool *ret,
			      struct ux_error *err);
enum ux_code ux_postgres_moment(struct ux_db *db, struct ux_db_moment *ret, struct ux_error *err);

/* Statements, for the engine. */
void ux_postgres_stmt_begin(struct ux_stmt *st);
void ux_postgres_stmt_end(struct ux_stmt *st);
void ux_postgres_stmt_again(struct ux_stmt *st);
void ux_postgres_stmt_free(const struct ux_postgres *p, void *handle);
void ux_postgres_bind_int(struct ux_stmt *st, const char *name, int64_t v);
void ux_postgres_bind_text(struct ux_stmt *st, const char *name, const char *text);
void ux_postgres_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size);
void ux_postgres_bind_pattern(struct ux_stmt *st, const char *name, const char *pattern);
enum ux_code ux_postgres_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err) ux_must;
enum ux_code ux_postgres_run_later(struct ux_stmt *st, struct ux_error *err) ux_must;
uint64_t ux_postgres_changed(struct ux_stmt *st);
int64_t ux_postgres_column_int(struct ux_stmt *st, int n);
const char *ux_postgres_column_text(struct ux_stmt *st, int n, size_t *ret_size);
const void *ux_postgres_column_bytes(struct ux_stmt *st, int n, size_t *ret_size);
bool ux_postgres_column_is_null(struct ux_stmt *st, int n);

#endif
