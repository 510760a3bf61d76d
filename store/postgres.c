/* SPDX-License-Identifier: Apache-2.0 */
/* An index in a PostgreSQL database: its transactions and its schema. */
#include "postgres.h"

enum {
	WRITE_LOCK = 0x756e6865, /* "unhe": the advisory lock of all transactions that write */
};

/*
 * Writers take one lock, so that a transaction sees everything that those before it did and its
 * checks hold until its commit, as in SQLite. Another process may hold it, whose commit takes
 * milliseconds.
 */
static const char *postgres_begin_sql(const struct ux_postgres *p, enum ux_tx_kind kind, char *text,
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
	struct ux_postgres *p = ux_postgres_of(db);
	UX_TRY(ux_postgres_ensure(db));
	UX_TRY(ux_postgres_set_timeout(db));
	return ux_postgres_check(p, p->calls.PQexec(p->connection, sql));
}

static enum ux_code postgres_begin(struct ux_db *db, enum ux_tx_kind kind, struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(db);
	char text[128];
	const char *sql = postgres_begin_sql(p, kind, text, sizeof(text));
	enum ux_code code = postgres_try_begin(db, sql);
	/* A connection may have been lost while it was idle; nothing has begun by then. */
	if (code != UX_OK && !ux_postgres_is_connected(p))
		code = postgres_try_begin(db, sql);
	if (code != UX_OK) {
		/* The transaction is open already where its lock was not had in time. */
		p->calls.PQclear(p->calls.PQexec(p->connection, "ROLLBACK"));
		return ux_postgres_fail(db, err);
	}
	p->open = true;
	p->lazy = kind == UX_TX_LAZY;
	return UX_OK;
}

static enum ux_code postgres_commit(struct ux_db *db, bool promise, bool *ret_durable,
				    struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(db);
	enum ux_code code =
		promise && p->lazy
			? ux_postgres_exec(db, "SET LOCAL synchronous_commit = on; COMMIT", err)
			: ux_postgres_exec(db, "COMMIT", err);
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
	struct ux_postgres *p = ux_postgres_of(db);
	if (ux_postgres_is_connected(p))
		(void)!ux_postgres_exec(db, "ROLLBACK", NULL);
	p->open = false; /* a lost connection has rolled it back */
	return UX_OK;
}

static bool postgres_try_sync(struct ux_postgres *p)
{
	if (!p->sync)
		p->sync = ux_postgres_connect(p);
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
	struct ux_postgres *p = ux_postgres_of(db);
	bool synced = postgres_try_sync(p);
	if (!synced && p->sync) { /* its connection may have been lost while it was idle */
		p->calls.PQreset(p->sync);
		synced = postgres_try_sync(p);
	}
	return synced ? UX_OK
		      : ux_error_set(err, UX_EUNAVAILABLE, "the index cannot be synced: %.200s",
				     p->sync ? p->calls.PQerrorMessage(p->sync) : "no memory");
}

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
	UX_TRY(ux_postgres_exec(
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
		UX_TRY(ux_postgres_exec(db, ux_postgres_schema_steps[i].sql, err));
	snprintf(text, sizeof(text), "UPDATE unhex_schema SET version = %d",
		 ux_postgres_schema_count);
	return version < ux_postgres_schema_count ? ux_postgres_exec(db, text, err) : UX_OK;
}

/* Several nodes may start at one time, of which one runs the steps. */
static enum ux_code postgres_migrate(struct ux_db *db, struct ux_error *err)
{
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	UX_TRY(ux_tx_begin(&tx, db, err));
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
	return ux_postgres_exec(db, "SELECT 1", err);
}

const struct ux_db_engine ux_postgres_engine = {
	.open = ux_postgres_open,
	.close = ux_postgres_close,
	.migrate = postgres_migrate,
	.copy = postgres_copy,
	.verify = postgres_verify,
	.fail = ux_postgres_fail,
	.sync = postgres_sync,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.rollback = postgres_rollback,
	.stmt_begin = ux_postgres_stmt_begin,
	.stmt_end = ux_postgres_stmt_end,
	.bind_int = ux_postgres_bind_int,
	.bind_text = ux_postgres_bind_text,
	.bind_bytes = ux_postgres_bind_bytes,
	.bind_pattern = ux_postgres_bind_pattern,
	.step = ux_postgres_step,
	.changed = ux_postgres_changed,
	.column_int = ux_postgres_column_int,
	.column_text = ux_postgres_column_text,
	.column_bytes = ux_postgres_column_bytes,
	.column_is_null = ux_postgres_column_is_null,
};
