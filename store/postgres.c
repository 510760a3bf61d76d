/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index in a PostgreSQL database, by libpq, which is loaded on demand. This is the only file
 * that knows PostgreSQL. Sources: PostgreSQL 15 documentation, chapter 34 (libpq) and appendix A
 * (error codes).
 */
#include "db_engine.h"

#include "clock.h"
#include "glob.h"
#include "library_calls.h"
#include "text.h"

#include <errno.h>
#include <libpq-fe.h>

enum {
	PARAMETERS_MOST = 48, /* of one statement */
	NUMBER_TEXT = 24,     /* bytes of a number of 64 bits as text */
	CONNECT_S = 3,        /* longest time that connecting takes */
	AWAY_MS = 1000,       /* after a failure to connect, until it is tried again */
	SILENCE_MS = 10000,   /* after which unanswered bytes end a connection */
	KEEPALIVE_S = 5,      /* between probes of an idle connection */
	OID_BYTEA = 17,       /* of pg_type.dat */
	OID_INT8 = 20,
	OID_TEXT = 25,
	SQLSTATE = 5 + 1,
	WRITE_LOCK = 0x756e6865, /* "unhe": the advisory lock of all transactions that write */
	MIGRATE_LOCK,
};

#define LOCK_TIMEOUT "'5s'"
#define IDLE_TIMEOUT "'15s'"

#define POSTGRES_CALLS(X)       \
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

struct postgres_calls {
#define CALL(name) __typeof__(&(name)) name;
	POSTGRES_CALLS(CALL)
#undef CALL
};

struct postgres_parameter {
	const char *name; /* in the statement's text, without the colon */
	size_t name_size;
	unsigned type;     /* OID; 0: it was NULL when the statement was prepared */
	const char *value; /* NULL: not bound */
	int size;
	int binary;
	char number[NUMBER_TEXT];
	char *owned; /* malloc'ed; NULL: the value is the caller's */
};

/* A statement as a connection has it. */
struct postgres_statement {
	char name[NUMBER_TEXT];
	char *text;       /* with $1, $2... */
	unsigned session; /* of the connection, in which it is prepared; 0: in none */
	size_t n;
	struct postgres_parameter parameters[PARAMETERS_MOST];
	PGresult *result; /* NULL: it has not been run */
	int row;          /* next one; counted from 0 */
	uint8_t *bytes;   /* of the column that was read last; malloc'ed */
};

struct postgres {
	struct postgres_calls calls;
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
	char state[SQLSTATE];
	char message[UX_ERROR_TEXT];
	char away[UX_ERROR_TEXT]; /* why the last attempt to connect failed */
};

static struct postgres *postgres_of(const struct ux_db *db)
{
	return db->connection;
}

static enum ux_code postgres_load(struct postgres_calls *ret, struct ux_error *err)
{
	static const char *const names[] = {
#define NAME(name) #name,
		POSTGRES_CALLS(NAME)
#undef NAME
	};
	static_assert(sizeof(*ret) == sizeof(names), "a name for each call");
	return ux_library_calls("libpq.so.5", "no PostgreSQL here (Debian: apt install libpq5)",
				names, ux_countof(names), ret, err);
}

/* Notices are for people at a terminal. */
static void postgres_ignore_notice(void *ctx, const char *message)
{
	(void)ctx;
	(void)message;
}

/* Keeps the first line of a message, and its SQLSTATE ("" when the connection failed). */
static void postgres_keep_error(struct postgres *p, const char *state, const char *message)
{
	snprintf(p->state, sizeof(p->state), "%s", state ? state : "");
	snprintf(p->message, sizeof(p->message), "%.*s", (int)strcspn(message, "\n"), message);
}

static bool postgres_state_is(const struct postgres *p, const char *beginning)
{
	return strncmp(p->state, beginning, strlen(beginning)) == 0;
}

