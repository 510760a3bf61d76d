/* SPDX-License-Identifier: Apache-2.0 */
/* An index in a PostgreSQL database: its transactions and its schema. */
#include "postgres.h"

enum {
	/*
	 * "unhe": the advisory lock for transactions of scope UX_TX_INDEX; the locks of the other
	 * scopes follow
	 */
	WRITE_LOCK = 0x756e6865,
};

#define POSTGRES_BEGIN_READ "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

/*
 * Writes the statement that begins a transaction. Writers of a scope take one lock, so that a
 * transaction sees the changes of all earlier ones and its checks hold until its commit, as in
 * SQLite. No commit waits for the disk while it has the lock: a caller that confirms something
 * syncs afterwards, together with others.
 */
static const char *postgres_begin_sql(const struct ux_postgres *p, enum ux_tx_kind kind,
				      enum ux_tx_scope scope, char *text, size_t size)
{
	if (kind == UX_TX_READ || p->reader)
		return POSTGRES_BEGIN_READ;
	if (scope == UX_TX_ROWS)
		return "BEGIN; SET LOCAL synchronous_commit = off";
	snprintf(text, size,
		 "BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_advisory_xact_lock(%d)",
		 WRITE_LOCK + (int)scope);
	return text;
}

static enum ux_code postgres_try_begin(struct ux_db *db, const char *sql)
{
	struct ux_postgres *p = ux_postgres_of(db);
	UX_TRY(ux_postgres_ensure(db));
	UX_TRY(ux_postgres_set_timeout(db));
	return ux_postgres_check(p, ux_postgres_query(p, p->connection, sql));
}

static enum ux_code postgres_begin(struct ux_db *db, enum ux_tx_kind kind, enum ux_tx_scope scope,
				   struct ux_error *err)
{
	assert(!ux_postgres_of(db)->open && !ux_postgres_of(db)->begin);
	struct ux_postgres *p = ux_postgres_of(db);
	char text[128];
	p->reads = false;
	if (kind == UX_TX_READ && p->pipelines) {
		p->begin = POSTGRES_BEGIN_READ;
		return UX_OK;
	}
	const char *sql = postgres_begin_sql(p, kind, scope, text, sizeof(text));
	enum ux_code code = postgres_try_begin(db, sql);
	/* A connection may have been lost while idle; nothing has begun by then. */
	if (code != UX_OK && !ux_postgres_is_connected(p))
		code = postgres_try_begin(db, sql);
	if (code != UX_OK) {
		/* The transaction is open even if its lock timed out. */
		p->calls.PQclear(ux_postgres_query(p, p->connection, "ROLLBACK"));
		return ux_postgres_fail(db, err);
	}
	p->open = true;
	return UX_OK;
}

/*
 * Commits without waiting for the disk. Other nodes may see the changes before they are on the
 * disk; they sync as well before they confirm anything.
 */
static enum ux_code postgres_commit(struct ux_db *db, bool promise, bool *ret_durable,
				    struct ux_error *err)
{
	(void)promise;
	struct ux_postgres *p = ux_postgres_of(db);
	*ret_durable = false;
	if (p->waiting == 0)
		UX_TRY(ux_postgres_exec(db, "COMMIT", err));
	else if (ux_postgres_check(p, ux_postgres_read_waiting(p, "COMMIT")) != UX_OK)
		return ux_postgres_fail(db, err);
	p->open = false;
	return UX_OK;
}

static enum ux_code postgres_rollback(struct ux_db *db)
{
	struct ux_postgres *p = ux_postgres_of(db);
	bool waits = ux_take(&p->begin) != NULL; /* nothing has begun on the server */
	/* after a failed statement, the server has skipped the later ones, and the end as well */
	if (p->waiting > 0)
		p->calls.PQclear(ux_postgres_read_waiting(p, NULL));
	if (!waits && ux_postgres_is_connected(p) && !(p->reads && ux_postgres_send_end(p)))
		(void)!ux_postgres_exec(db, "ROLLBACK", NULL);
	p->open = p->reads = false; /* a lost connection has rolled it back */
	return UX_OK;
}

static bool postgres_try_sync(struct ux_postgres *p)
{
	if (!p->sync)
		p->sync = ux_postgres_connect(p);
	PGresult *result = p->sync ? ux_postgres_query(p, p->sync,
						       "SET synchronous_commit = on; SELECT "
						       "pg_logical_emit_message(true, 'unhex', '')")
				   : NULL;
	bool done = result && p->calls.PQresultStatus(result) == PGRES_TUPLES_OK;
	p->calls.PQclear(result);
	return done;
}

/*
 * Syncs by a small commit that waits for the disk, because the log is written in order: all earlier
 * commits are on the disk then. It changes no row, so nodes do not wait for each other. It uses a
 * connection of its own, because the other one may be in a transaction.
 */
