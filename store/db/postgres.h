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
	UX_POSTGRES_NUMBER = 24,   /* bytes of a number of 64 bits as text */
	UX_POSTGRES_STATE = 5 + 1, /* of an SQLSTATE */
};

#define UX_POSTGRES_CALLS(X)    \
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

/* Those of libpq 14 and later, by which several statements share a round trip. */
struct ux_postgres_pipeline_calls {
#define UX_POSTGRES_CALL(name) __typeof__(&(name)) name;
	UX_POSTGRES_PIPELINE_CALLS(UX_POSTGRES_CALL)
#undef UX_POSTGRES_CALL
};

/* A connection. One thread at a time, which holds the lock of its struct ux_db. */
struct ux_postgres {
	/* counters of struct ux_db_counts, so that no memory order is needed */
	_Atomic uint64_t round_trips;
	_Atomic uint64_t connected;
	_Atomic uint64_t refused;
	struct ux_postgres_calls calls;
	PGconn *connection;
	PGconn *sync;   /* for sync() alone, which may run beside a statement; NULL: not open */
	char *location; /* a URL, which may have a password */
	bool reader;
	unsigned session;   /* counts connections, from 1 */
	unsigned listening; /* the session that listens to other nodes; 0: none */
	bool lost;          /* a statement failed without an answer of the server */
	bool open;          /* in a transaction */
	bool pipelines;     /* `pipeline` may be used */
	struct ux_postgres_pipeline_calls pipeline;
	/* begins a transaction that reads, and goes with its first statement; NULL: nothing waits
	 */
	const char *begin;
	bool reads;          /* the open transaction does */
	bool ending;         /* its end was sent, and the answer was not read yet */
	unsigned waiting;    /* statements of the open transaction whose answers were not read */
	uint32_t timeout_ms; /* that the session has */
	int64_t retry_ns;    /* of the monotonic clock: no attempt to connect before */
	char state[UX_POSTGRES_STATE];
	char message[UX_ERROR_TEXT];
	char away[UX_ERROR_TEXT]; /* why the last attempt to connect failed */
};

static inline struct ux_postgres *ux_postgres_of(const struct ux_db *db)
{
	return db->connection;
}

/*
 * Functions that return a code without setting an error keep it in the connection;
 * ux_postgres_fail() sets it.
 */

/* Opens and closes for the engine. */
enum ux_code ux_postgres_open(struct ux_db *db, const char *location, bool reader,
			      struct ux_error *err) ux_must;
void ux_postgres_close(struct ux_db *db);

/* Opens a connection with the parameters of p. NULL: memory is short; else it may have failed. */
PGconn *ux_postgres_connect(const struct ux_postgres *p);

/* Is there a connection, as far as is known without using it? */
bool ux_postgres_is_connected(const struct ux_postgres *p);

/* Connects again where the connection is lost, unless that has just failed or in a transaction. */
enum ux_code ux_postgres_ensure(struct ux_db *db) ux_must;

/* Limits the time of statements to that of db. Nothing in a transaction, whose end would undo it.
 */
enum ux_code ux_postgres_set_timeout(struct ux_db *db) ux_must;

/* Clears the result. UX_EIO: it is no success. */
enum ux_code ux_postgres_check(struct ux_postgres *p, PGresult *result) ux_must;

/* Keeps the first line of a message, and its SQLSTATE (NULL: the connection failed). */
void ux_postgres_keep_error(struct ux_postgres *p, const char *state, const char *message);

/* Sets the error that was kept, and returns its code. */
enum ux_code ux_postgres_fail(struct ux_db *db, struct ux_error *err);

/* PQexec() on one of the connections of p, counted as one round trip. */
PGresult *ux_postgres_query(struct ux_postgres *p, PGconn *connection, const char *sql);

/* Counts a round trip. */
void ux_postgres_note_trip(struct ux_postgres *p);

/* Adds the counters, for the engine. */
void ux_postgres_count(const struct ux_db *db, struct ux_db_counts *to);

/*
 * Sends the end of a transaction that reads, whose answer is read before the connection is used
 * again. False: it has to be run instead.
 */
bool ux_postgres_send_end(struct ux_postgres *p);

/*
 * Sends p->begin and a prepared statement together, and returns the answer to the latter; the
 * transaction is open where that to the former was success. NULL: memory is short, or the
 * connection is lost.
 */
PGresult *ux_postgres_begin_with(struct ux_postgres *p, const char *name, int n,
				 const char *const *values, const int *sizes, const int *formats);

enum {
	UX_POSTGRES_WAITING_MAX = 64, /* statements that are sent before an answer is read */
};

/*
 * Sends a prepared statement without waiting, in a transaction that is open. False: memory is
 * short, or the connection is lost.
 */
bool ux_postgres_send_later(struct ux_postgres *p, const char *name, int n,
			    const char *const *values, const int *sizes, const int *formats);

/*
 * Reads the answers to what was sent so; sql, one statement (NULL: none), is run after it. Returns
 * the first answer that is no success, or else the last one; NULL as ux_postgres_begin_with().
 */
PGresult *ux_postgres_read_waiting(struct ux_postgres *p, const char *sql);

/* Runs SQL text that returns no rows. */
enum ux_code ux_postgres_exec(struct ux_db *db, const char *sql, struct ux_error *err) ux_must;

/* What other nodes say, and the database's clock, for the engine. */
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
