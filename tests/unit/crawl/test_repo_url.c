/* SPDX-License-Identifier: Apache-2.0 */
/* repo_url: addresses of files in repositories. */
#include "sweep.h"

#include "repo_url.h"

static void a_path_is_joined_and_escaped_in_urls_alone(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	const char *url = NULL;
	assert_int_equal(ux_repo_url_join(&arena, "http://h/debian/",
					  UX_STR("pool/g++/a_1%3a2~b.deb"), &url, NULL),
			 UX_OK);
	assert_string_equal(url, "http://h/debian/pool/g%2B%2B/a_1%253a2~b.deb");
	assert_int_equal(ux_repo_url_join(&arena, "/srv/m", UX_STR("./pool/g++/a.deb"), &url, NULL),
			 UX_OK);
	assert_string_equal(url, "/srv/m/pool/g++/a.deb");
}

static void a_path_that_leads_out_is_refused(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	static const char *const bad[] = {"",    "/etc/passwd", "../a", "a/../../b", "a/..",
					  "a b", "a\nb",        "a\\b", "\xc3\xa4",  ".."};
	const char *url = NULL;
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_int_equal(
			ux_repo_url_join(&arena, "http://h", ux_bytes_cstr(bad[i]), &url, NULL),
			UX_ECORRUPT);
}

static void mirrors_are_http_or_folders_without_credentials(void **state)
{
	(void)state;
	assert_int_equal(ux_repo_url_check("https://h/debian", NULL), UX_OK);
	assert_int_equal(ux_repo_url_check("/srv/debian", NULL), UX_OK);
	assert_int_equal(ux_repo_url_check("file:///srv/debian", NULL), UX_OK);
	assert_int_equal(ux_repo_url_check("srv/debian", NULL), UX_EINVAL);
	assert_int_equal(ux_repo_url_check("ftp://h/debian", NULL), UX_EINVAL);
	assert_int_equal(ux_repo_url_check("https://user:word@h/debian", NULL), UX_EINVAL);
	assert_int_equal(ux_repo_url_check("https://h/debian?x=1", NULL), UX_EINVAL);
}

static void texts_have_no_control_characters(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	const char *text = NULL;
	assert_int_equal(ux_repo_text(&arena, UX_STR("libc6"), "Package", &text, NULL), UX_OK);
	assert_string_equal(text, "libc6");
	assert_int_equal(ux_repo_text(&arena, UX_STR("a\0b"), "Package", &text, NULL), UX_ECORRUPT);
	assert_int_equal(ux_repo_text(&arena, UX_STR("a\x1b[1m"), "Package", &text, NULL),
			 UX_ECORRUPT);
}

UX_SUITE(repo_url)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_path_is_joined_and_escaped_in_urls_alone),
		cmocka_unit_test(a_path_that_leads_out_is_refused),
		cmocka_unit_test(mirrors_are_http_or_folders_without_credentials),
		cmocka_unit_test(texts_have_no_control_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
