/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to PostgreSQL: connecting, detecting their loss, reconnecting, and mapping errors. */
#include "postgres.h"

#include "clock.h"
#include "library_calls.h"

#include <errno.h>

enum {
	CONNECT_S = 3,      /* longest seconds to connect */
	AWAY_MS = 1000,     /* ms after a failure to connect until the next attempt */
	SILENCE_MS = 10000, /* ms after which unanswered bytes end a connection */
	KEEPALIVE_S = 5,    /* seconds between probes of an idle connection */
};

#define LOCK_TIMEOUT "'5s'"
#define IDLE_TIMEOUT "'15s'"

static enum ux_code postgres_load(struct ux_postgres_calls *ret, struct ux_error *err)
{
	static const char *const names[] = {
#define NAME(name) #name,
		UX_POSTGRES_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	return ux_library_calls("libpq.so.5", "PostgreSQL needs libpq (Debian: apt install libpq5)",
				names, ux_countof(names), ret, err);
}

/* Loads the pipeline functions. An older libpq lacks them: then each statement is a round trip. */
static bool postgres_load_pipeline(struct ux_postgres_pipeline_calls *ret)
{
	static const char *const names[] = {
#define NAME(name) #name,
		UX_POSTGRES_PIPELINE_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	return ux_library_calls("libpq.so.5", "", names, ux_countof(names), ret, NULL) == UX_OK;
}

/* Ignores notices, which are for people at a terminal. */
static void postgres_ignore_notice(void *ctx, const char *message)
{
	(void)ctx;
	(void)message;
}

/* Stores the first line of a message, and its SQLSTATE ("" if the connection failed). */
void ux_postgres_keep_error(struct ux_postgres *p, const char *state, const char *message)
{
	snprintf(p->state, sizeof(p->state), "%s", state ? state : "");
	snprintf(p->message, sizeof(p->message), "%.*s", (int)strcspn(message, "\n"), message);
}

static bool postgres_state_is(const struct ux_postgres *p, const char *beginning)
{
	return strncmp(p->state, beginning, strlen(beginning)) == 0;
}

enum ux_code ux_postgres_fail(struct ux_db *db, struct ux_error *err)
{
	const struct ux_postgres *p = ux_postgres_of(db);
	if (p->message[0] == '\0')
		return ux_error_nomem(err);
	if (p->state[0] == '\0' || postgres_state_is(p, "08") || postgres_state_is(p, "57P"))
		return ux_error_set(err, UX_EUNAVAILABLE, "cannot reach the index database: %s",
				    p->message);
	if (postgres_state_is(p, "25006"))
		return ux_error_set(err, UX_EUNAVAILABLE, "the index database is read-only: %s",
				    p->message);
	if (postgres_state_is(p, "57014"))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "index query exceeded its timeout of %u ms", db->limit_ms);
	if (postgres_state_is(p, "40") || postgres_state_is(p, "55P03") ||
	    postgres_state_is(p, "53300"))
		return ux_error_set(err, UX_EUNAVAILABLE, "the index is busy: %s", p->message);
	if (postgres_state_is(p, "UX001")) /* raised by one of our triggers */
		return ux_error_set(err, UX_EUNAVAILABLE, "%s", p->message);
	if (postgres_state_is(p, "53100"))
		return ux_error_os(err, ENOSPC, "the index cannot grow");
	if (postgres_state_is(p, "53200"))
		return ux_error_nomem(err);
	return ux_error_set(err, UX_EIO, "the index: %s", p->message);
}

void ux_postgres_note_trip(struct ux_postgres *p)
{
	atomic_fetch_add_explicit(&p->round_trips, 1, memory_order_relaxed);
}

PGresult *ux_postgres_query(struct ux_postgres *p, PGconn *connection, const char *sql)
{
	ux_postgres_note_trip(p);
	return p->calls.PQexec(connection, sql);
}

void ux_postgres_count(const struct ux_db *db, struct ux_db_counts *to)
{
	const struct ux_postgres *p = ux_postgres_of(db);
	to->round_trips += atomic_load_explicit(&p->round_trips, memory_order_relaxed);
	to->connected += atomic_load_explicit(&p->connected, memory_order_relaxed);
	to->refused += atomic_load_explicit(&p->refused, memory_order_relaxed);
}

static enum ux_code postgres_unreachable(struct ux_postgres *p)
{
	atomic_fetch_add_explicit(&p->refused, 1, memory_order_relaxed);
	ux_postgres_keep_error(p, "", p->calls.PQerrorMessage(p->connection));
	memcpy(p->away, p->message, sizeof(p->away));
	p->retry_ns = ux_clock_ns() + (int64_t)AWAY_MS * UX_CLOCK_NS_IN_MS;
	return UX_EUNAVAILABLE;
}

/*
 * Tests for an open connection. PQstatus() alone may still report success after a statement met the
 * end of the connection.
 */
bool ux_postgres_is_connected(const struct ux_postgres *p)
{
	return p->connection && !p->lost && p->calls.PQstatus(p->connection) == CONNECTION_OK;
}

/*
 * Connects with defaults for parameters that the URL lacks. The text format cannot contain NULs,
 * and client_encoding is UTF-8.
 */
PGconn *ux_postgres_connect(const struct ux_postgres *p)
{
	char connect_s[UX_POSTGRES_NUMBER], silence_ms[UX_POSTGRES_NUMBER],
		keepalive_s[UX_POSTGRES_NUMBER];
	snprintf(connect_s, sizeof(connect_s), "%d", CONNECT_S);
	snprintf(silence_ms, sizeof(silence_ms), "%d", SILENCE_MS);
	snprintf(keepalive_s, sizeof(keepalive_s), "%d", KEEPALIVE_S);
	const char *const names[] = {
		"connect_timeout",  "tcp_user_timeout", "keepalives_idle", "keepalives_interval",
		"application_name", "client_encoding",  "dbname",          NULL};
	const char *const values[] = {connect_s, silence_ms, keepalive_s, keepalive_s,
				      "unhex",   "UTF8",     p->location, NULL};
	/* dbname is a URL; its parameters come after the others and replace them. */
	return p->calls.PQconnectdbParams(names, values, /* expand_dbname= */ 1);
}

/* Stores the error of a result that is not a success. Takes the result. */
enum ux_code ux_postgres_check(struct ux_postgres *p, PGresult *result)
{
	ExecStatusType status = result ? p->calls.PQresultStatus(result) : PGRES_FATAL_ERROR;
	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
		p->calls.PQclear(result);
		return UX_OK;
	}
	const char *state = result ? p->calls.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *primary =
		result ? p->calls.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	ux_postgres_keep_error(p, state,
			       primary ? primary : p->calls.PQerrorMessage(p->connection));
	/* A read-only server is a replica: the next connection may reach the database itself. */
	p->lost |= !state || postgres_state_is(p, "57P") || postgres_state_is(p, "25006");
	p->calls.PQclear(result);
	return UX_EIO;
}

