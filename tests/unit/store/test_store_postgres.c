/* SPDX-License-Identifier: Apache-2.0 */
/* store: an index in PostgreSQL. tests/e2e/test_postgres.py starts the database and runs this. */
#include "sweep.h"

#include "db_engine.h"
#include "index.h"
#include "index_sql.h"
#include "index_suite.h"
#include "name_glob.h"
#include "postgres.h"

static const char *database(void)
{
	const char *url = getenv("UNHEX_TEST_POSTGRES");
	assert_non_null(url);
	return url;
}

static void execute(const char *text)
{
	struct ux_db db;
	assert_int_equal(ux_db_open(&db, database(), NULL), UX_OK);
	const struct ux_sql sql = {"test", text};
	{
		UX_STMT(st, &db, &sql);
		assert_int_equal(ux_stmt_run(&st, NULL, NULL), UX_OK);
	}
	ux_db_close(&db);
}

static int64_t number_of(const char *select)
{
	struct ux_db db;
	int64_t n = 0;
	assert_int_equal(ux_db_open(&db, database(), NULL), UX_OK);
	const struct ux_sql sql = {"test", select};
	{
		UX_STMT(st, &db, &sql);
		assert_int_equal(ux_stmt_run_returning(&st, &n, NULL), UX_OK);
	}
	ux_db_close(&db);
	return n;
}

static int empty(void **state)
{
	(void)state;
	execute("DROP SCHEMA public CASCADE");
	execute("CREATE SCHEMA public");
	return 0;
}

