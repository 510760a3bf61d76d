/* SPDX-License-Identifier: Apache-2.0 */
/* apt_sources: both forms of files. */
#include "sweep.h"

#include "debian_files.h"

static void lines_name_uri_suite_components_and_keys(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_apt_source_vec_deinit) struct ux_apt_source_vec v = {0};
	assert_int_equal(
		ux_apt_sources_list(
			UX_STR("# deb http://no x y\n"
			       "deb http://a/debian bookworm main  contrib # why\n"
			       "deb-src http://a/debian bookworm main\n"
			       "deb [arch=amd64,i386 signed-by=/k/a.gpg,/k/b.asc] http://b ./\n"
			       "deb [arch=amd64 http://never\n"
			       "deb http://alone\n"),
			&arena, &v, NULL),
		UX_OK);
	assert_int_equal(v.size, 2);
	assert_string_equal(v.data[0].uri, "http://a/debian");
	assert_string_equal(v.data[0].suites, "bookworm");
	assert_string_equal(v.data[0].components, "main contrib");
	assert_string_equal(v.data[0].signed_by, "");
	assert_string_equal(v.data[1].archs, "amd64 i386");
	assert_string_equal(v.data[1].signed_by, "/k/a.gpg /k/b.asc");
	assert_string_equal(v.data[1].components, "");
}

static void stanzas_are_enabled_binary_and_one_for_each_uri(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_apt_source_vec_deinit) struct ux_apt_source_vec v = {0};
	assert_int_equal(
		ux_apt_sources_deb822(
			UX_STR("Types: deb deb-src\nURIs: http://a http://b\nSuites: one two\n"
			       "Components: main\n contrib\nSigned-By: /k/a.gpg\n\n"
			       "Types: deb-src\nURIs: http://c\nSuites: one\n\n"
			       "Types: deb\nEnabled: no\nURIs: http://d\nSuites: one\n\n"
			       "Types: deb\nURIs: http://e\nSuites: one\nSigned-By:\n "
			       "-----BEGIN PGP PUBLIC KEY BLOCK-----\n"),
			&arena, &v, NULL),
		UX_OK);
	assert_int_equal(v.size, 3);
	assert_string_equal(v.data[0].uri, "http://a");
	assert_string_equal(v.data[1].uri, "http://b");
	assert_string_equal(v.data[1].suites, "one two");
	assert_string_equal(v.data[1].components, "main contrib");
	assert_string_equal(v.data[1].signed_by, "/k/a.gpg");
	assert_string_equal(v.data[2].uri, "http://e");
	assert_string_equal(v.data[2].signed_by, "");
}

static void a_file_that_has_no_stanzas_is_corrupt(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_apt_source_vec_deinit) struct ux_apt_source_vec v = {0};
	assert_int_equal(ux_apt_sources_deb822(UX_STR("deb a b c\n"), &arena, &v, NULL),
			 UX_ECORRUPT);
}

static void a_machine_without_apt_has_no_sources(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_apt_source_vec_deinit) struct ux_apt_source_vec v = {0};
	assert_int_equal(ux_apt_sources_read("/nonexistent", &arena, &v, NULL), UX_OK);
	assert_int_equal(v.size, 0);
}

UX_SUITE(apt_sources)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_name_uri_suite_components_and_keys),
		cmocka_unit_test(stanzas_are_enabled_binary_and_one_for_each_uri),
		cmocka_unit_test(a_file_that_has_no_stanzas_is_corrupt),
		cmocka_unit_test(a_machine_without_apt_has_no_sources),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
