/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a viewer's files. */
#include "sweep.h"

#include "viewer_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/unhex-viewer-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	(void)state;
	DIR *d = opendir(folder);
	for (struct dirent *one; d && (one = readdir(d));)
		(void)unlinkat(dirfd(d), one->d_name, 0);
	closedir(d);
	return rmdir(folder);
}

static void put(const char *name, const char *text, off_t size)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(ftruncate(fd, size), 0);
	close(fd);
}

static void put_release(void)
{
	put("speedscope-AB12.js", "script", 6);
	put("speedscope-CD34.css", "style", 5);
	put("Code.ttf-EF56.woff2", "font", 4);
	put("index.html", "<html>", 6);
}

static void refused(enum ux_code code, const char *message)
{
	struct ux_viewer *v = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_viewer_open(folder, &v, &err), code);
	assert_null(v);
	if (!strstr(err.text, message))
		fail_msg("%s", err.text);
}

static void scripts_styles_and_fonts_of_the_folder_are_served(void **state)
{
	(void)state;
	struct ux_viewer *v = NULL;
	put_release();
	put("speedscope-odd name.js", "x", 1);
	put(".hidden.js", "x", 1);
	assert_int_equal(ux_viewer_open(folder, &v, NULL), UX_OK);
	assert_int_equal(v->n, 3);
	assert_string_equal(v->script->name, "speedscope-AB12.js");
	assert_string_equal(v->style->type, "text/css; charset=utf-8");
	const struct ux_viewer_file *font = ux_viewer_find(v, UX_STR("Code.ttf-EF56.woff2"));
	assert_non_null(font);
	assert_string_equal(font->type, "font/woff2");
	assert_memory_equal(font->bytes.data, "font", 4);
	/* As sha256sum of coreutils has it. */
	put("speedscope-AB12.js", "change", 6);
	assert_memory_equal(v->script->bytes.data, "script", 6);
	assert_string_equal(v->script->tag, "\"21a0270b7f66a1e4c25933f1\"");
	assert_null(ux_viewer_find(v, UX_STR("index.html")));
	assert_null(ux_viewer_find(v, UX_STR("../viewer_files.c")));
	ux_viewer_close(v);
}

static void another_folder_is_refused(void **state)
{
	(void)state;
	struct ux_viewer *v = NULL;
	assert_int_not_equal(ux_viewer_open("/nonexistent/viewer", &v, NULL), UX_OK);
	refused(UX_EINVAL, "expected one speedscope-*.js");
	put("speedscope-AB12.js", "script", 6);
	refused(UX_EINVAL, "speedscope-*.css");
	put("speedscope-CD34.css", "style", 5);
	put("speedscope-AB13.js", "script", 6);
	refused(UX_EINVAL, "expected one");
}

static void files_without_measure_are_refused(void **state)
{
	(void)state;
	char name[32];
	put_release();
	put("large.js", "", UX_VIEWER_BYTES_MAX);
	refused(UX_ELIMIT, "bytes");
	put("large.js", "", 0);
	for (int i = 0; i < UX_VIEWER_FILES_MAX; i++) {
		snprintf(name, sizeof(name), "%d.js", i);
		put(name, "", 0);
	}
	refused(UX_ELIMIT, "more than 32 files");
}

static enum ux_code alloc_viewer(void *ctx)
{
	struct ux_viewer *v = NULL;
	enum ux_code code = ux_viewer_open(ctx, &v, NULL);
	ux_viewer_close(v);
	return code;
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)state;
	put_release();
	assert_true(each_failed_alloc(alloc_viewer, folder, false) > 4);
}

#define VIEWER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, drop_folder)

UX_SUITE(viewer_files)
{
	const struct CMUnitTest tests[] = {
		VIEWER_TEST(scripts_styles_and_fonts_of_the_folder_are_served),
		VIEWER_TEST(another_folder_is_refused),
		VIEWER_TEST(files_without_measure_are_refused),
		VIEWER_TEST(a_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