static void index_in_postgresql_conforms(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	struct ux_error err = UX_ERROR_INIT;
	if (ux_index_open(&ix, database(), &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(ix->version, UX_INDEX_VERSION);
	index_conforms(ix);
	ix->close(ix);
	/* opened again, all is still there */
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(index_find(ix, &arena, "gnu:a").n_candidates, 2);
	ix->close(ix);
}

static void damaged_rows_of_postgresql_are_found(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	index_damage_conforms(ix, database());
	ix->close(ix);
}

/* An earlier libpq cannot send statements together. */
static void index_without_pipelines_conforms_too(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_true(ux_postgres_of(ux_index_writer(ix))->pipelines);
	ux_postgres_of(ux_index_writer(ix))->pipelines = false;
	index_conforms(ix);
	ix->close(ix);
}

static void restart_database(void)
{
	const char *command = getenv("UNHEX_TEST_POSTGRES_RESTART");
	assert_non_null(command);
	assert_int_equal(system(command), 0);
}

/* Reads continue with a new connection, and so do transactions that had not begun. */
static void a_database_that_was_restarted_is_connected_to_again(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	int64_t value = 0;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ix->number_put(ix, "n", 7, NULL), UX_OK);
	assert_int_equal(ix->number_get(ix, "n", &value, NULL), UX_OK);
	restart_database();
	struct ux_error err = UX_ERROR_INIT;
	if (ix->number_get(ix, "n", &value, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(value, 7);
	restart_database();
	struct ux_job job = {.kind = "k", .subject = "s", .ns = "default", .payload = ""};
	int64_t number = 0;
	assert_int_equal(ix->jobs.add(ix, &job, 1, &number, NULL), UX_OK);
	assert_int_equal(ix->sync(ix, UX_SYNC_ALL, NULL), UX_OK);
	ix->close(ix);
}

UX_SQL(test_put, "INSERT INTO numbers (name, value) VALUES (:name, 1)");
UX_SQL(test_count, "SELECT count(*) FROM numbers WHERE length(name) = 1");

static int64_t count_numbers(struct ux_db *db)
{
	bool row = false;
	UX_STMT(st, db, &test_count);
	assert_int_equal(ux_stmt_step(&st, &row, NULL), UX_OK);
	assert_true(row);
	return ux_stmt_get_int(&st, 0);
}

static void put_number(struct ux_db *db, const char *name, enum ux_code expected)
{
	struct ux_error err = UX_ERROR_INIT;
	UX_STMT(st, db, &test_put);
	ux_stmt_bind_text(&st, ":name", name);
	assert_int_equal(ux_stmt_run(&st, NULL, &err), expected);
	if (expected != UX_OK)
		assert_non_null(strstr(err.text, "cannot reach"));
}

/* The same with a result, which is waited for. */
static void put_and_wait(struct ux_db *db, const char *name, enum ux_code expected)
{
	uint64_t n = 0;
	struct ux_error err = UX_ERROR_INIT;
	UX_STMT(st, db, &test_put);
	ux_stmt_bind_text(&st, ":name", name);
	assert_int_equal(ux_stmt_run(&st, &n, &err), expected);
	if (expected == UX_OK)
		assert_int_equal(n, 1);
	else
		assert_int_not_equal(err.text[0], 0);
}

static uint64_t trips_of(const struct ux_db *db)
{
	struct ux_db_counts counts = {0};
	ux_db_count(db, &counts);
	return counts.round_trips;
}

/* Makes the table, and prepares the statements, which is a round trip each. */
static void open_numbers(struct ux_db *db)
{
	assert_int_equal(ux_db_open(db, database(), NULL), UX_OK);
	assert_int_equal(ux_db_migrate(db, NULL), UX_OK);
	put_number(db, "+", UX_OK);
	assert_int_equal(count_numbers(db), 1);
}

static void statements_without_a_result_share_a_round_trip(void **state)
{
	(void)state;
	struct ux_db db;
	uint64_t before = 0;
	open_numbers(&db);
	{
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin_lazy(&tx, &db, NULL), UX_OK);
		before = trips_of(&db);
		put_number(&db, "a", UX_OK);
		put_number(&db, "b", UX_OK);
		assert_int_equal(trips_of(&db) - before, 0);
		put_and_wait(&db, "c", UX_OK);
		assert_int_equal(trips_of(&db) - before, 1);
		assert_int_equal(count_numbers(&db), 4);
		put_number(&db, "d", UX_OK);
		assert_int_equal(ux_tx_commit(&tx, NULL), UX_OK);
		assert_int_equal(trips_of(&db) - before, 3);
	}
	assert_int_equal(count_numbers(&db), 5);
	ux_db_close(&db);
}

/* Enough statements that their answers fill the buffers of a socket. */
static void answers_are_read_before_they_are_too_many(void **state)
{
	(void)state;
	enum {
		MANY = 20000
	};
	struct ux_db db;
	open_numbers(&db);
	{
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin_lazy(&tx, &db, NULL), UX_OK);
		const uint64_t before = trips_of(&db);
		for (int i = 0; i < MANY; i++) {
			char name[16];
			snprintf(name, sizeof(name), "%06d", i);
			put_number(&db, name, UX_OK);
		}
		put_number(&db, "a", UX_OK);
		assert_int_equal(trips_of(&db) - before, MANY / UX_POSTGRES_WAITING_MAX);
		assert_int_equal(ux_tx_commit(&tx, NULL), UX_OK);
	}
	assert_int_equal(count_numbers(&db), 2);
	ux_db_close(&db);
}

/* Counts the writes of modules, by triggers. */
static void count_writes_of_modules(void)
{
	static const char *const made[] = {
		"CREATE SEQUENCE seen_statements MINVALUE 0 START 0",
		"CREATE SEQUENCE seen_rows MINVALUE 0 START 0",
		"CREATE FUNCTION seen() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN "
		"PERFORM nextval(TG_ARGV[0]); RETURN NULL; END $$",
		"CREATE TRIGGER seen_statements AFTER UPDATE ON modules FOR EACH STATEMENT "
		"EXECUTE FUNCTION seen('seen_statements')",
		"CREATE TRIGGER seen_rows AFTER UPDATE ON modules FOR EACH ROW EXECUTE FUNCTION "
		"seen('seen_rows')",
	};
	for (size_t i = 0; i < ux_countof(made); i++)
		execute(made[i]);
}

UX_SQL(test_seen, "SELECT nextval('seen_statements'), nextval('seen_rows')");

/* Checks the counts since the last call; each sequence takes a number, too. */
static void check_writes_of_modules(struct ux_db *db, int64_t last[2], int64_t statements,
				    int64_t rows)
{
	bool row = false;
	UX_STMT(st, db, &test_seen);
	assert_int_equal(ux_stmt_step(&st, &row, NULL), UX_OK);
	assert_true(row);
	assert_int_equal(ux_stmt_get_int(&st, 0) - last[0] - 1, statements);
	assert_int_equal(ux_stmt_get_int(&st, 1) - last[1] - 1, rows);
	last[0] = ux_stmt_get_int(&st, 0);
	last[1] = ux_stmt_get_int(&st, 1);
}

/* A hundred by one statement, in two round trips; and each of them once. */
static void uses_of_modules_are_written_by_few_statements(void **state)
{
	(void)state;
	enum {
		USED = 230,
		STATEMENTS = 3,
	};
	struct ux_index *ix = NULL;
	struct ux_touch uses[USED];
	int64_t last[2] = {-1, -1};
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	for (size_t i = 0; i < USED; i++) {
		char id[16];
		struct ux_add_result r;
		snprintf(id, sizeof(id), "gnu:u%03zu", i);
		assert_int_equal(index_add(ix, (const char *[]){id}, 1,
					   index_candidate(1, UX_QUALITY_LINES, 3), false, &r),
				 UX_OK);
		uses[i * 77 % USED] = (struct ux_touch){r.module, 5000};
	}
	count_writes_of_modules();
	struct ux_db *db = ux_index_writer(ix);
	check_writes_of_modules(db, last, 0, 0);
	assert_int_equal(ix->modules.touch(ix, uses, USED, 600, NULL), UX_OK);
	check_writes_of_modules(db, last, STATEMENTS, USED);
	const uint64_t before = trips_of(db);
	for (size_t i = 0; i < USED; i++)
		uses[i].time += 600;
	assert_int_equal(ix->modules.touch(ix, uses, USED, 600, NULL), UX_OK);
	assert_int_equal(trips_of(db) - before, 2 * STATEMENTS + 1); /* the last one is synced */
	check_writes_of_modules(db, last, STATEMENTS, 0);            /* noted a moment ago */
	assert_int_equal(ix->modules.touch(ix, uses, USED, 0, NULL), UX_OK);
	check_writes_of_modules(db, last, STATEMENTS, USED);
	ix->close(ix);
}

/* The first failure is reported, and nothing of the transaction remains. */
static void a_statement_that_fails_later_fails_its_transaction(void **state)
{
	(void)state;
	struct ux_db db;
	open_numbers(&db);
	for (int waits = 0; waits < 3; waits++) {
		struct ux_error err = UX_ERROR_INIT;
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin_lazy(&tx, &db, NULL), UX_OK);
		put_number(&db, "a", UX_OK);
		put_number(&db, "+", UX_OK); /* is there already */
		put_number(&db, "b", UX_OK);
		if (waits == 1)
			put_and_wait(&db, "c", UX_EIO);
		if (waits == 0) {
			assert_int_equal(ux_tx_commit(&tx, &err), UX_EIO);
			assert_non_null(strstr(err.text, "duplicate key"));
		}
	}
	assert_int_equal(count_numbers(&db), 1);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	assert_int_equal(ux_tx_begin_lazy(&tx, &db, NULL), UX_OK);
	put_number(&db, "a", UX_OK);
	assert_int_equal(ux_tx_commit(&tx, NULL), UX_OK);
	assert_int_equal(count_numbers(&db), 2);
	ux_db_close(&db);
}

