/* SPDX-License-Identifier: Apache-2.0 */
/* store: an index in PostgreSQL. tests/e2e/test_postgres.py starts the database and runs this. */
#include "sweep.h"

#include "db_engine.h"
#include "glob.h"
#include "index.h"
#include "index_suite.h"

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

static void restart_database(void)
{
	const char *command = getenv("UNHEX_TEST_POSTGRES_RESTART");
	assert_non_null(command);
	assert_int_equal(system(command), 0);
}

/* Reads go on with a new connection, and so do transactions that had not begun. */
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
		assert_non_null(strstr(err.text, "away"));
}

/* What a transaction had written before its connection was lost is gone, and the next one works. */
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
		put_number(&db, "b", UX_EUNAVAILABLE);
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
	assert_non_null(strstr(err.text, "schema 999"));
	assert_non_null(strstr(err.text, "998"));
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

/* Nodes that start at one time: one of them makes the tables. */
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

UX_SQL(test_glob, "SELECT ux_glob(:pattern, :text)");

/* The regular expression of a pattern matches what the pattern does. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(index_in_postgresql_conforms, empty),
		cmocka_unit_test_setup(a_database_that_was_restarted_is_connected_to_again, empty),
		cmocka_unit_test_setup(a_transaction_whose_connection_is_lost_fails_as_a_whole,
				       empty),
		cmocka_unit_test(a_database_that_is_not_there_is_said),
		cmocka_unit_test_setup(an_index_of_a_newer_unhex_is_refused_where_it_says_so,
				       empty),
		cmocka_unit_test_setup(the_schema_is_made_once, empty),
		cmocka_unit_test_setup(patterns_match_as_in_the_other_database, empty),
		cmocka_unit_test_setup(text_that_is_not_utf8_is_stored, empty),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