static enum ux_code postgres_fail(struct ux_db *db, struct ux_error *err)
{
	const struct postgres *p = postgres_of(db);
	if (p->message[0] == '\0')
		return ux_error_nomem(err);
	if (p->state[0] == '\0' || postgres_state_is(p, "08") || postgres_state_is(p, "57P"))
		return ux_error_set(err, UX_EUNAVAILABLE, "the database of the index is away: %s",
				    p->message);
	if (postgres_state_is(p, "57014"))
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "the query of the index took longer than %u ms", db->limit_ms);
	if (postgres_state_is(p, "40") || postgres_state_is(p, "55P03") ||
	    postgres_state_is(p, "53300"))
		return ux_error_set(err, UX_EUNAVAILABLE, "the index is busy: %s", p->message);
	if (postgres_state_is(p, "53100"))
		return ux_error_os(err, ENOSPC, "the index cannot grow");
	if (postgres_state_is(p, "53200"))
		return ux_error_nomem(err);
	return ux_error_set(err, UX_EIO, "the index: %s", p->message);
}

/* A defect of the program, found when a statement is used. */
static enum ux_code postgres_refuse(struct postgres *p, const char *message)
{
	postgres_keep_error(p, "XX000", message);
	return UX_EIO;
}

static enum ux_code postgres_unreachable(struct postgres *p)
{
	postgres_keep_error(p, "", p->calls.PQerrorMessage(p->connection));
	memcpy(p->away, p->message, sizeof(p->away));
	p->retry_ns = ux_clock_ns() + (int64_t)AWAY_MS * UX_CLOCK_NS_IN_MS;
	return UX_EUNAVAILABLE;
}

/* PQstatus() alone may still say yes after a statement met the end of the connection. */
static bool postgres_is_connected(const struct postgres *p)
{
	return p->connection && !p->lost && p->calls.PQstatus(p->connection) == CONNECTION_OK;
}

/* What the URL does not say. In text form NULs cannot occur, and client_encoding is UTF-8. */
static PGconn *postgres_connect(const struct postgres *p)
{
	char connect_s[NUMBER_TEXT], silence_ms[NUMBER_TEXT], keepalive_s[NUMBER_TEXT];
	snprintf(connect_s, sizeof(connect_s), "%d", CONNECT_S);
	snprintf(silence_ms, sizeof(silence_ms), "%d", SILENCE_MS);
	snprintf(keepalive_s, sizeof(keepalive_s), "%d", KEEPALIVE_S);
	const char *const names[] = {
		"connect_timeout",  "tcp_user_timeout", "keepalives_idle", "keepalives_interval",
		"application_name", "client_encoding",  "dbname",          NULL};
	const char *const values[] = {connect_s, silence_ms, keepalive_s, keepalive_s,
				      "unhex",   "UTF8",     p->location, NULL};
	/* dbname is a URL, whose parameters come after the others and replace them. */
	return p->calls.PQconnectdbParams(names, values, /* expand_dbname= */ 1);
}

/* Keeps the error of a result that is no success. Takes the result. */
static enum ux_code postgres_check(struct postgres *p, PGresult *result)
{
	ExecStatusType status = result ? p->calls.PQresultStatus(result) : PGRES_FATAL_ERROR;
	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
		p->calls.PQclear(result);
		return UX_OK;
	}
	const char *state = result ? p->calls.PQresultErrorField(result, PG_DIAG_SQLSTATE) : NULL;
	const char *primary =
		result ? p->calls.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY) : NULL;
	postgres_keep_error(p, state, primary ? primary : p->calls.PQerrorMessage(p->connection));
	p->lost |= !state || postgres_state_is(p, "57P");
	p->calls.PQclear(result);
	return UX_EIO;
}

/*
 * Begins a session on a new connection. A node that stops in the middle of a transaction must not
 * hold the lock of all writers for long, and none waits for that lock for ever.
 */
static enum ux_code postgres_begin_session(struct postgres *p)
{
	if (!postgres_is_connected(p))
		return postgres_unreachable(p);
	(void)p->calls.PQsetNoticeProcessor(p->connection, postgres_ignore_notice, NULL);
	p->session++;
	p->timeout_ms = 0;
	PGresult *result = p->calls.PQexec(
		p->connection, "SET lock_timeout = " LOCK_TIMEOUT
			       "; SET idle_in_transaction_session_timeout = " IDLE_TIMEOUT);
	return postgres_check(p, result);
}

