/* SPDX-License-Identifier: Apache-2.0 */
/* push/push_scan.c. */
#include "sweep.h"

#include "out.h"
#include "push_work.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The test's own folder, and the reports of a scan of it. */
struct scene {
	char dir[32];
	struct ux_out reported; /* "NAME: reason" lines of files that were left out */
};

static const char *at(const struct scene *s, const char *name)
{
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return path;
}

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	assert_non_null(s);
	memcpy(s->dir, "/tmp/test-scan-XXXXXX", 22);
	assert_non_null(mkdtemp(s->dir));
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	assert_int_equal(system(command), 0);
	ux_out_deinit(&s->reported);
	free(s);
	return 0;
}

static void touch(const struct scene *s, const char *name)
{
	int fd = open(at(s, name), O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void note(void *ctx, const char *path, bool named, const struct ux_error *err)
{
	struct scene *s = ctx;
	const char *name = path + strlen(s->dir);
	ux_out_fmt(&s->reported, "%s%s: %s\n", *name ? name + 1 : "", named ? " (named)" : "",
		   err->text);
}

/* Checks the result of a scan of path: names below the folder, each followed by a space. */
static void expect_files(struct scene *s, const char *path, const char *files, const char *reported)
{
	ux_cleanup(ux_scan_deinit) struct ux_scan scan = {.left_out = note, .ctx = s};
	ux_cleanup(ux_out_deinit) struct ux_out found = {0};
	ux_out_reset(&s->reported);
	assert_int_equal(ux_scan_path(&scan, path, NULL), UX_OK);
	for (size_t i = 0; i < scan.files.size; i++)
		ux_out_fmt(&found, "%s ", scan.files.data[i].path + strlen(s->dir) + 1);
	ux_out_u8(&found, 0);
	ux_out_u8(&s->reported, 0);
	assert_string_equal((char *)found.data, files);
	assert_string_equal((char *)s->reported.data, reported);
}

static void files_come_in_the_order_of_their_names_and_once(void **state)
{
	struct scene *s = *state;
	assert_int_equal(mkdir(at(s, "m"), 0700), 0);
	touch(s, "z");
	touch(s, "m/b");
	touch(s, "m/a");
	touch(s, "a");
	char target[4096];
	snprintf(target, sizeof(target), "%s", at(s, "m/a"));
	assert_int_equal(link(target, at(s, "m/hard")), 0);
	assert_int_equal(symlink(target, at(s, "n")), 0);
	expect_files(s, s->dir, "a m/a m/b z ", "");
}

static void links_to_folders_are_followed_only_by_name(void **state)
{
	struct scene *s = *state;
	assert_int_equal(mkdir(at(s, "real"), 0700), 0);
	touch(s, "real/file");
	assert_int_equal(symlink("..", at(s, "real/up")), 0);
	assert_int_equal(symlink("real", at(s, "link")), 0);
	expect_files(s, s->dir, "real/file ",
		     "link: is a link to a folder; expected a regular file\n"
		     "real/up: is a link to a folder; expected a regular file\n");
	expect_files(s, at(s, "link"), "link/file ",
		     "link/up: is a link to a folder; expected a regular file\n");
}

static void what_is_no_file_is_reported_and_not_opened(void **state)
{
	struct scene *s = *state;
	assert_int_equal(mkfifo(at(s, "fifo"), 0600), 0);
	assert_int_equal(symlink("nowhere", at(s, "dangling")), 0);
	touch(s, "file");
	expect_files(s, s->dir, "file ",
		     "dangling: is a broken symbolic link\n"
		     "fifo: is a FIFO; expected a regular file\n");
	expect_files(s, at(s, "fifo"), "", "fifo (named): is a FIFO; expected a regular file\n");
	expect_files(s, at(s, "gone"), "", "gone (named): cannot open\n");
	expect_files(s, at(s, "dangling"), "", "dangling (named): cannot open\n");
}

static void folders_too_deep_are_reported(void **state)
{
	struct scene *s = *state;
	char path[4096];
	size_t n = (size_t)snprintf(path, sizeof(path), "%s", s->dir);
	for (int i = 0; i < UX_SCAN_DEPTH_MAX + 3; i++) {
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
		assert_int_equal(mkdir(path, 0700), 0);
	}
	ux_cleanup(ux_scan_deinit) struct ux_scan scan = {.left_out = note, .ctx = s};
	assert_int_equal(ux_scan_path(&scan, s->dir, NULL), UX_OK);
	ux_out_u8(&s->reported, 0);
	assert_non_null(strstr((char *)s->reported.data, "folders are nested more than 128 deep"));
}

static enum ux_code scan_once(void *ctx)
{
	struct scene *s = ctx;
	ux_cleanup(ux_scan_deinit) struct ux_scan scan = {.left_out = note, .ctx = s};
	return ux_scan_path(&scan, s->dir, NULL);
}

static void failed_allocations_end_the_scan(void **state)
{
	struct scene *s = *state;
	touch(s, "a");
	touch(s, "b");
	assert_true(each_failed_alloc(scan_once, s, /* may_recover= */ true) > 3);
}

UX_SUITE(push_scan)
{
#define SCENE(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		SCENE(files_come_in_the_order_of_their_names_and_once),
		SCENE(links_to_folders_are_followed_only_by_name),
		SCENE(what_is_no_file_is_reported_and_not_opened),
		SCENE(folders_too_deep_are_reported),
		SCENE(failed_allocations_end_the_scan),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