/*
 * Begins a session on a new connection, with timeouts: a node that stops in the middle of a
 * transaction must not hold the lock of all writers for long, and no node may wait for that lock
 * forever.
 */
static enum ux_code postgres_begin_session(struct ux_postgres *p)
{
	if (!ux_postgres_is_connected(p))
		return postgres_unreachable(p);
	(void)p->calls.PQsetNoticeProcessor(p->connection, postgres_ignore_notice, NULL);
	p->session++;
	atomic_fetch_add_explicit(&p->connected, 1, memory_order_relaxed);
	p->timeout_ms = 0;
	PGresult *result =
		ux_postgres_query(p, p->connection,
				  "SET lock_timeout = " LOCK_TIMEOUT
				  "; SET idle_in_transaction_session_timeout = " IDLE_TIMEOUT);
	return ux_postgres_check(p, result);
}

/* Reads the server's answer to the end of the last transaction. */
static void postgres_read_end(struct ux_postgres *p)
{
	PGresult *result = NULL;
	if (!p->ending)
		return;
	p->ending = false;
	while ((result = p->pipeline.PQgetResult(p->connection)) != NULL)
		(void)!ux_postgres_check(p, result);
}

bool ux_postgres_send_end(struct ux_postgres *p)
{
	p->ending = p->pipelines && p->pipeline.PQsendQuery(p->connection, "ROLLBACK") != 0;
	return p->ending;
}

/* Returns the answer to one of several statements, without the mark of its end. */
static PGresult *postgres_next_answer(struct ux_postgres *p)
{
	PGresult *result = p->pipeline.PQgetResult(p->connection);
	PGresult *more = result ? p->pipeline.PQgetResult(p->connection) : NULL;
	while (more) {
		p->calls.PQclear(more);
		more = p->pipeline.PQgetResult(p->connection);
	}
	return result;
}