/* Connects again where the connection is lost, unless that has just failed. */
static enum ux_code postgres_ensure(struct ux_db *db)
{
	struct postgres *p = postgres_of(db);
	if (postgres_is_connected(p))
		return UX_OK;
	if (p->open || ux_clock_ns() < p->retry_ns) {
		postgres_keep_error(p, "", p->open ? "the connection was lost" : p->away);
		return UX_EUNAVAILABLE;
	}
	p->calls.PQreset(p->connection);
	p->lost = false;
	return postgres_begin_session(p);
}

/* Runs SQL text that returns no rows. */
static enum ux_code postgres_exec(struct ux_db *db, const char *sql, struct ux_error *err)
{
	struct postgres *p = postgres_of(db);
	if (postgres_ensure(db) != UX_OK ||
	    postgres_check(p, p->calls.PQexec(p->connection, sql)) != UX_OK)
		return postgres_fail(db, err);
	return UX_OK;
}

/* --- connections ------------------------------------------------------------------------------ */

static enum ux_code postgres_open(struct ux_db *db, const char *location, bool reader,
				  struct ux_error *err)
{
	struct postgres *p = calloc(1, sizeof(*p));
	if (!p)
		return ux_error_nomem(err);
	db->connection = p;
	p->reader = reader;
	p->location = strdup(location);
	if (!p->location)
		return ux_error_nomem(err);
	UX_TRY(postgres_load(&p->calls, err));
	p->connection = postgres_connect(p);
	if (!p->connection)
		return ux_error_nomem(err);
	return postgres_begin_session(p) == UX_OK ? UX_OK : postgres_fail(db, err);
}

static void postgres_clear_result(const struct postgres *p, struct postgres_statement *s)
{
	p->calls.PQclear(s->result);
	s->result = NULL;
}

static void postgres_statement_free(const struct postgres *p, struct postgres_statement *s)
{
	if (!s)
		return;
	postgres_clear_result(p, s);
	for (size_t i = 0; i < s->n; i++)
		free(s->parameters[i].owned);
	free(s->bytes);
	free(s->text);
	free(s);
}

static void postgres_close(struct ux_db *db)
{
	struct postgres *p = postgres_of(db);
	if (!p)
		return;
	for (size_t i = 0; i < UX_DB_STATEMENTS_MOST; i++)
		postgres_statement_free(p, db->prepared[i].handle);
	if (p->connection)
		p->calls.PQfinish(p->connection);
	if (p->sync)
		p->calls.PQfinish(p->sync);
	free(p->location);
	free(p);
}

/* Outside of transactions, whose end would undo it. */
static enum ux_code postgres_set_timeout(struct ux_db *db)
{
	struct postgres *p = postgres_of(db);
	char text[64];
	if (p->timeout_ms == db->limit_ms || p->open)
		return UX_OK;
	snprintf(text, sizeof(text), "SET statement_timeout = %u", db->limit_ms);
	UX_TRY(postgres_check(p, p->calls.PQexec(p->connection, text)));
	p->timeout_ms = db->limit_ms;
	return UX_OK;
}

/* --- transactions ----------------------------------------------------------------------------- */

/*
 * Writers take one lock, so that a transaction sees everything that those before it did and its
 * checks hold until its commit, as in SQLite. Another process may hold it, whose commit takes
 * milliseconds.
 */
static const char *postgres_begin_sql(const struct postgres *p, enum ux_tx_kind kind, char *text,
				      size_t size)
{
	if (kind == UX_TX_READ || p->reader)
		return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
	snprintf(text, size,
		 "BEGIN; SET LOCAL synchronous_commit = %s; SELECT pg_advisory_xact_lock(%d)",
		 kind == UX_TX_LAZY ? "off" : "on", WRITE_LOCK);
	return text;
}

static enum ux_code postgres_try_begin(struct ux_db *db, const char *sql)
{
	struct postgres *p = postgres_of(db);
	UX_TRY(postgres_ensure(db));
	UX_TRY(postgres_set_timeout(db));
	return postgres_check(p, p->calls.PQexec(p->connection, sql));
}

