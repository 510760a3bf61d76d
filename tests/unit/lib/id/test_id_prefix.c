/* SPDX-License-Identifier: Apache-2.0 */
/* lib/id/id_prefix. */
#include "sweep.h"

#include "id_prefix.h"

static const char *prefix_of(const char *text)
{
	static char ret[UX_ID_TEXT];
	struct ux_bytes guarded = guard(ux_bytes_cstr(text));
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_id_prefix_parse(guarded, ret, &err), UX_OK);
	guard_free(guarded);
	return ret;
}

static void refuses(const char *text, enum ux_code code, const char *words)
{
	char ret[UX_ID_TEXT];
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes guarded = guard(ux_bytes_cstr(text));
	assert_int_equal(ux_id_prefix_parse(guarded, ret, &err), code);
	assert_non_null(strstr(err.text, words));
	guard_free(guarded);
}

static void prefixes_become_the_beginning_of_the_text_form(void **state)
{
	(void)state;
	assert_string_equal(prefix_of("gnu:93AC6"), "gnu:93ac6");
	assert_string_equal(prefix_of("93ac"), "gnu:93ac");
	assert_string_equal(prefix_of("go:aB_-/c"), "go:aB_-/c");
	assert_string_equal(prefix_of("uuid:12345678-AB"), "uuid:12345678ab");
	assert_string_equal(prefix_of("file:1234-5"), "file:12345");
	assert_string_equal(prefix_of("cubin-crc:0012ABCD"), "cubin-crc:0012abcd");
}

static void what_begins_no_id_is_refused(void **state)
{
	(void)state;
	refuses("", UX_EINVAL, "4 characters");
	refuses("93a", UX_EINVAL, "4 characters");
	refuses("gnu:93a", UX_EINVAL, "4 characters");
	refuses("uuid:1-2-3", UX_EINVAL, "4 characters");
	refuses("gnu:93-a1", UX_EINVAL, "hexadecimal");
	refuses("main", UX_EINVAL, "hexadecimal");
	refuses("md5:93ac61", UX_EINVAL, "cubin-crc: before it");
	refuses("cubin-crc:123456789", UX_ELIMIT, "at most 8");
	refuses("uuid:123456781234567812345678123456781", UX_ELIMIT, "at most 32");
}

static void lengths_are_bounded(void **state)
{
	(void)state;
	char text[2 * UX_ID_GNU_MAX + 8] = "gnu:";
	memset(text + 4, 'a', 2 * UX_ID_GNU_MAX);
	assert_string_equal(prefix_of(text), text);
	text[4 + 2 * UX_ID_GNU_MAX] = 'a';
	refuses(text, UX_ELIMIT, "at most 128");
	memcpy(text, "go:", 3);
	memset(text + 3, 'a', UX_ID_GO_MAX + 1);
	text[3 + UX_ID_GO_MAX + 1] = '\0';
	refuses(text, UX_ELIMIT, "at most 128");
}

static void whole_ids_abbreviate_none(void **state)
{
	(void)state;
	assert_true(ux_id_prefix_is_whole("gnu:93ac61ec5a8eb1396f9fbd350e3169a558528a40"));
	assert_true(ux_id_prefix_is_whole("gnu:93ac61ec5a8eb1396f9fbd350e3169a5"));
	assert_false(ux_id_prefix_is_whole("gnu:93ac61ec5a8eb1396f9fbd350e3169a"));
	assert_true(ux_id_prefix_is_whole("go:a/b/c/d"));
	assert_false(ux_id_prefix_is_whole("go:a/b/c"));
	assert_true(ux_id_prefix_is_whole("uuid:12345678123456781234567812345678"));
	assert_false(ux_id_prefix_is_whole("file:1234567812345678123456781234567"));
	assert_true(ux_id_prefix_is_whole("cubin-crc:12345678"));
}

UX_SUITE(id_prefix)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(prefixes_become_the_beginning_of_the_text_form),
		UX_TEST(what_begins_no_id_is_refused),
		UX_TEST(lengths_are_bounded),
		UX_TEST(whole_ids_abbreviate_none),
	};
	return cmocka_run_group_tests_name("id_prefix", tests, NULL, NULL);
}