/* Reads the mark of the end of all answers, after which single statements can be run again. */
static void postgres_end_pipeline(struct ux_postgres *p)
{
	PGresult *mark = p->pipeline.PQgetResult(p->connection);
	bool ended = mark && p->calls.PQresultStatus(mark) == PGRES_PIPELINE_SYNC;
	p->calls.PQclear(mark);
	if (!ended || p->pipeline.PQexitPipelineMode(p->connection) == 0)
		p->lost = true;
}

PGresult *ux_postgres_begin_with(struct ux_postgres *p, const char *name, int n,
				 const char *const *values, const int *sizes, const int *formats)
{
	assert(p->begin);
	const struct ux_postgres_pipeline_calls *c = &p->pipeline;
	ux_postgres_note_trip(p);
	if (c->PQenterPipelineMode(p->connection) == 0 ||
	    c->PQsendQueryParams(p->connection, p->begin, 0, NULL, NULL, NULL, NULL, 0) == 0 ||
	    c->PQsendQueryPrepared(p->connection, name, n, values, sizes, formats,
				   /* resultFormat= */ 0) == 0 ||
	    c->PQpipelineSync(p->connection) == 0) {
		p->lost = true; /* it is unknown how much was sent */
		return NULL;
	}
	PGresult *begun = postgres_next_answer(p);
	if (!begun || p->calls.PQresultStatus(begun) != PGRES_COMMAND_OK) {
		/* The statement was not run in that case, and its answer has no meaning. */
		p->calls.PQclear(postgres_next_answer(p));
		postgres_end_pipeline(p);
		return begun;
	}
	p->calls.PQclear(begun);
	p->begin = NULL;
	p->open = p->reads = true;
	PGresult *result = postgres_next_answer(p);
	postgres_end_pipeline(p);
	return result;
}

bool ux_postgres_send_later(struct ux_postgres *p, const char *name, int n,
			    const char *const *values, const int *sizes, const int *formats)
{
	assert(p->open);
	const struct ux_postgres_pipeline_calls *c = &p->pipeline;
	bool sent = (p->waiting > 0 || c->PQenterPipelineMode(p->connection) != 0) &&
		    c->PQsendQueryPrepared(p->connection, name, n, values, sizes, formats,
					   /* resultFormat= */ 0) != 0;
	p->waiting += sent;
	p->lost |= !sent; /* it is unknown how much was sent */
	return sent;
}