static enum ux_code postgres_begin(struct ux_db *db, enum ux_tx_kind kind, struct ux_error *err)
{
	struct postgres *p = postgres_of(db);
	char text[128];
	const char *sql = postgres_begin_sql(p, kind, text, sizeof(text));
	enum ux_code code = postgres_try_begin(db, sql);
	/* A connection may have been lost while it was idle; nothing has begun by then. */
	if (code != UX_OK && !postgres_is_connected(p))
		code = postgres_try_begin(db, sql);
	if (code != UX_OK) {
		(void)postgres_fail(db, err);
		/* The transaction is open already where its lock was not had in time. */
		p->calls.PQclear(p->calls.PQexec(p->connection, "ROLLBACK"));
		return postgres_fail(db, NULL);
	}
	p->open = true;
	p->lazy = kind == UX_TX_LAZY;
	return UX_OK;
}

static enum ux_code postgres_commit(struct ux_db *db, bool promise, bool *ret_durable,
				    struct ux_error *err)
{
	struct postgres *p = postgres_of(db);
	enum ux_code code =
		promise && p->lazy
			? postgres_exec(db, "SET LOCAL synchronous_commit = on; COMMIT", err)
			: postgres_exec(db, "COMMIT", err);
	if (code != UX_OK)
		return code;
	/* The log is written in the order of the commits, so that one that waited covers them all.
	 */
	*ret_durable = promise || !p->lazy;
	p->open = false;
	return UX_OK;
}

static enum ux_code postgres_rollback(struct ux_db *db)
{
	struct postgres *p = postgres_of(db);
	if (postgres_is_connected(p))
		(void)postgres_exec(db, "ROLLBACK", NULL);
	p->open = false; /* a lost connection has rolled it back */
	return UX_OK;
}

static bool postgres_try_sync(struct postgres *p)
{
	if (!p->sync)
		p->sync = postgres_connect(p);
	PGresult *result = p->sync ? p->calls.PQexec(p->sync, "SET synchronous_commit = on; "
							      "UPDATE unhex_schema SET synced = "
							      "synced + 1")
				   : NULL;
	bool done = result && p->calls.PQresultStatus(result) == PGRES_COMMAND_OK;
	p->calls.PQclear(result);
	return done;
}

/*
 * A small commit that waits for the disk, so that all commits before it are there. It has a
 * connection of its own, since the other one may be in a transaction.
 */
static enum ux_code postgres_sync(struct ux_db *db, struct ux_error *err)
{
	struct postgres *p = postgres_of(db);
	bool synced = postgres_try_sync(p);
	if (!synced && p->sync) { /* its connection may have been lost while it was idle */
		p->calls.PQreset(p->sync);
		synced = postgres_try_sync(p);
	}
	return synced ? UX_OK
		      : ux_error_set(err, UX_EUNAVAILABLE, "the index cannot be synced: %.200s",
				     p->sync ? p->calls.PQerrorMessage(p->sync) : "no memory");
}

/* --- statements ------------------------------------------------------------------------------- */

/* The statement's parameter with this name, without its colon; n when it is a new one. */
static size_t postgres_find_parameter(const struct postgres_statement *s, const char *name,
				      size_t size)
{
	size_t i = 0;
	while (i < s->n && (s->parameters[i].name_size != size ||
			    memcmp(s->parameters[i].name, name, size) != 0))
		i++;
	return i;
}

static bool postgres_is_name(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Copies the text with $1 in place of the first name, and so on. Texts in quotes stay. */
static bool postgres_number_parameters(struct postgres_statement *s, const char *sql,
				       struct ux_out *out)
{
	bool quoted = false;
	char number[NUMBER_TEXT];
	for (const char *at = sql; *at != '\0';) {
		quoted ^= *at == '\'';
		if (quoted || *at != ':' || !postgres_is_name(at[1])) {
			ux_out_put(out, at++, 1);
			continue;
		}
		size_t size = 0;
		while (postgres_is_name(at[1 + size]))
			size++;
		size_t i = postgres_find_parameter(s, at + 1, size);
		if (i == PARAMETERS_MOST)
			return false;
		if (i == s->n)
			s->parameters[s->n++] =
				(struct postgres_parameter){.name = at + 1, .name_size = size};
		snprintf(number, sizeof(number), "$%zu", i + 1);
		ux_out_cstr(out, number);
		at += 1 + size;
	}
	ux_out_put(out, "", 1);
	return !out->failed;
}

static struct postgres_statement *postgres_statement_new(const struct ux_sql *sql, size_t number)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct postgres_statement *s = calloc(1, sizeof(*s));
	if (!s || !postgres_number_parameters(s, sql->text, &out)) {
		free(s);
		return NULL;
	}
	size_t size = 0;
	s->text = (char *)ux_out_steal(&out, &size);
	snprintf(s->name, sizeof(s->name), "s%zu", number);
	return s;
}

