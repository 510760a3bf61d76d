/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private declarations of the PostgreSQL engine: a connection by libpq, which is loaded on demand.
 * Sources: PostgreSQL 15 documentation, chapter 34 (libpq) and appendix A (error codes).
 */
#ifndef UX_POSTGRES_H
#define UX_POSTGRES_H

#include "db_engine.h"

#include <libpq-fe.h>

enum {
	UX_POSTGRES_NUMBER = 24,   /* bytes of a number of 64 bits as text */
	UX_POSTGRES_STATE = 5 + 1, /* of an SQLSTATE */
};

#define UX_POSTGRES_CALLS(X)    \
	X(PQclear)              \
	X(PQcmdTuples)          \
	X(PQconnectdbParams)    \
	X(PQerrorMessage)       \
	X(PQexec)               \
	X(PQexecPrepared)       \
	X(PQfinish)             \
	X(PQgetisnull)          \
	X(PQgetlength)          \
	X(PQgetvalue)           \
	X(PQntuples)            \
	X(PQprepare)            \
	X(PQreset)              \
	X(PQresultErrorField)   \
	X(PQresultStatus)       \
	X(PQsetNoticeProcessor) \
	X(PQstatus)

struct ux_postgres_calls {
#define UX_POSTGRES_CALL(name) __typeof__(&(name)) name;
	UX_POSTGRES_CALLS(UX_POSTGRES_CALL)
#undef UX_POSTGRES_CALL
};

/* A connection. One thread at a time, which holds the lock of its struct ux_db. */
struct ux_postgres {
	struct ux_postgres_calls calls;
	PGconn *connection;
	PGconn *sync;   /* for sync() alone, which may run beside a statement; NULL: not open */
	char *location; /* a URL, which may have a password */
	bool reader;
	unsigned session;    /* counts connections, from 1 */
	bool lost;           /* a statement failed without an answer of the server */
	bool open;           /* in a transaction */
	bool lazy;           /* which does not wait for the disk */
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

/* Runs SQL text that returns no rows. */
enum ux_code ux_postgres_exec(struct ux_db *db, const char *sql, struct ux_error *err) ux_must;

/* Statements, for the engine. */
void ux_postgres_stmt_begin(struct ux_stmt *st);
void ux_postgres_stmt_end(struct ux_stmt *st);
void ux_postgres_stmt_free(const struct ux_postgres *p, void *handle);
void ux_postgres_bind_int(struct ux_stmt *st, const char *name, int64_t v);
void ux_postgres_bind_text(struct ux_stmt *st, const char *name, const char *text);
void ux_postgres_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size);
void ux_postgres_bind_pattern(struct ux_stmt *st, const char *name, const char *pattern);
enum ux_code ux_postgres_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err) ux_must;
uint64_t ux_postgres_changed(struct ux_stmt *st);
int64_t ux_postgres_column_int(struct ux_stmt *st, int n);
const char *ux_postgres_column_text(struct ux_stmt *st, int n, size_t *ret_size);
const void *ux_postgres_column_bytes(struct ux_stmt *st, int n, size_t *ret_size);
bool ux_postgres_column_is_null(struct ux_stmt *st, int n);

#endif