static enum ux_code postgres_sync(struct ux_db *db, struct ux_error *err)
{
	struct ux_postgres *p = ux_postgres_of(db);
	bool synced = postgres_try_sync(p);
	if (!synced && p->sync) { /* its connection may have been lost while idle */
		p->calls.PQreset(p->sync);
		synced = postgres_try_sync(p);
	}
	return synced ? UX_OK
		      : ux_error_set(err, UX_EUNAVAILABLE, "cannot sync the index: %.200s",
				     p->sync ? p->calls.PQerrorMessage(p->sync) : "out of memory");
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

UX_SQL(postgres_sql_oldest, "SELECT oldest FROM unhex_schema");

/* Gets the number of steps that a program must know to use the index. */
static enum ux_code postgres_oldest(struct ux_db *db, int *ret, struct ux_error *err)
{
	UX_STMT(st, db, &postgres_sql_oldest);
	bool row = false;
	UX_TRY(ux_stmt_step(&st, &row, err));
	*ret = row ? (int)ux_stmt_get_int(&st, 0) : 0;
	return UX_OK;
}

UX_SQL(postgres_sql_older_node,
       "SELECT n.name, n.version FROM nodes n, unhex_schema s WHERE n.steps < GREATEST(s.oldest, :base) "
       "AND n.seen > extract(epoch FROM clock_timestamp()) - :dead_s ORDER BY n.name LIMIT 1");

/*
 * Checks that no earlier version runs that cannot work with the new steps. Otherwise the upgrade
 * has to wait. No node with a schema from before the base may run either: this version knows
 * nothing of its limits.
 */
static enum ux_code postgres_check_nodes(struct ux_db *db, struct ux_error *err)
{
	UX_STMT(st, db, &postgres_sql_older_node);
	bool row = false;
	ux_stmt_bind_int(&st, ":base", ux_postgres_schema.base);
	ux_stmt_bind_int(&st, ":dead_s", UX_NODE_DEAD_S);
	UX_TRY(ux_stmt_step(&st, &row, err));
	return row ? ux_error_set(
			     err, UX_EUNAVAILABLE,
			     "stop node %.100s (unhex %.40s) first: it cannot read the upgraded "
			     "index",
			     ux_stmt_peek_text(&st, 0), ux_stmt_peek_text(&st, 1))
		   : UX_OK;
}

/*
 * Checks the version. Earlier versions can work with later steps, or the steps say since when they
 * cannot.
 */
static enum ux_code postgres_check_version(struct ux_db *db, int version, struct ux_error *err)
{
	const struct ux_schema *s = &ux_postgres_schema;
	int oldest = 0;
	UX_TRY(ux_schema_check_base(s, version, err));
	UX_TRY(postgres_oldest(db, &oldest, err));
	return oldest <= s->version ? UX_OK : ux_schema_fail_newer(s, version, err);
}

/*
 * The table of the version. oldest: programs that know fewer steps than this cannot use the index;
 * a step that earlier versions cannot work with sets it. synced: unused.
 */
static enum ux_code postgres_steps(struct ux_db *db, struct ux_error *err)
{
	const struct ux_schema *s = &ux_postgres_schema;
	int version = 0;
	char text[128];
	UX_TRY(ux_postgres_exec(
		db,
		"CREATE TABLE IF NOT EXISTS unhex_schema (single BOOLEAN PRIMARY KEY "
		"DEFAULT TRUE CHECK (single), version BIGINT NOT NULL, synced BIGINT NOT "
		"NULL, oldest BIGINT NOT NULL DEFAULT 0); "
		"INSERT INTO unhex_schema (version, synced) VALUES (0, 0) "
		"ON CONFLICT DO NOTHING",
		err));
	UX_TRY(postgres_version(db, &version, err));
	UX_TRY(postgres_check_version(db, version, err));
	for (const struct ux_schema_step *step = ux_schema_missing(s, version); step->sql; step++)
		UX_TRY(ux_postgres_exec(db, step->sql, err));
	snprintf(text, sizeof(text), "UPDATE unhex_schema SET version = %d", s->version);
	if (version < s->version)
		UX_TRY(ux_postgres_exec(db, text, err));
	return postgres_check_nodes(db, err);
}

/* Runs the steps. Several nodes may start at the same time; one of them runs the steps. */
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
			    "cannot copy a PostgreSQL index to %.100s; use pg_dump", path);
}

/* Does nothing: PostgreSQL verifies its pages itself, if configured (initdb --data-checksums). */
static enum ux_code postgres_verify(struct ux_db *db, struct ux_error *err)
{
	return ux_postgres_exec(db, "SELECT 1", err);
}

/*
 * Drops all references. The end creates them again, which checks all rows together. Our names need
 * no quotes.
 */