static void postgres_stmt_begin(struct ux_stmt *st)
{
	struct ux_db_prepared *prepared = ux_db_prepared(st->db, st->sql);
	postgres_of(st->db)->message[0] = '\0';
	if (!prepared->handle)
		prepared->handle =
			postgres_statement_new(st->sql, (size_t)(prepared - st->db->prepared));
	st->handle = prepared->handle;
	st->status = st->handle ? UX_OK : UX_ENOMEM;
}

static void postgres_stmt_end(struct ux_stmt *st)
{
	struct postgres_statement *s = st->handle;
	postgres_clear_result(postgres_of(st->db), s);
	for (size_t i = 0; i < s->n; i++) {
		struct postgres_parameter *parameter = &s->parameters[i];
		free(parameter->owned);
		parameter->owned = NULL;
		parameter->value = NULL;
	}
}

/* NULL: the statement has no such parameter, and fails. name includes its colon. */
static struct postgres_parameter *postgres_parameter(struct ux_stmt *st, const char *name,
						     unsigned type)
{
	struct postgres_statement *s = st->handle;
	if (!s)
		return NULL;
	size_t i = postgres_find_parameter(s, name + 1, strlen(name + 1));
	if (i == s->n) {
		st->status =
			postgres_refuse(postgres_of(st->db), "a parameter that it does not have");
		return NULL;
	}
	struct postgres_parameter *parameter = &s->parameters[i];
	parameter->binary = type == OID_BYTEA;
	if (s->session == 0)
		parameter->type = type;
	return parameter;
}

static void postgres_bind_int(struct ux_stmt *st, const char *name, int64_t v)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_INT8);
	if (!parameter)
		return;
	snprintf(parameter->number, sizeof(parameter->number), "%" PRId64, v);
	parameter->value = parameter->number;
}

/* Copies a text with U+FFFD for what is not UTF-8. NULL: memory is short. */
static char *postgres_make_utf8(struct ux_bytes text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	size_t size = 0;
	while (text.size > 0) {
		size_t bad = 0, good = ux_utf8_size(text, &bad);
		if (good > 0)
			ux_out_put(&out, text.data, good);
		else
			ux_out_cstr(&out, "\xef\xbf\xbd");
		size_t n = good > 0 ? good : bad;
		text = ux_bytes(text.data + n, text.size - n);
	}
	ux_out_put(&out, "", 1);
	return out.failed ? NULL : (char *)ux_out_steal(&out, &size);
}

static bool postgres_is_ascii(const char *text)
{
	while (*text != '\0' && (uint8_t)*text < 0x80)
		text++;
	return *text == '\0';
}

/*
 * Text is stored as UTF-8, but names of files may be any bytes. They are replaced in searches as in
 * rows, so that these still find each other.
 */
static void postgres_bind_text(struct ux_stmt *st, const char *name, const char *text)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_TEXT);
	if (!parameter)
		return;
	parameter->value = text;
	if (postgres_is_ascii(text))
		return;
	parameter->value = parameter->owned = postgres_make_utf8(ux_bytes_cstr(text));
	if (!parameter->owned)
		st->status = UX_ENOMEM;
}

static void postgres_bind_bytes(struct ux_stmt *st, const char *name, const void *data, size_t size)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_BYTEA);
	if (!parameter)
		return;
	parameter->value = data;
	parameter->size = (int)size;
}

/* The empty pattern stays empty: statements have it for none. */
static void postgres_bind_pattern(struct ux_stmt *st, const char *name, const char *pattern)
{
	struct postgres_parameter *parameter = postgres_parameter(st, name, OID_TEXT);
	ux_cleanup(ux_free_ptr) struct ux_glob *glob = malloc(sizeof(*glob));
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	if (!parameter)
		return;
	parameter->value = "";
	if (pattern[0] == '\0')
		return;
	if (!glob || ux_glob_parse(pattern, glob, NULL) != UX_OK) {
		st->status = glob ? postgres_refuse(postgres_of(st->db), "the pattern is not valid")
				  : UX_ENOMEM;
		return;
	}
	ux_glob_expression(glob, &out);
	ux_out_put(&out, "", 1);
	size_t size = 0;
	if (out.failed) {
		st->status = UX_ENOMEM;
		return;
	}
	parameter->owned = (char *)ux_out_steal(&out, &size);
	parameter->value = parameter->owned;
}

