/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store: each index with each place of blobs. tests/e2e/test_s3.py starts the servers and runs
 * this, also through a proxy that fails: UNHEX_TEST_S3_ENDPOINT, UNHEX_TEST_S3_BUCKET,
 * UNHEX_TEST_POSTGRES.
 */
#include "sweep.h"

#include "blobs_suite.h"
#include "db_engine.h"
#include "index_suite.h"

#include <unistd.h>

static const char *setting(const char *name)
{
	const char *text = getenv(name);
	if (!text)
		fail_msg("%s is not set", name);
	return text;
}

static void database_execute(const char *text)
{
	struct ux_db db;
	assert_int_equal(ux_db_open(&db, setting("UNHEX_TEST_POSTGRES"), NULL), UX_OK);
	const struct ux_sql sql = {"test", text};
	{
		UX_STMT(st, &db, &sql);
		assert_int_equal(ux_stmt_run(&st, NULL, NULL), UX_OK);
	}
	ux_db_close(&db);
}

/* A store that is empty. */
struct engines {
	char folder[64];
	char place[256];
	struct ux_store_place of;
};

static void engines_make(struct engines *e, bool database, bool bucket, const char *name)
{
	*e = (struct engines){0};
	snprintf(e->folder, sizeof(e->folder), "/tmp/unhex-test-XXXXXX");
	assert_non_null(mkdtemp(e->folder));
	e->of = (struct ux_store_place){.dir = e->folder, .node = "only"};
	if (database) {
		database_execute("DROP SCHEMA public CASCADE");
		database_execute("CREATE SCHEMA public");
		e->of.index = setting("UNHEX_TEST_POSTGRES");
	}
	if (bucket) {
		snprintf(e->place, sizeof(e->place), "%s/%s-%d-%d", setting("UNHEX_TEST_S3_BUCKET"),
			 name, database, (int)getpid());
		e->of.blobs = e->place;
		e->of.s3_endpoint = setting("UNHEX_TEST_S3_ENDPOINT");
	}
}

static void engines_remove(struct engines *e)
{
	char command[96];
	snprintf(command, sizeof(command), "rm -rf %s", e->folder);
	assert_int_equal(system(command), 0);
}

static void engines_open(const struct engines *e, struct ux_store *s)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_store_open_at(s, &e->of, &err) != UX_OK)
		fail_msg("%s", err.text);
}

/* Runs the suites of the index, of blobs, and of a store over both; after reopening, everything is
 * still there. */
static void check_engines(bool database, bool bucket)
{
	struct engines e;
	struct ux_store s;
	engines_make(&e, database, bucket, "index");
	engines_open(&e, &s);
	/* its heartbeats claim the maintenance, and end leases whose owners are not nodes */
	ux_fleet_stop(ux_take(&s.fleet));
	index_conforms(s.index);
	blobs_conform(s.blobs);
	ux_store_close(&s);
	engines_open(&e, &s);
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(index_find(s.index, &arena, "gnu:a").n_candidates, 2);
	ux_store_close(&s);
	engines_remove(&e);
	engines_make(&e, database, bucket, "store");
	store_conforms(&e.of);
	engines_remove(&e);
}

static void an_index_in_a_file_and_blobs_in_files_conform(void **state)
{
	(void)state;
	check_engines(/* database= */ false, /* bucket= */ false);
}

static void an_index_in_postgresql_and_blobs_in_files_conform(void **state)
{
	(void)state;
	check_engines(/* database= */ true, /* bucket= */ false);
}

static void an_index_in_a_file_and_blobs_in_a_bucket_conform(void **state)
{
	(void)state;
	check_engines(/* database= */ false, /* bucket= */ true);
}

static void an_index_in_postgresql_and_blobs_in_a_bucket_conform(void **state)
{
	(void)state;
	check_engines(/* database= */ true, /* bucket= */ true);
}

UX_SUITE(store_engines)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_in_a_file_and_blobs_in_files_conform),
		cmocka_unit_test(an_index_in_postgresql_and_blobs_in_files_conform),
		cmocka_unit_test(an_index_in_a_file_and_blobs_in_a_bucket_conform),
		cmocka_unit_test(an_index_in_postgresql_and_blobs_in_a_bucket_conform),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
