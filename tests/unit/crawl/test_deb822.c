/* SPDX-License-Identifier: Apache-2.0 */
/* deb822 and debian_release: stanzas, fields, dates, the hashes of indexes. */
#include "sweep.h"

#include "debian_files.h"

#define HASH_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define HASH_B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static void assert_text(struct ux_bytes value, const char *want)
{
	assert_int_equal(value.size, strlen(want));
	assert_memory_equal(value.data, want, value.size);
}

static void fields_are_read_with_their_further_lines(void **state)
{
	(void)state;
	struct ux_deb822 d = ux_deb822_make(
		UX_STR("# comment\nPackage: a\nDescription:  one \n two\n# inside\n .\n three\n"
		       "EMPTY:\n\n\n \nPackage: b\n"),
		"text");
	struct ux_deb822_field f;
	assert_true(ux_deb822_next_stanza(&d));
	assert_true(ux_deb822_next_field(&d, &f));
	assert_text(f.name, "Package");
	assert_text(f.value, "a");
	assert_true(ux_deb822_next_field(&d, &f));
	assert_text(f.value, "one \n two\n# inside\n .\n three");
	assert_true(ux_deb822_next_field(&d, &f));
	assert_text(f.name, "EMPTY");
	assert_int_equal(f.value.size, 0);
	assert_false(ux_deb822_next_field(&d, &f));
	assert_true(ux_deb822_next_stanza(&d));
	assert_true(ux_deb822_next_field(&d, &f));
	assert_text(f.value, "b");
	assert_false(ux_deb822_next_stanza(&d));
	assert_int_equal(ux_deb822_status(&d, NULL), UX_OK);
}

static void known_fields_are_read_whatever_the_case_of_their_names(void **state)
{
	(void)state;
	struct ux_bytes b = {0}, c = {0}, absent = {0};
	const struct ux_deb822_known known[] = {{"bb", &b}, {"CC", &c}, {"dd", &absent}};
	struct ux_deb822 d =
		ux_deb822_make(UX_STR("bb: 1\na: 2\nbbb: 3\nBB: 4\ncc:\n\ndd: 5\n!\n"), "text");
	assert_true(ux_deb822_next_stanza(&d));
	assert_int_equal(ux_deb822_read(&d, known, ux_countof(known), NULL), UX_OK);
	assert_text(b, "4");
	assert_true(c.data && c.size == 0);
	assert_null(absent.data);
	assert_true(ux_deb822_next_stanza(&d));
	assert_int_equal(ux_deb822_read(&d, known, ux_countof(known), NULL), UX_ECORRUPT);
	assert_text(absent, "5");
}

static void a_stanza_that_is_not_read_is_passed(void **state)
{
	(void)state;
	struct ux_deb822 d = ux_deb822_make(UX_STR("a: 1\nb: 2\n\na: 3\n\n\na: 4"), "text");
	size_t n = 0;
	while (ux_deb822_next_stanza(&d))
		n++;
	assert_int_equal(n, 3);
	assert_int_equal(ux_deb822_status(&d, NULL), UX_OK);
}

static void a_line_that_is_no_field_is_named_by_its_offset(void **state)
{
	(void)state;
	static const char *const bad[] = {"a: 1\nno colon\n", "a: 1\n: value\n", "a: 1\na b: 1\n",
					  "a: 1\n-x: 1\n"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_error err = UX_ERROR_INIT;
		struct ux_deb822_field f;
		struct ux_deb822 d = ux_deb822_make(ux_bytes_cstr(bad[i]), "text");
		assert_true(ux_deb822_next_stanza(&d));
		assert_true(ux_deb822_next_field(&d, &f));
		assert_false(ux_deb822_next_field(&d, &f));
		assert_int_equal(ux_deb822_status(&d, &err), UX_ECORRUPT);
		assert_int_equal(err.off, 5);
		assert_false(ux_deb822_next_stanza(&d));
	}
}

