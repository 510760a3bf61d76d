/* SPDX-License-Identifier: Apache-2.0 */
/* The calls by which a store makes its files durable, in their order: a file before its name, and
 * each folder whose entries changed. Without them a power cut leaves names of empty files. */
#include "sweep.h"

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker gives these the calls of the store, and __real_ the C library's. */
int __wrap_fsync(int fd);
int __wrap_renameat(int from, const char *a, int to, const char *b);
int __wrap_rename(const char *a, const char *b);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_linkat(int from, const char *a, int to, const char *b, int flags);
int __real_fsync(int fd);
int __real_renameat(int from, const char *a, int to, const char *b);
int __real_rename(const char *a, const char *b);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __real_linkat(int from, const char *a, int to, const char *b, int flags);

/* The calls since the last reset, a line each, with paths below the folder of the test. */
static char calls[8192], top[64];
static unsigned n_syncs, fails_at; /* the sync that fails, counted from 1; 0: none */

static void note(const char *what, const char *path)
{
	size_t n = strlen(top), at = strlen(calls);
	const char *below = strncmp(path, top, n) == 0 && path[n] == '/' ? path + n + 1 : path;
	snprintf(calls + at, sizeof(calls) - at, "%s %s\n", what, below);
}

static void note_at(const char *what, int dir, const char *name)
{
	char link[64], path[400];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	ssize_t n = readlink(link, path, 200);
	assert_true(n > 0);
	snprintf(path + n, sizeof(path) - (size_t)n, "%s%s", name[0] ? "/" : "", name);
	note(what, path);
}

int __wrap_fsync(int fd)
{
	note_at("sync", fd, "");
	if (++n_syncs != fails_at)
		return __real_fsync(fd);
	errno = EIO;
	return -1;
}

int __wrap_renameat(int from, const char *a, int to, const char *b)
{
	note_at("name", to, b);
	return __real_renameat(from, a, to, b);
}

int __wrap_rename(const char *a, const char *b)
{
	note("name", b);
	return __real_rename(a, b);
}

int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
	int r = __real_mkdirat(dir, name, mode);
	int error = errno;
	if (r == 0)
		note_at("make", dir, name);
	errno = error;
	return r;
}

int __wrap_linkat(int from, const char *a, int to, const char *b, int flags)
{
	note_at("link", to, b);
	return __real_linkat(from, a, to, b, flags);
}

static void forget(void)
{
	calls[0] = '\0';
	n_syncs = fails_at = 0;
}

/* Where the blob of "abc" is. */
static const char abc[] = "ba/78/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char uid[] = "00112233445566778899aabbccddeeff";

static enum ux_code commit(struct ux_store *s, struct ux_error *err)
{
	struct ux_blobs *b = s->blobs;
	struct ux_blob_part *part = NULL;
	const struct ux_blob_hash hash = ux_blob_hash_of(UX_STR("abc"));
	uint64_t size = 0;
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	if (size == 0)
		assert_int_equal(b->part_write(part, UX_STR("abc"), NULL), UX_OK);
	enum ux_code code = b->part_commit(part, &hash, err);
	b->part_close(part);
	return code;
}

static void remove_tree(const char *dir)
{
	char command[256];
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

static int open_store(void **state)
{
	static struct ux_store store;
	static char dir[96];
	snprintf(top, sizeof(top), "/tmp/unhex-sync-XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(dir, sizeof(dir), "%s/store", top);
	assert_int_equal(ux_store_open(&store, dir, NULL), UX_OK);
	forget();
	*state = &store;
	return 0;
}

static int close_store(void **state)
{
	forget();
	ux_store_close(*state);
	remove_tree(top);
	return 0;
}

static void a_file_is_durable_before_its_name_and_then_its_folders(void **state)
{
	char expected[1024];
	assert_int_equal(commit(*state, NULL), UX_OK);
	snprintf(expected, sizeof(expected),
		 "sync store/uploads/%s\n"
		 "make store/blobs/ba\nsync store/blobs\n"
		 "make store/blobs/ba/78\nsync store/blobs/ba\n"
		 "name store/blobs/%s\n"
		 "sync store/blobs/ba/78\n",
		 uid, abc);
	assert_string_equal(calls, expected);
	/* The folders are there now. */
	forget();
	assert_int_equal(commit(*state, NULL), UX_OK);
	snprintf(expected, sizeof(expected),
		 "sync store/uploads/%s\nname store/blobs/%s\n"
		 "sync store/blobs/ba/78\n",
		 uid, abc);
	assert_string_equal(calls, expected);
}

static void a_sync_that_fails_is_an_error(void **state)
{
	struct ux_store *s = *state;
	unsigned failures = 0;
	for (unsigned i = 1;; i++) {
		struct ux_error err = UX_ERROR_INIT;
		char path[128];
		forget();
		fails_at = i;
		enum ux_code code = commit(s, &err);
		if (n_syncs < i) {
			assert_int_equal(code, UX_OK);
			break;
		}
		assert_int_equal(code, UX_EIO);
		assert_int_equal(err.os_errno, EIO);
		failures++;
		/* As if nothing of it existed. */
		snprintf(path, sizeof(path), "%s/store/blobs/ba", top);
		remove_tree(path);
	}
	assert_int_equal(failures, 4);
}

static void a_copy_is_durable_before_it_has_its_name(void **state)
{
	struct ux_store *s = *state;
	char dir[96], store_dir[96], line[256];
	const struct ux_who who = {.key_id = "", .from = "test"};
	const char *ids[] = {"gnu:a"};
	const struct ux_arrival what = {.ns = "default", .ids = ids, .n_ids = 1};
	const struct ux_candidate c = {.kind = UX_KIND_GSYM,
				       .state = UX_CANDIDATE_READY,
				       .blob = ux_blob_hash_of(UX_STR("abc")),
				       .size = 3,
				       .quality = UX_QUALITY_LINES,
				       .reason = "",
				       .origin_name = "",
				       .description = "",
				       .file_name = "",
				       .key_id = ""};
	struct ux_add_result added;
	struct ux_backup_sum sum;
	assert_int_equal(commit(s, NULL), UX_OK);
	assert_int_equal(ux_store_commit_candidate(s, NULL, &what, &c, &who, &added, NULL), UX_OK);
	snprintf(dir, sizeof(dir), "%s/copy", top);
	snprintf(store_dir, sizeof(store_dir), "%s/store", top);
	forget();
	assert_int_equal(ux_store_copy(s, store_dir, dir, &(struct ux_backup_how){0}, &sum, NULL),
			 UX_OK);
	/* The blob, whose folder is synced; then the index, before and after it has its name. */
	snprintf(line, sizeof(line), "name copy/blobs/%s\nsync copy/blobs/ba/78\n", abc);
	const char *blob = strstr(calls, line);
	if (!blob)
		fail_msg("%s", calls);
	snprintf(line, sizeof(line),
		 "sync copy/" UX_STORE_UNFINISHED "\nname copy/index.sqlite\nsync copy\n");
	const char *index = strstr(calls, line);
	if (!index || index < blob)
		fail_msg("%s", calls);
}

#define SYNC_TEST(name) cmocka_unit_test_setup_teardown(name, open_store, close_store)

UX_SUITE(store_sync)
{
	const struct CMUnitTest tests[] = {
		SYNC_TEST(a_file_is_durable_before_its_name_and_then_its_folders),
		SYNC_TEST(a_sync_that_fails_is_an_error),
		SYNC_TEST(a_copy_is_durable_before_it_has_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