static enum ux_code postgres_bulk_begin(struct ux_db *db, struct ux_error *err)
{
	return ux_postgres_exec(
		db,
		"CREATE TEMP TABLE ux_references ON COMMIT DROP AS SELECT conrelid::regclass::text "
		"AS place, conname::text AS name, pg_get_constraintdef(oid) AS definition FROM "
		"pg_constraint WHERE contype = 'f' AND connamespace = "
		"current_schema()::regnamespace; "
		"DO $$ DECLARE r RECORD; BEGIN FOR r IN SELECT * FROM ux_references LOOP EXECUTE "
		"format('ALTER TABLE %s DROP CONSTRAINT %I', r.place, r.name); END LOOP; FOR r IN "
		"SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP EXECUTE "
		"format('ALTER TABLE %I DISABLE TRIGGER USER', r.tablename); END LOOP; END $$",
		err);
}

static enum ux_code postgres_bulk_end(struct ux_db *db, struct ux_error *err)
{
	return ux_postgres_exec(
		db,
		"CLOSE ALL; "
		"DO $$ DECLARE r RECORD; BEGIN FOR r IN SELECT * FROM ux_references LOOP EXECUTE "
		"format('ALTER TABLE %s ADD CONSTRAINT %I %s', r.place, r.name, r.definition); END "
		"LOOP; FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = "
		"current_schema() "
		"LOOP EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', r.tablename); END LOOP; "
		"END $$",
		err);
}

/* Reads rows by a cursor in pieces, because libpq keeps all rows of a result in memory. */
static enum ux_code postgres_bulk_rows(struct ux_db *db, const char *select, unsigned number,
				       struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out declare = {0};
	ux_out_fmt(&declare, "DECLARE ux_rows_%u NO SCROLL CURSOR FOR %s", number, select);
	ux_out_u8(&declare, 0);
	UX_TRY(ux_out_status(&declare, err));
	UX_TRY(ux_postgres_exec(db, (const char *)declare.data, err));
	ux_out_fmt(out, "FETCH 1000 FROM ux_rows_%u", number);
	return UX_OK;
}

/* In statements, a type after two colons would be read as a parameter. */
static const struct ux_db_bulk postgres_bulk = {
	.columns =
		{"postgres_columns",
		 "SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT), CASE c.data_type "
		 "WHEN 'bigint' THEN 'INTEGER' WHEN 'text' THEN 'TEXT' WHEN 'bytea' THEN 'BLOB' "
		 "ELSE c.data_type END FROM information_schema.columns c JOIN "
		 "information_schema.tables t USING (table_schema, table_name) WHERE "
		 "c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND "
		 "c.table_name <> 'unhex_schema' AND c.is_generated = 'NEVER' ORDER BY "
		 "c.table_name COLLATE \"C\", c.ordinal_position"},
	.numbering = {"postgres_numbering",
		      "SELECT CAST(c.table_name AS TEXT), coalesce(pg_sequence_last_value(CAST("
		      "pg_get_serial_sequence(c.table_name, c.column_name) AS regclass)), 0) FROM "
		      "information_schema.columns c WHERE c.table_schema = current_schema() AND "
		      "c.is_identity = 'YES'"},
	.renumber = {"postgres_renumber",
		     "SELECT setval(pg_get_serial_sequence(:name, 'number'), :last)"},
	.begin = postgres_bulk_begin,
	.end = postgres_bulk_end,
	.rows = postgres_bulk_rows,
	.pages = true,
};

const struct ux_db_engine ux_postgres_engine = {
	.open = ux_postgres_open,
	.close = ux_postgres_close,
	.migrate = postgres_migrate,
	.copy = postgres_copy,
	.verify = postgres_verify,
	.fail = ux_postgres_fail,
	.remote = true,
	.sync = postgres_sync,
	.begin = postgres_begin,
	.commit = postgres_commit,
	.rollback = postgres_rollback,
	.wait = ux_postgres_wait,
	.moment = ux_postgres_moment,
	.count = ux_postgres_count,
	.bulk = &postgres_bulk,
	.stmt_begin = ux_postgres_stmt_begin,
	.stmt_end = ux_postgres_stmt_end,
	.stmt_again = ux_postgres_stmt_again,
	.bind_int = ux_postgres_bind_int,
	.bind_text = ux_postgres_bind_text,
	.bind_bytes = ux_postgres_bind_bytes,
	.bind_pattern = ux_postgres_bind_pattern,
	.step = ux_postgres_step,
	.run_later = ux_postgres_run_later,
	.changed = ux_postgres_changed,
	.column_int = ux_postgres_column_int,
	.column_text = ux_postgres_column_text,
	.column_bytes = ux_postgres_column_bytes,
	.column_is_null = ux_postgres_column_is_null,
};