/* A transaction's writes before its connection was lost are gone, and the next one works. */
static void a_transaction_whose_connection_is_lost_fails_as_a_whole(void **state)
{
	(void)state;
	struct ux_db db;
	assert_int_equal(ux_db_open(&db, database(), NULL), UX_OK);
	assert_int_equal(ux_db_migrate(&db, NULL), UX_OK);
	{
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin(&tx, &db, NULL), UX_OK);
		put_number(&db, "a", UX_OK);
		restart_database();
		put_number(&db, "b", UX_OK); /* not sent yet */
		put_and_wait(&db, "c", UX_EUNAVAILABLE);
		put_number(&db, "d", UX_EUNAVAILABLE);
		assert_int_equal(ux_tx_commit(&tx, NULL), UX_EUNAVAILABLE);
	}
	assert_int_equal(count_numbers(&db), 0);
	{
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin(&tx, &db, NULL), UX_OK);
		put_number(&db, "c", UX_OK);
		assert_int_equal(ux_tx_commit(&tx, NULL), UX_OK);
	}
	assert_int_equal(count_numbers(&db), 1);
	ux_db_close(&db);
}

static void a_database_that_is_not_there_is_said(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(
		ux_index_open(&ix, "postgres:///none?host=/nonexistent&password=geheim", &err),
		UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "/nonexistent"));
	assert_null(strstr(err.text, "geheim"));
	assert_true(ux_index_is_url("postgresql://h/d") && !ux_index_is_url("/var/lib/unhex"));
}