/* The types are those of the first use; that of a parameter which was NULL then is inferred. */
static enum ux_code postgres_prepare(struct postgres *p, struct postgres_statement *s)
{
	Oid types[PARAMETERS_MOST];
	for (size_t i = 0; i < s->n; i++)
		types[i] = s->parameters[i].type;

	PGresult *result = p->calls.PQprepare(p->connection, s->name, s->text, (int)s->n, types);
	enum ux_code code = postgres_check(p, result);
	if (code == UX_OK)
		s->session = p->session;
	return code;
}

static enum ux_code postgres_run(struct ux_db *db, struct postgres_statement *s)
{
	struct postgres *p = postgres_of(db);
	const char *values[PARAMETERS_MOST];
	int sizes[PARAMETERS_MOST], formats[PARAMETERS_MOST];
	UX_TRY(postgres_ensure(db));
	UX_TRY(postgres_set_timeout(db));
	if (s->session != p->session)
		UX_TRY(postgres_prepare(p, s));
	for (size_t i = 0; i < s->n; i++) {
		values[i] = s->parameters[i].value;
		sizes[i] = s->parameters[i].size;
		formats[i] = s->parameters[i].binary;
	}
	PGresult *result = p->calls.PQexecPrepared(p->connection, s->name, (int)s->n, values, sizes,
						   formats, /* resultFormat= */ 0);
	ExecStatusType status = result ? p->calls.PQresultStatus(result) : PGRES_FATAL_ERROR;
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		return postgres_check(p, result);
	s->result = result;
	s->row = -1;
	return UX_OK;
}

/*
 * A query that found its connection lost is run once more, on a new one. A write is not: whether it
 * was done is not known.
 */
static enum ux_code postgres_run_again(struct ux_db *db, struct postgres_statement *s)
{
	struct postgres *p = postgres_of(db);
	bool reads = strncmp(s->text, "SELECT", strlen("SELECT")) == 0;
	enum ux_code code = postgres_run(db, s);
	bool lost = code != UX_OK && !postgres_is_connected(p);
	return lost && reads && !p->open ? postgres_run(db, s) : code;
}

static enum ux_code postgres_step(struct ux_stmt *st, bool *ret_row, struct ux_error *err)
{
	struct postgres *p = postgres_of(st->db);
	struct postgres_statement *s = st->handle;
	if (st->status == UX_ENOMEM)
		return ux_error_nomem(err);
	if (st->status != UX_OK)
		return ux_error_set(err, UX_EIO, "%s: %s", st->sql->name, p->message);
	if (!s->result && postgres_run_again(st->db, s) != UX_OK)
		return postgres_fail(st->db, err);
	s->row++;
	*ret_row = s->row < p->calls.PQntuples(s->result);
	return UX_OK;
}

static uint64_t postgres_changed(struct ux_stmt *st)
{
	const struct postgres_statement *s = st->handle;
	uint64_t n = 0;
	const char *text = postgres_of(st->db)->calls.PQcmdTuples(s->result);
	return ux_hex_parse_u64(ux_bytes_cstr(text), /* hex= */ false, &n) ? n : 0;
}

static bool postgres_column_is_null(struct ux_stmt *st, int n)
{
	const struct postgres_statement *s = st->handle;
	return postgres_of(st->db)->calls.PQgetisnull(s->result, s->row, n) != 0;
}

static const char *postgres_column_text(struct ux_stmt *st, int n, size_t *ret_size)
{
	const struct postgres *p = postgres_of(st->db);
	const struct postgres_statement *s = st->handle;
	*ret_size = (size_t)p->calls.PQgetlength(s->result, s->row, n);
	return postgres_column_is_null(st, n) ? NULL : p->calls.PQgetvalue(s->result, s->row, n);
}

