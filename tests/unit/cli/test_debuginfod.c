/* SPDX-License-Identifier: Apache-2.0 */
/* The client of debuginfod, where it sends no request; tests/e2e/test_debuginfod.py has servers. */
#include "sweep.h"

#include "symbol_files.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct ux_id id_of(const char *text)
{
	struct ux_id id;
	assert_int_equal(ux_id_parse(ux_bytes_cstr(text), &id, NULL), UX_OK);
	return id;
}

static void nothing_is_requested_without_urls(void **state)
{
	(void)state;
	struct ux_debuginfod *d = NULL;
	struct ux_debuginfod_options none = {0}, blank = {.urls = " \t "};
	struct ux_id id = id_of("gnu:0123456789");
	char *path = NULL;
	assert_int_equal(ux_debuginfod_create(&d, &none, NULL), UX_OK);
	assert_null(d);
	assert_int_equal(ux_debuginfod_create(&d, &blank, NULL), UX_OK);
	assert_null(d);
	assert_int_equal(ux_debuginfod_find(d, &id, UX_DEBUGINFOD_DEBUGINFO, &path, NULL),
			 UX_ENOTFOUND);
	ux_debuginfod_destroy(d);
}

static void words_that_are_no_url_are_refused_and_those_of_other_clients_passed(void **state)
{
	(void)state;
	struct ux_debuginfod *d = NULL;
	struct ux_debuginfod_options bad = {.urls = "http://127.0.0.1:1 ftp://x"};
	struct ux_debuginfod_options ima = {.urls = "ima:enforcing http://127.0.0.1:1 ima:ignore"};
	assert_int_equal(ux_debuginfod_create(&d, &bad, NULL), UX_EINVAL);
	assert_null(d);
	assert_int_equal(ux_debuginfod_create(&d, &ima, NULL), UX_OK);
	assert_non_null(d);
	ux_debuginfod_destroy(d);
}

static void options_are_those_of_the_environment(void **state)
{
	(void)state;
	setenv("DEBUGINFOD_URLS", "http://a http://b", 1);
	setenv("DEBUGINFOD_CACHE_PATH", "/cache", 1);
	setenv("DEBUGINFOD_TIMEOUT", "7", 1);
	setenv("DEBUGINFOD_MAXTIME", "nonsense", 1);
	setenv("DEBUGINFOD_MAXSIZE", "1000", 1);
	setenv("DEBUGINFOD_HEADERS_FILE", "", 1);
	struct ux_debuginfod_options o = ux_debuginfod_environment();
	assert_string_equal(o.urls, "http://a http://b");
	assert_string_equal(o.cache, "/cache");
	assert_int_equal(o.silence_ms, 7000);
	assert_int_equal(o.max_ms, 0);
	assert_int_equal(o.size_max, 1000);
	assert_null(o.headers);
}

static void kept_files_are_not_requested(void **state)
{
	(void)state;
	char cache[] = "/tmp/unhex-debuginfod-XXXXXX", folder[64], file[96];
	struct ux_debuginfod *d = NULL;
	struct ux_error err = UX_ERROR_INIT;
	char *path = NULL;
	struct ux_id id = id_of("gnu:0123456789");
	assert_non_null(mkdtemp(cache));
	struct ux_debuginfod_options o = {.urls = "http://127.0.0.1:1", .cache = cache};
	assert_int_equal(ux_debuginfod_create(&d, &o, NULL), UX_OK);
	snprintf(folder, sizeof(folder), "%s/0123456789", cache);
	snprintf(file, sizeof(file), "%s/debuginfo", folder);
	assert_int_equal(mkdir(folder, 0700), 0);
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	fclose(f);
	assert_int_equal(ux_debuginfod_find(d, &id, UX_DEBUGINFOD_DEBUGINFO, &path, &err),
			 UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "no debuginfod server had it"));
	f = fopen(file, "w");
	assert_non_null(f);
	fputs("kept", f);
	fclose(f);
	assert_int_equal(ux_debuginfod_find(d, &id, UX_DEBUGINFOD_DEBUGINFO, &path, NULL), UX_OK);
	assert_string_equal(path, file);
	free(path);
	unlink(file);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_debuginfod_find(d, &id, UX_DEBUGINFOD_DEBUGINFO, &path, &err),
			 UX_EUNAVAILABLE);  /* no program listens there */
	assert_int_equal(rmdir(folder), 0); /* nothing was left */
	rmdir(cache);
	ux_debuginfod_destroy(d);
}

static void ids_of_other_kinds_are_not_requested(void **state)
{
	(void)state;
	struct ux_debuginfod *d = NULL;
	struct ux_debuginfod_options o = {.urls = "http://127.0.0.1:1", .cache = "/nonexistent"};
	struct ux_id id = id_of("file:00112233445566778899aabbccddeeff");
	char *path = NULL;
	assert_int_equal(ux_debuginfod_create(&d, &o, NULL), UX_OK);
	assert_int_equal(ux_debuginfod_find(d, &id, UX_DEBUGINFOD_EXECUTABLE, &path, NULL),
			 UX_ENOTFOUND);
	ux_debuginfod_destroy(d);
}

UX_SUITE(debuginfod)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(nothing_is_requested_without_urls),
		UX_TEST(words_that_are_no_url_are_refused_and_those_of_other_clients_passed),
		UX_TEST(options_are_those_of_the_environment),
		UX_TEST(kept_files_are_not_requested),
		UX_TEST(ids_of_other_kinds_are_not_requested),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
