/* SPDX-License-Identifier: Apache-2.0 */
/* source_names: files of source packages by the names that debug information has. */
#include "sweep.h"

#include "source_names.h"

#define ROOT "/usr/src/demo-1.0-1"

/* Sorted by path, as a pack is. */
static const struct ux_packed_source files[] = {
	{.path = "/usr/include/stdio.h"}, /* of another root */
	{.path = ROOT "/csu/libc-start.c"}, {.path = ROOT "/lib/util.c"},
	{.path = ROOT "/src/lparser.c"},    {.path = ROOT "/src/util.c"},
	{.path = ROOT "/stdio.h"},          {.path = ROOT "/top.c"},
	{.path = ROOT "/x/src/part.c"},     {.path = ROOT "/y/src/part.c"},
};

static const char *find(const char *name, bool relative)
{
	UX_ARENA(arena, 64 << 10);
	struct ux_source_tree t;
	size_t at = 0;
	assert_int_equal(ux_source_tree_make(files, ux_countof(files), ROOT, &arena, &t, NULL),
			 UX_OK);
	return ux_source_tree_find(&t, name, relative, &at) ? files[at].path + strlen(ROOT)
							    : "none";
}

static void a_path_in_the_package_is_that_file(void **state)
{
	(void)state;
	assert_string_equal(find("/csu/libc-start.c", true), "/csu/libc-start.c");
	assert_string_equal(find("/src/util.c", true), "/src/util.c");
	assert_string_equal(find("/top.c", true), "/top.c");
}

static void a_name_from_below_a_folder_is_the_only_file_that_ends_so(void **state)
{
	(void)state;
	assert_string_equal(find("/lparser.c", true), "/src/lparser.c");
	assert_string_equal(find("/util.c", true), "none"); /* two of them */
	assert_string_equal(find("/src/part.c", true), "none");
}

static void the_folder_of_a_builder_is_passed_over(void **state)
{
	(void)state;
	assert_string_equal(find("/build/demo-2ueRjK/demo-1.0/src/util.c", false), "/src/util.c");
	assert_string_equal(find("/build/reproducible-path/demo-1.0/top.c", false), "/top.c");
	assert_string_equal(find("/usr/src/demo-1.0-1/lib/util.c", false), "/lib/util.c");
	assert_string_equal(find("/home/me/demo/csu/libc-start.c", false), "/csu/libc-start.c");
}

static void a_file_at_the_top_is_not_that_of_any_folder(void **state)
{
	(void)state;
	assert_string_equal(find("/generated/top.c", true), "none");
	assert_string_equal(find("/home/me/top.c", false), "none");
}

static void headers_of_other_packages_are_none(void **state)
{
	(void)state;
	assert_string_equal(find("/usr/include/stdio.h", false), "none");
	assert_string_equal(
		find("/usr/lib/gcc/x86_64-linux-gnu/12/include/csu/libc-start.c", false), "none");
	assert_string_equal(find("/build/demo/demo", false), "none");
	assert_string_equal(find("/usr/src/demo", false), "none");
}

static void an_empty_package_has_none(void **state)
{
	(void)state;
	UX_ARENA(arena, 64 << 10);
	struct ux_source_tree t;
	size_t at = 0;
	assert_int_equal(ux_source_tree_make(files, 0, ROOT, &arena, &t, NULL), UX_OK);
	assert_false(ux_source_tree_find(&t, "/src/util.c", true, &at));
}

UX_SUITE(source_names)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_path_in_the_package_is_that_file),
		UX_TEST(a_name_from_below_a_folder_is_the_only_file_that_ends_so),
		UX_TEST(the_folder_of_a_builder_is_passed_over),
		UX_TEST(a_file_at_the_top_is_not_that_of_any_folder),
		UX_TEST(headers_of_other_packages_are_none),
		UX_TEST(an_empty_package_has_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