/* Truth values are "t" and "f"; NULL is 0. */
static int64_t postgres_column_int(struct ux_stmt *st, int n)
{
	size_t size = 0;
	const char *text = postgres_column_text(st, n, &size);
	return !text || text[0] == 'f' ? 0 : text[0] == 't' ? 1 : strtoll(text, NULL, 10);
}

/* Bytes come as "\x" and two hexadecimal digits each (section 8.4.1). */
static const void *postgres_column_bytes(struct ux_stmt *st, int n, size_t *ret_size)
{
	struct postgres_statement *s = st->handle;
	size_t size = 0;
	const char *text = postgres_column_text(st, n, &size);
	*ret_size = 0;
	free(s->bytes);
	s->bytes = malloc(size / 2 + 1);
	if (!text || !s->bytes || size < 2 || size % 2 != 0)
		return NULL;
	for (size_t i = 2; i < size; i += 2) {
		uint64_t byte = 0;
		if (!ux_hex_parse_u64(ux_bytes(text + i, 2), /* hex= */ true, &byte))
			return NULL;
		s->bytes[i / 2 - 1] = (uint8_t)byte;
	}
	*ret_size = size / 2 - 1;
	return s->bytes;
}

/* --- schema ----------------------------------------------------------------------------------- */

UX_SQL(postgres_sql_version, "SELECT version FROM unhex_schema");

static enum ux_code postgres_version(struct ux_db *db, int *ret, struct ux_error *err)
{
	UX_STMT(st, db, &postgres_sql_version);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? (int)ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

static enum ux_code postgres_steps(struct ux_db *db, struct ux_error *err)
{
	int version = 0;
	char text[128];
	UX_TRY(postgres_exec(
		db,
		"CREATE TABLE IF NOT EXISTS unhex_schema (single BOOLEAN PRIMARY KEY "
		"DEFAULT TRUE CHECK (single), version BIGINT NOT NULL, synced BIGINT NOT "
		"NULL); INSERT INTO unhex_schema (version, synced) VALUES (0, 0) "
		"ON CONFLICT DO NOTHING",
		err));
	UX_TRY(postgres_version(db, &version, err));
	if (version > ux_postgres_schema_count)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the index is of schema %d; this unhex knows %d", version,
				    ux_postgres_schema_count);
	for (int i = version; i < ux_postgres_schema_count; i++)
		UX_TRY(postgres_exec(db, ux_postgres_schema_steps[i].sql, err));
	snprintf(text, sizeof(text), "UPDATE unhex_schema SET version = %d",
		 ux_postgres_schema_count);
	return version < ux_postgres_schema_count ? postgres_exec(db, text, err) : UX_OK;
}

/* Several nodes may start at one time, of which one runs the steps. */
static enum ux_code postgres_migrate(struct ux_db *db, struct ux_error *err)
{
	char text[64];
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
	snprintf(text, sizeof(text), "SELECT pg_advisory_xact_lock(%d)", MIGRATE_LOCK);
	UX_TRY(postgres_exec(db, text, err));
	UX_TRY(postgres_steps(db, err));
	return ux_tx_commit(&tx, err);
}

static enum ux_code postgres_copy(struct ux_db *db, const char *path, struct ux_error *err)
{
	(void)db;
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "an index in PostgreSQL is not copied to %.100s; use pg_dump", path);
}

/* PostgreSQL verifies its pages itself, where it is set up to (initdb --data-checksums). */
static enum ux_code postgres_verify(struct ux_db *db, struct ux_error *err)
{
	return postgres_exec(db, "SELECT 1", err);
}

const struct ux_db_engine ux_postgres_engine = {
	.open = postgres_open,
	.close = postgres_close,
	.migrate = postgres_migrate,
	.copy = postgres_copy,
	.verify = postgres_verify,
	.fail = postgres_fail,
	.sync = postgres_sync,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.rollback = postgres_rollback,
	.stmt_begin = postgres_stmt_begin,
	.stmt_end = postgres_stmt_end,
	.bind_int = postgres_bind_int,
	.bind_text = postgres_bind_text,
	.bind_bytes = postgres_bind_bytes,
	.bind_pattern = postgres_bind_pattern,
	.step = postgres_step,
	.changed = postgres_changed,
	.column_int = postgres_column_int,
	.column_text = postgres_column_text,
	.column_bytes = postgres_column_bytes,
	.column_is_null = postgres_column_is_null,
};