static bool postgres_is_success(const struct ux_postgres *p, const PGresult *result)
{
	ExecStatusType status = result ? p->calls.PQresultStatus(result) : PGRES_COMMAND_OK;
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

/*
 * Reads n answers. After a failed statement, the server skips the others, and their answers have no
 * meaning.
 */
static PGresult *postgres_read_answers(struct ux_postgres *p, unsigned n)
{
	PGresult *result = NULL;
	for (unsigned i = 0; i < n; i++) {
		PGresult *next = postgres_next_answer(p);
		bool keep = !postgres_is_success(p, result);
		p->calls.PQclear(keep ? next : result);
		result = keep ? result : next;
	}
	return result;
}

PGresult *ux_postgres_read_waiting(struct ux_postgres *p, const char *sql)
{
	assert(p->waiting > 0);
	const struct ux_postgres_pipeline_calls *c = &p->pipeline;
	unsigned n = p->waiting + (sql != NULL);
	p->waiting = 0;
	ux_postgres_note_trip(p);
	if ((sql && c->PQsendQueryParams(p->connection, sql, 0, NULL, NULL, NULL, NULL, 0) == 0) ||
	    c->PQpipelineSync(p->connection) == 0) {
		p->lost = true;
		return NULL;
	}
	PGresult *result = postgres_read_answers(p, n);
	postgres_end_pipeline(p);
	return result;
}

/* Reconnects if the connection is lost, unless that has just failed. */
enum ux_code ux_postgres_ensure(struct ux_db *db)
{
	struct ux_postgres *p = ux_postgres_of(db);
	postgres_read_end(p);
	if (ux_postgres_is_connected(p))
		return UX_OK;
	if (p->open || ux_clock_ns() < p->retry_ns) {
		ux_postgres_keep_error(p, "", p->open ? "the connection was lost" : p->away);
		return UX_EUNAVAILABLE;
	}
	p->calls.PQreset(p->connection);
	p->lost = false;
	p->waiting = 0;
	return postgres_begin_session(p);
}

/* Runs SQL text that returns no rows. */
enum ux_code ux_postgres_exec(struct ux_db *db, const char *sql, struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(db);
	if (ux_postgres_ensure(db) != UX_OK)
		return ux_postgres_fail(db, err);
	const char *begin = ux_take(&p->begin);
	if (p->waiting > 0 && ux_postgres_check(p, ux_postgres_read_waiting(p, NULL)) != UX_OK)
		return ux_postgres_fail(db, err);
	if (begin && ux_postgres_check(p, ux_postgres_query(p, p->connection, begin)) != UX_OK)
		return ux_postgres_fail(db, err);
	p->open |= begin != NULL;
	if (ux_postgres_check(p, ux_postgres_query(p, p->connection, sql)) != UX_OK)
		return ux_postgres_fail(db, err);
	return UX_OK;
}

/* Returns the process of PostgreSQL that serves a statement now; 0: unknown. */
static int postgres_serving_process(struct ux_postgres *p, PGconn *connection)
{
	int pid = 0;
	PGresult *result = ux_postgres_query(p, connection, "SELECT pg_backend_pid()");
	if (result && p->calls.PQresultStatus(result) == PGRES_TUPLES_OK &&
	    p->calls.PQntuples(result) == 1)
		pid = (int)strtol(p->calls.PQgetvalue(result, 0, 0), NULL, 10);
	p->calls.PQclear(result);
	return pid;
}

/*
 * Tests whether a pooler gives the sessions of one connection to another one between transactions.
 * Then prepared statements and settings are some other session's. A pooler makes up the process of
 * its connections. If it shares sessions, one process serves two connections, or several serve one.
 */
static bool postgres_shares_sessions(struct ux_postgres *p)
{
	const int first = postgres_serving_process(p, p->connection);
	bool shares = false;
	if (first == 0 || first == p->calls.PQbackendPID(p->connection))
		return false;
	PGconn *other = ux_postgres_connect(p);
	for (int i = 0; i < 2 && other && !shares; i++) {
		const int theirs = postgres_serving_process(p, other);
		shares = theirs != 0 &&
			 (theirs == first || postgres_serving_process(p, p->connection) != first);
	}
	if (other)
		p->calls.PQfinish(other);
	return shares;
}

enum ux_code ux_postgres_open(struct ux_db *db, const char *location, bool reader,
			      struct ux_error *err)
{
	struct ux_postgres *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	db->connection = p;
	p->reader = reader;
	p->location = strdup(location);
	if (!p->location)
		return ux_error_nomem(err);
	UX_TRY(postgres_load(&p->calls, err));
	p->pipelines = postgres_load_pipeline(&p->pipeline);
	p->connection = ux_postgres_connect(p);
	if (!p->connection)
		return ux_error_nomem(err);
	if (postgres_begin_session(p) != UX_OK)
		return ux_postgres_fail(db, err);
	if (!reader && postgres_shares_sessions(p))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "a pooler shares sessions of the index database between "
				    "transactions; use pool_mode = session, or PostgreSQL itself");
	return UX_OK;
}

void ux_postgres_close(struct ux_db *db)
{
	struct ux_postgres *p = ux_postgres_of(db);
	if (!p)
		return;
	for (size_t i = 0; i < UX_DB_STATEMENTS_MAX; i++)
		ux_postgres_stmt_free(p, db->prepared[i].handle);
	if (p->connection)
		p->calls.PQfinish(p->connection);
	if (p->sync)
		p->calls.PQfinish(p->sync);
	free(p->location);
	free(p);
}

/* Sets the timeout outside of transactions, because their end would undo it. */
enum ux_code ux_postgres_set_timeout(struct ux_db *db)
{
	struct ux_postgres *p = ux_postgres_of(db);
	char text[64];
	if (p->timeout_ms == db->limit_ms || p->open)
		return UX_OK;
	snprintf(text, sizeof(text), "SET statement_timeout = %u", db->limit_ms);
	UX_TRY(ux_postgres_check(p, ux_postgres_query(p, p->connection, text)));
	p->timeout_ms = db->limit_ms;
	return UX_OK;
}