static void an_index_of_a_newer_unhex_is_refused_where_it_says_so(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	ix->close(ix);
	execute("UPDATE unhex_schema SET version = 999");
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	ix->close(ix);
	execute("UPDATE unhex_schema SET oldest = 998");
	assert_int_equal(ux_index_open(&ix, database(), &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "newer unhex (schema 999, this one reads up to "));
	assert_non_null(strstr(err.text, "install that version or restore a backup"));
}

/* An index from before the base has its tables, and may lack the column `oldest`. */
static void an_index_of_before_the_base_is_refused(void **state)
{
	(void)state;
	const struct ux_schema *s = &ux_postgres_schema;
	char text[256];
	struct ux_index *ix = NULL;
	assert_true(s->base > 1);
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	ix->close(ix);
	for (int version = s->base - 1; version > 0; version--) {
		struct ux_error err = UX_ERROR_INIT;
		snprintf(text, sizeof(text), "UPDATE unhex_schema SET version = %d", version);
		execute(text);
		if (version == s->base - 2)
			execute("ALTER TABLE unhex_schema DROP COLUMN oldest");
		assert_int_equal(ux_index_open(&ix, database(), &err), UX_EUNSUPPORTED);
		snprintf(text, sizeof(text),
			 "the index was written by an older unhex (schema %d, this one reads %d "
			 "and later); open it once with an unhex that upgrades it to schema %d",
			 version, s->base, s->base);
		assert_string_equal(err.text, text);
	}
}

/* Profiles of the base have a blob for themselves, which two of them share if it is the same. */
static void profiles_of_the_base_are_whole_blobs(void **state)
{
	(void)state;
	struct ux_db db;
	struct ux_index *ix = NULL;
	struct ux_kept_profile got;
	struct ux_profile_usage usage;
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(ux_db_open(&db, database(), NULL), UX_OK);
	assert_int_equal(ux_postgres_exec(&db, ux_postgres_schema.steps[0].sql, NULL), UX_OK);
	ux_db_close(&db);
	execute("CREATE TABLE unhex_schema (single BOOLEAN PRIMARY KEY DEFAULT TRUE, version "
		"BIGINT NOT NULL, synced BIGINT NOT NULL, oldest BIGINT NOT NULL DEFAULT 0)");
	execute("INSERT INTO unhex_schema (version, synced) VALUES (13, 0)");
	execute("INSERT INTO blobs VALUES (decode(repeat('07', 32), 'hex'), 77)");
	execute("INSERT INTO profiles (number, ns, service, host, build, started, ended, samples, "
		"level, blob, size, key_id, created) SELECT n, 'team', 'api', 'a', 'v1', 1, 2, 3, "
		"0, hash, 77, 'k', 100 FROM blobs, generate_series(1, 2) AS n");
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ix->profiles.find(ix, "team", 2, &arena, &got, NULL), UX_OK);
	assert_true(got.off == 0 && got.length == 77 && got.size == 77);
	assert_int_equal(ix->profiles.usage(ix, "team", &usage, NULL), UX_OK);
	assert_true(usage.profiles == 2 && usage.bytes == 77);
	ix->close(ix);
	/* A node that reads whole blobs is excluded. */
	assert_int_equal(number_of("SELECT oldest FROM unhex_schema"), 15);
}

