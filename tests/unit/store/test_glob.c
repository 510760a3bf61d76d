/* SPDX-License-Identifier: Apache-2.0 */
#include "clock.h"
#include "name_glob.h"
#include "suites.h"

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static bool matches(const char *pattern, const char *text)
{
	struct ux_glob g;
	assert_int_equal(ux_glob_parse(pattern, &g, NULL), UX_OK);
	return ux_glob_matches(&g, text);
}

static void patterns_match_whole_names(void **state)
{
	(void)state;
	assert_true(matches("*libc*", "/usr/lib/libc.so.6"));
	assert_true(matches("/usr/*/libc.so.?", "/usr/lib/libc.so.6"));
	assert_false(matches("libc", "libc.so"));
	assert_false(matches("", "a"));
	assert_true(matches("", ""));
	assert_true(matches("***", ""));
	assert_true(matches("a[b-d]e", "ace"));
	assert_false(matches("a[^b-d]e", "ace"));
	assert_true(matches("[]x]", "]"));
	assert_true(matches("[a-]", "-"));
	assert_true(matches("?[\xc3\xa0-\xc3\xbc]\xe2\x82\xac",
			    "\xf0\x9f\x98\x80\xc3\xa9\xe2\x82\xac"));
	assert_true(matches("*\xff*", "a\xff")); /* not UTF-8: each byte is a character */
	assert_false(matches("*\xe2\x82\xac", "\xe2\x82"));
}

/* SQLite's own implementation is the oracle. */
static void random_patterns_match_as_in_sqlite(void **state)
{
	(void)state;
	static const char *const pieces[] = {"a", "b", "*", "?", "[ab]", "[^a]", "[a-c]", "c"};
	srand(7);
	for (int n = 0; n < 200000; n++) {
		char pattern[64] = "", text[16];
		for (int i = rand() % 8; i > 0; i--)
			strncat(pattern, pieces[rand() % ux_countof(pieces)], 8);
		int size = rand() % 10;
		for (int i = 0; i < size; i++)
			text[i] = (char)('a' + rand() % 3);
		text[size] = '\0';
		if (matches(pattern, text) != (sqlite3_strglob(pattern, text) == 0))
			fail_msg("%s against %s", pattern, text);
	}
}

static void prefix_is_what_every_match_begins_with(void **state)
{
	(void)state;
	static const struct {
		const char *pattern;
		size_t prefix;
	} cases[] = {{"/usr/lib*", 8}, {"*x", 0},    {"", 0},
		     {"abc", 3},       {"ab[c]", 2}, {"\xc3\xa9?", 2}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_glob g;
		assert_int_equal(ux_glob_parse(cases[i].pattern, &g, NULL), UX_OK);
		assert_int_equal(g.prefix_bytes, cases[i].prefix);
	}
}

static void parse_fails(const char *pattern, const char *words)
{
	struct ux_glob g;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_glob_parse(pattern, &g, &err), UX_EINVAL);
	if (!strstr(err.text, words))
		fail_msg("%s: %s", pattern, err.text);
}

static void patterns_over_a_limit_are_refused(void **state)
{
	(void)state;
	char text[2048];
	struct ux_glob g;
	memset(text, 'a', sizeof(text));
	text[UX_GLOB_BYTES_MAX] = '\0';
	assert_int_equal(ux_glob_parse(text, &g, NULL), UX_OK);
	text[UX_GLOB_BYTES_MAX] = 'a';
	text[UX_GLOB_BYTES_MAX + 1] = '\0';
	parse_fails(text, "bytes");
	for (size_t stars = UX_GLOB_STARS_MAX; stars <= UX_GLOB_STARS_MAX + 1; stars++) {
		text[0] = '\0';
		for (size_t i = 0; i < stars; i++)
			memcpy(text + 2 * i, "*a", 3);
		if (stars > UX_GLOB_STARS_MAX)
			parse_fails(text, "'*'");
		else
			assert_int_equal(ux_glob_parse(text, &g, NULL), UX_OK);
	}
	memset(text, 'Q', sizeof(text));
	memcpy(text, "*[", 2);
	memcpy(text + 2 + UX_GLOB_RANGES_MAX, "]Z", 3);
	assert_int_equal(ux_glob_parse(text, &g, NULL), UX_OK);
	memcpy(text + 2 + UX_GLOB_RANGES_MAX, "Q]Z", 4);
	parse_fails(text, "brackets");
	parse_fails("ab[c", "pattern: the '[' at byte 2 has no ']'");
	parse_fails("[", "byte 0");
	parse_fails("[^]", "has no ']'");
}

/* With several '*', SQLite's own takes longer than the age of the universe here. */
static void time_does_not_grow_with_a_power_of_the_stars(void **state)
{
	(void)state;
	char pattern[64] = "", text[1025];
	for (int i = 0; i < UX_GLOB_STARS_MAX; i++)
		strncat(pattern, "*aa", 4);
	strncat(pattern, "b", 2);
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	int64_t before = ux_clock_ms();
	for (int i = 0; i < 100; i++)
		assert_false(matches(pattern, text));
	assert_true(ux_clock_ms() - before < 1000);
}

UX_SUITE(glob)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_whole_names),
		cmocka_unit_test(random_patterns_match_as_in_sqlite),
		cmocka_unit_test(prefix_is_what_every_match_begins_with),
		cmocka_unit_test(patterns_over_a_limit_are_refused),
		cmocka_unit_test(time_does_not_grow_with_a_power_of_the_stars),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
