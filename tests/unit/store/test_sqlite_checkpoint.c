/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that copies the log of an index into its file. */
#include "sweep.h"

#include "db_engine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LOG_PAGES = 64,
	PAGE = 4096,
	WAIT_S = 60,     /* s for the thread's work; a busy machine may take long */
	SEQUENCE_AT = 12 /* in the log: a number that grows each time that the log restarts */
};

static char folder[] = "/tmp/unhex-test-XXXXXX", path[64], log_path[80];

struct opened {
	struct ux_db db;
	struct ux_checkpointer *checkpointer;
};

UX_SQL(test_make, "CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT NOT NULL)");
UX_SQL(test_put, "INSERT INTO t (text) VALUES (:text)");
UX_SQL(test_count, "SELECT count(*), sum(length(text)) FROM t");

static void run(struct ux_db *db, const struct ux_sql *sql)
{
	UX_STMT(st, db, sql);
	assert_int_equal(ux_stmt_run(&st, NULL, NULL), UX_OK);
}

static int setup(void **state)
{
	static struct opened o;
	snprintf(folder, sizeof(folder), "/tmp/unhex-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/index.sqlite", folder);
	snprintf(log_path, sizeof(log_path), "%s-wal", path);
	assert_int_equal(ux_db_open(&o.db, path, NULL), UX_OK);
	run(&o.db, &test_make);
	assert_int_equal(ux_checkpointer_open(&o.checkpointer, &o.db, LOG_PAGES, NULL), UX_OK);
	*state = &o;
	return 0;
}

static int teardown(void **state)
{
	struct opened *o = *state;
	ux_checkpointer_close(o->checkpointer);
	ux_db_close(&o->db);
	assert_int_equal(unlink(path), 0);
	return rmdir(folder);
}

/* A transaction of some pages, which does not wait for the disk. */
static void put(struct opened *o, size_t bytes)
{
	char *text = malloc(bytes + 1);
	assert_non_null(text);
	memset(text, 'x', bytes);
	text[bytes] = '\0';
	UX_LOCKED(&o->db.lock);
	ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
	assert_int_equal(ux_tx_begin_lazy(&tx, &o->db, NULL), UX_OK);
	{
		UX_STMT(st, &o->db, &test_put);
		ux_stmt_bind_text(&st, ":text", text);
		assert_int_equal(ux_stmt_run(&st, NULL, NULL), UX_OK);
	}
	assert_int_equal(ux_tx_commit(&tx, NULL), UX_OK);
	free(text);
}

static off_t size_of(const char *name)
{
	struct stat st;
	assert_int_equal(stat(name, &st), 0);
	return st.st_size;
}

static uint32_t log_sequence(void)
{
	uint8_t b[4] = {0};
	int fd = open(log_path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, b, sizeof(b), SEQUENCE_AT), sizeof(b));
	close(fd);
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void nap(void)
{
	static const struct timespec step = {.tv_nsec = 1000000};
	nanosleep(&step, NULL);
}

/* It needs no further commit. */
static void a_log_that_is_full_is_copied_without_a_commit(void **state)
{
	struct opened *o = *state;
	const off_t before = size_of(path);
	put(o, (LOG_PAGES - 8) * PAGE);
	assert_int_equal(size_of(path), before);
	put(o, 16 * PAGE);
	for (int i = 0; i < WAIT_S * 1000 && size_of(path) < LOG_PAGES * PAGE; i++)
		nap();
	assert_true(size_of(path) >= LOG_PAGES * PAGE);
}

static void a_log_that_was_copied_begins_anew(void **state)
{
	struct opened *o = *state;
	put(o, PAGE);
	const uint32_t first = log_sequence();
	for (int i = 0; i < WAIT_S * 1000 && log_sequence() - first < 3; i++) {
		put(o, PAGE);
		nap();
	}
	assert_true(log_sequence() - first >= 3);
	assert_true(size_of(log_path) < 100 * LOG_PAGES * PAGE);
}

/* A reader of an old state delays the copying; the log is copied when that reader has ended. */
static void a_reader_keeps_what_it_reads(void **state)
{
	struct opened *o = *state;
	struct ux_db reader;
	bool row = false;
	put(o, PAGE);
	const uint32_t first = log_sequence();
	assert_int_equal(ux_db_open_reader(&reader, path, NULL), UX_OK);
	{
		ux_cleanup(ux_tx_end) struct ux_tx tx = {0};
		assert_int_equal(ux_tx_begin_read(&tx, &reader, NULL), UX_OK);
		for (int i = 0; i < 2; i++) {
			UX_STMT(st, &reader, &test_count);
			assert_int_equal(ux_stmt_step(&st, &row, NULL), UX_OK);
			assert_int_equal(ux_stmt_get_int(&st, 0), 1);
			for (int k = 0; k < 4 * LOG_PAGES && i == 0; k++)
				put(o, PAGE);
		}
		assert_int_equal(log_sequence(), first);
	}
	for (int i = 0; i < WAIT_S * 1000 && log_sequence() == first; i++) {
		put(o, PAGE);
		nap();
	}
	assert_int_not_equal(log_sequence(), first);
	ux_db_close(&reader);
}

static void *put_many(void *ctx)
{
	for (int i = 0; i < 500; i++)
		put(ctx, 2 * PAGE);
	return NULL;
}

static void commits_of_several_threads_are_all_there(void **state)
{
	enum {
		THREADS = 4
	};
	struct opened *o = *state;
	pthread_t threads[THREADS];
	bool row = false;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, put_many, o), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	ux_checkpointer_close(ux_take(&o->checkpointer));
	ux_db_close(&o->db);
	assert_int_equal(ux_db_open(&o->db, path, NULL), UX_OK);
	assert_int_equal(ux_db_verify(&o->db, NULL), UX_OK);
	UX_STMT(st, &o->db, &test_count);
	assert_int_equal(ux_stmt_step(&st, &row, NULL), UX_OK);
	assert_int_equal(ux_stmt_get_int(&st, 0), THREADS * 500);
	assert_int_equal(ux_stmt_get_int(&st, 1), THREADS * 500 * 2 * PAGE);
}

UX_SUITE(sqlite_checkpoint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_log_that_is_full_is_copied_without_a_commit,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_log_that_was_copied_begins_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(a_reader_keeps_what_it_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(commits_of_several_threads_are_all_there, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