static void *open_and_close(void *ctx)
{
	struct ux_index *ix = NULL;
	enum ux_code *code = ctx;
	*code = ux_index_open(&ix, database(), NULL);
	if (*code == UX_OK)
		ix->close(ix);
	return NULL;
}

/* Of nodes that start at the same time, one makes the tables. */
static void the_schema_is_made_once(void **state)
{
	(void)state;
	enum {
		NODES = 6
	};
	pthread_t threads[NODES];
	enum ux_code codes[NODES];
	for (int i = 0; i < NODES; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, open_and_close, &codes[i]), 0);
	for (int i = 0; i < NODES; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(codes[i], UX_OK);
	}
}

static struct ux_node node_at(const char *name, const char *instance, ux_time now)
{
	return (struct ux_node){
		.name = name, .instance = instance, .version = "1", .started = 1, .seen = now};
}

/* The leases of a node without heartbeats end, and no others do. */
static void leases_of_a_dead_node_end(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	UX_ARENA(arena, 1 << 20);
	const struct ux_node a = node_at("a", "1", 1000), b = node_at("b", "2", 1010);
	struct ux_job job = {.kind = "k", .subject = "s", .ns = "default", .payload = ""}, got;
	struct ux_node_list list;
	int64_t number = 0;
	uint64_t n = 0;
	struct ux_node_others others;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ix->nodes.seen(ix, &a, &others, NULL), UX_OK);
	assert_int_equal(number_of("SELECT count(*) FROM nodes WHERE name = 'a' AND steps = "
				   "(SELECT version FROM unhex_schema)"),
			 1);
	assert_false(others.duplicate);
	assert_false(others.outdated);
	assert_int_equal(others.alive, 1);
	assert_int_equal(ix->nodes.seen(ix, &b, &others, NULL), UX_OK);
	assert_int_equal(others.alive, 2);
	assert_int_equal(ix->nodes.list(ix, 1010, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 2);
	assert_int_equal(ix->jobs.add(ix, &job, 1, &number, NULL), UX_OK);
	assert_int_equal(ix->jobs.take(ix, "k", "a#3", 1000, 99999, &arena, &got, NULL), UX_OK);
	assert_int_equal(ix->nodes.seen(ix, &a, &others, NULL), UX_OK);
	assert_int_equal(others.leases, 1);
	assert_int_equal(ix->nodes.seen(ix, &b, &others, NULL), UX_OK);
	assert_int_equal(others.leases, 0);
	assert_int_equal(ix->nodes.reap(ix, 1014, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ix->nodes.reap(ix, 1015, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ix->jobs.take(ix, "k", "b", 1015, 99999, &arena, &got, NULL), UX_OK);
	assert_int_equal(got.number, number);
	assert_string_equal(got.reason, "the node a ended");
	assert_int_equal(ix->jobs.done(ix, number, "a#3", NULL), UX_ECONFLICT);
	assert_int_equal(ix->nodes.leave(ix, &b, 1016, NULL), UX_OK);
	assert_int_equal(ix->jobs.take(ix, "k", "c", 1016, 10, &arena, &got, NULL), UX_OK);
	ix->close(ix);
}

static void a_second_process_with_a_nodes_name_is_noticed(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	const struct ux_node a = node_at("a", "1", 1000), duplicate = node_at("a", "2", 1003);
	struct ux_node_others others;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ix->nodes.seen(ix, &a, &others, NULL), UX_OK);
	assert_int_equal(ix->nodes.seen(ix, &duplicate, &others, NULL), UX_OK);
	assert_true(others.duplicate);
	assert_int_equal(ix->nodes.seen(ix, &duplicate, &others, NULL), UX_OK);
	assert_false(others.duplicate);
	assert_int_equal(ix->nodes.seen(ix, &a, &others, NULL), UX_OK);
	assert_true(others.duplicate);
	ix->close(ix);
}

static struct ux_change_batch look(struct ux_index *ix, struct ux_changes *seen,
				   struct ux_arena *arena)
{
	struct ux_change_batch batch;
	struct ux_error err = UX_ERROR_INIT;
	if (ix->nodes.poll(ix, seen, arena, &batch, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_true(batch.time_ms > INT64_C(1000) * 1700000000);
	return batch;
}

/* Also while an older transaction is still running, which ends after the change. */
static void each_change_is_in_one_batch(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	struct ux_db other;
	struct ux_changes seen = {0};
	struct ux_add_result r;
	const char *first[] = {"gnu:a"}, *second[] = {"gnu:b"};
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ux_db_open(&other, database(), NULL), UX_OK);
	assert_int_equal(look(ix, &seen, &arena).n_modules, 0);
	assert_int_equal(
		index_add(ix, first, 1, index_candidate(1, UX_QUALITY_LINES, 1), false, &r), UX_OK);
	struct ux_change_batch batch = look(ix, &seen, &arena);
	assert_int_equal(batch.n_modules, 1);
	assert_int_equal(batch.modules[0], r.module);
	assert_false(batch.everything);
	assert_int_equal(look(ix, &seen, &arena).n_modules, 0);
	/* a transaction with a lower number than the next change's, which writes later */
	const struct ux_sql begin = {"begin", "BEGIN"},
			    number = {"number", "SELECT txid_current()"}, end = {"end", "COMMIT"},
			    late = {"late", "INSERT INTO changes (place, module, time) VALUES "
					    "(txid_current(), 77, 9000000000)"};
	const struct ux_sql *const steps[] = {&begin, &number, &late, &end};
	for (size_t i = 0; i < ux_countof(steps); i++) {
		if (steps[i] == &late) {
			assert_int_equal(index_add(ix, second, 1,
						   index_candidate(2, UX_QUALITY_LINES, 1), false,
						   &r),
					 UX_OK);
			batch = look(ix, &seen, &arena);
			assert_int_equal(batch.n_modules, 1);
			assert_int_equal(batch.modules[0], r.module);
			assert_int_equal(look(ix, &seen, &arena).n_modules, 0);
		}
		UX_STMT(st, &other, steps[i]);
		assert_int_equal(ux_stmt_run(&st, NULL, NULL), UX_OK);
	}
	batch = look(ix, &seen, &arena);
	assert_int_equal(batch.n_modules, 1);
	assert_int_equal(batch.modules[0], 77);
	assert_int_equal(look(ix, &seen, &arena).n_modules, 0);
	seen.from = INT64_MAX / 2; /* as in a database that has had more transactions */
	assert_true(look(ix, &seen, &arena).everything);
	ux_changes_deinit(&seen);
	ux_db_close(&other);
	ix->close(ix);
}

/* While a file is being removed no row may name it, and afterwards one may. */
static void a_row_does_not_name_a_blob_that_is_being_removed(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	struct ux_add_result r;
	const char *ids[] = {"gnu:a"};
	const struct ux_candidate c = index_candidate(1, UX_QUALITY_LINES, 1);
	bool mine = false;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ix->blobs.remove_begin(ix, &c.blob, 1000, &mine, NULL), UX_OK);
	assert_true(mine);
	assert_int_equal(index_add(ix, ids, 1, c, false, &r), UX_EUNAVAILABLE);
	assert_int_equal(ix->blobs.removed(ix, &c.blob, 1000, NULL), UX_OK);
	assert_int_equal(index_add(ix, ids, 1, c, false, &r), UX_OK);
	assert_int_equal(ix->blobs.remove_begin(ix, &c.blob, 2000, &mine, NULL), UX_OK);
	assert_false(mine); /* a row names it */
	ix->close(ix);
}

UX_SQL(test_glob, "SELECT ux_glob(:pattern, :text)");

/* The regular expression of a pattern matches the same texts as the pattern. */
static void patterns_match_as_in_the_other_database(void **state)
{
	(void)state;
	static const char *const patterns[] = {
		"*",    "?",     "a*c",  "*.so",  "lib*.so.?", "[a-c]*",    "[^a-c]*",
		"[]]",  "[^]]",  "[a-]", "[z-a]", "[^z-a]",    "a.c",       "a\\d",
		"a+",   "(a|b)", "^a$",  "{2}",   "a[*]b",     "\xc3\xa4*", "[\xc3\xa0-\xc3\xbf]",
		"a**b", "[[]",   "[\\]",
	};
	static const char *const texts[] = {
		"",    "a",   "abc",      "ac",        "a.c", "lib.so", "libm.so.6", "]",
		"-",   "z",   "b",        "a\\d",      "aa",  "a+",     "(a|b)",     "^a$",
		"{2}", "a*b", "\xc3\xa4", "\xc3\xa4x", "[",   "\\",     "a\nb",      "ab",
	};
	struct ux_db db;
	assert_int_equal(ux_db_open(&db, database(), NULL), UX_OK);
	assert_int_equal(ux_db_migrate(&db, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(patterns); i++) {
		struct ux_glob g;
		assert_int_equal(ux_glob_parse(patterns[i], &g, NULL), UX_OK);
		for (size_t k = 0; k < ux_countof(texts); k++) {
			bool row = false;
			UX_STMT(st, &db, &test_glob);
			ux_stmt_bind_pattern(&st, ":pattern", patterns[i]);
			ux_stmt_bind_text(&st, ":text", texts[k]);
			assert_int_equal(ux_stmt_step(&st, &row, NULL), UX_OK);
			if (ux_glob_matches(&g, texts[k]) != (ux_stmt_get_int(&st, 0) != 0))
				fail_msg("'%s' of '%s'", patterns[i], texts[k]);
		}
	}
	ux_db_close(&db);
}

/* File names may be any bytes; a row with one is found by the same bytes. */
static void text_that_is_not_utf8_is_stored(void **state)
{
	(void)state;
	struct ux_index *ix = NULL;
	int64_t value = 0;
	assert_int_equal(ux_index_open(&ix, database(), NULL), UX_OK);
	assert_int_equal(ix->number_put(ix, "lib\xff\xc3.so", 7, NULL), UX_OK);
	assert_int_equal(ix->number_get(ix, "lib\xff\xc3.so", &value, NULL), UX_OK);
	assert_int_equal(value, 7);
	ix->close(ix);
}

UX_SUITE(store_postgres)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(index_in_postgresql_conforms, empty),
		cmocka_unit_test_setup(damaged_rows_of_postgresql_are_found, empty),
		cmocka_unit_test_setup(index_without_pipelines_conforms_too, empty),
		cmocka_unit_test_setup(statements_without_a_result_share_a_round_trip, empty),
		cmocka_unit_test_setup(answers_are_read_before_they_are_too_many, empty),
		cmocka_unit_test_setup(uses_of_modules_are_written_by_few_statements, empty),
		cmocka_unit_test_setup(a_statement_that_fails_later_fails_its_transaction, empty),
		cmocka_unit_test_setup(a_database_that_was_restarted_is_connected_to_again, empty),
		cmocka_unit_test_setup(a_transaction_whose_connection_is_lost_fails_as_a_whole,
				       empty),
		cmocka_unit_test(a_database_that_is_not_there_is_said),
		cmocka_unit_test_setup(an_index_of_a_newer_unhex_is_refused_where_it_says_so,
				       empty),
		cmocka_unit_test_setup(an_index_of_before_the_base_is_refused, empty),
		cmocka_unit_test_setup(profiles_of_the_base_are_whole_blobs, empty),
		cmocka_unit_test_setup(the_schema_is_made_once, empty),
		cmocka_unit_test_setup(leases_of_a_dead_node_end, empty),
		cmocka_unit_test_setup(a_second_process_with_a_nodes_name_is_noticed, empty),
		cmocka_unit_test_setup(each_change_is_in_one_batch, empty),
		cmocka_unit_test_setup(a_row_does_not_name_a_blob_that_is_being_removed, empty),
		cmocka_unit_test_setup(patterns_match_as_in_the_other_database, empty),
		cmocka_unit_test_setup(text_that_is_not_utf8_is_stored, empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