static void dates_of_release_files_are_seconds(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t want;
	} dates[] = {
		{"Thu, 01 Jan 1970 00:00:00 UTC", 0},
		{"Sat, 11 Jul 2026 10:16:37 UTC", 1783764997},
		{"Tue, 29 Feb 2000 23:59:60 +0000", 951868800},
		{"Sun, 1 Mar 2026 9:00:00 GMT", 1772355600},
	};
	static const char *const bad[] = {"",
					  "Sat, 11 Jul 2026",
					  "Sat, 11 Jul 2026 10:16 UTC",
					  "Sat, 32 Jul 2026 10:16:37 UTC",
					  "Sat, 11 Juli 2026 10:16:37 UTC",
					  "Sat, 11 Jul 2026 10:16:37 CEST",
					  "Sat, 11 Jul 2026 10:16:37 UTC x",
					  "Sat, 0 Jul 2026 10:16:37 UTC",
					  "Sat, 11 Jul 20260 10:16:37 UTC",
					  "Sat, 1x Jul 2026 10:16:37 UTC"};
	int64_t t = 0;
	for (size_t i = 0; i < ux_countof(dates); i++) {
		assert_true(ux_deb822_date(ux_bytes_cstr(dates[i].text), &t));
		assert_int_equal(t, dates[i].want);
	}
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_false(ux_deb822_date(ux_bytes_cstr(bad[i]), &t));
}

#define RELEASE                                                                              \
	"Suite: stable\nCodename: one\nDate: Sat, 11 Jul 2026 10:16:37 UTC\n"                \
	"Acquire-By-Hash: yes\nSHA256:\n " HASH_A " 10 main/binary-amd64/Packages\n " HASH_B \
	"       4 main/binary-amd64/Packages.xz\n " HASH_A " 5 main/binary-amd64/Packages.gz\n"

static void the_best_form_of_an_index_is_found_then_the_next_one(void **state)
{
	(void)state;
	static const struct {
		uint64_t size;
		int form;
	} want[] = {{4, 3}, {5, 1}, {10, 0}};
	struct ux_debian_release r;
	struct ux_debian_index index;
	int form = UX_DEBIAN_FORMS;
	assert_int_equal(ux_debian_release_parse(UX_STR(RELEASE), &r, NULL), UX_OK);
	assert_true(r.by_hash);
	assert_int_equal(r.date, 1783764997);
	for (size_t i = 0; i < ux_countof(want); i++) {
		assert_int_equal(ux_debian_release_find(&r, "main/binary-amd64/Packages", &form,
							&index, NULL),
				 UX_OK);
		assert_int_equal(index.size, want[i].size);
		assert_int_equal(form, want[i].form);
	}
	assert_int_equal(
		ux_debian_release_find(&r, "main/binary-amd64/Packages", &form, &index, NULL),
		UX_ENOTFOUND);
	form = UX_DEBIAN_FORMS;
	assert_int_equal(
		ux_debian_release_find(&r, "main/binary-arm64/Packages", &form, &index, NULL),
		UX_ENOTFOUND);
}

static void a_release_without_good_hashes_is_corrupt(void **state)
{
	(void)state;
	struct ux_debian_release r;
	struct ux_debian_index index;
	int form = UX_DEBIAN_FORMS;
	assert_int_equal(ux_debian_release_parse(UX_STR("Suite: x\n"), &r, NULL), UX_ECORRUPT);
	assert_int_equal(ux_debian_release_parse(UX_STR("Date: never\nSHA256:\n a\n"), &r, NULL),
			 UX_ECORRUPT);
	assert_int_equal(ux_debian_release_parse(UX_STR("SHA256:\n 0123 5 a/Packages\n"), &r, NULL),
			 UX_OK);
	assert_int_equal(ux_debian_release_find(&r, "a/Packages", &form, &index, NULL),
			 UX_ECORRUPT);
}

static void read_all(struct ux_bytes bytes, void *ctx)
{
	struct ux_debian_release r;
	struct ux_debian_index index;
	struct ux_error err = UX_ERROR_INIT;
	int form = UX_DEBIAN_FORMS;
	(void)ctx;
	if (ux_debian_release_parse(bytes, &r, &err) != UX_OK) {
		assert_true(err.text[0] != '\0');
		return;
	}
	(void)!ux_debian_release_find(&r, "main/binary-amd64/Packages", &form, &index, NULL);
}

static void every_prefix_of_a_release_is_read_or_refused(void **state)
{
	(void)state;
	each_prefix(UX_STR(RELEASE), read_all, NULL);
	each_bit_flip(UX_STR(RELEASE), read_all, NULL);
}

UX_SUITE(deb822)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_read_with_their_further_lines),
		cmocka_unit_test(known_fields_are_read_whatever_the_case_of_their_names),
		cmocka_unit_test(a_stanza_that_is_not_read_is_passed),
		cmocka_unit_test(a_line_that_is_no_field_is_named_by_its_offset),
		cmocka_unit_test(dates_of_release_files_are_seconds),
		cmocka_unit_test(the_best_form_of_an_index_is_found_then_the_next_one),
		cmocka_unit_test(a_release_without_good_hashes_is_corrupt),
		cmocka_unit_test(every_prefix_of_a_release_is_read_or_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
