/* SPDX-License-Identifier: Apache-2.0 */
/* Source paths out of DWARF's pieces. */
#include "sweep.h"

#include "code_unit.h"

/* "DIR|BASE" */
static const char *split(const char *comp_dir, const char *dir, const char *name)
{
	static char text[256];
	struct ux_arena arena;
	struct ux_code_path path = {comp_dir, dir, name};
	struct ux_code_last_dir last = {0};
	struct ux_budget budget = {.left = 1000};
	struct ux_code_file file;
	ux_arena_init(&arena, 4096);
	assert_true(ux_code_path_split(&path, &arena, &budget, &last, &file));
	snprintf(text, sizeof(text), "%s|%s", file.dir, file.base);
	ux_arena_deinit(&arena);
	return text;
}

static void rightmost_absolute_piece_begins_the_path(void **state)
{
	(void)state;
	assert_string_equal(split("/comp", "dir", "a.c"), "/comp/dir|a.c");
	assert_string_equal(split("/comp", "/dir", "a.c"), "/dir|a.c");
	assert_string_equal(split("/comp", "/dir", "/abs/a.c"), "/abs|a.c");
	assert_string_equal(split("/comp", NULL, "a.c"), "/comp|a.c");
	assert_string_equal(split("/comp", "", "a.c"), "/comp|a.c");
	assert_string_equal(split(NULL, "dir", "a.c"), "dir|a.c");
	assert_string_equal(split("", NULL, "a.c"), "|a.c");
	assert_string_equal(split("C:\\comp", "D:\\dir", "a.c"), "D:\\dir|a.c");
}

static void name_is_cut_at_its_last_slash_and_nothing_is_normalized(void **state)
{
	(void)state;
	assert_string_equal(split("/comp", "dir", "sub/a.c"), "/comp/dir/sub|a.c");
	assert_string_equal(split("/comp/", "../dir/", "./a.c"), "/comp/../dir/.|a.c");
	assert_string_equal(split(NULL, NULL, "sub/a.c"), "sub|a.c");
	assert_string_equal(split("/comp", NULL, "/a.c"), "/|a.c");
}

static void directory_of_neighbours_is_made_once(void **state)
{
	(void)state;
	struct ux_arena arena;
	struct ux_code_path path = {"/comp", "dir", "a.c"};
	struct ux_code_last_dir last = {0};
	struct ux_budget budget = {.left = 1000};
	struct ux_code_file a, b, c;
	ux_arena_init(&arena, 4096);
	assert_true(ux_code_path_split(&path, &arena, &budget, &last, &a));
	path.name = "b.c";
	assert_true(ux_code_path_split(&path, &arena, &budget, &last, &b));
	path.dir = "other";
	assert_true(ux_code_path_split(&path, &arena, &budget, &last, &c));
	assert_ptr_equal(a.dir, b.dir);
	assert_string_equal(c.dir, "/comp/other");
	ux_arena_deinit(&arena);
}

static void directory_that_would_be_too_much_text_is_given_without_the_one_in_front(void **state)
{
	(void)state;
	struct ux_arena arena;
	struct ux_code_path path = {"/comp", "dir", "a.c"};
	struct ux_code_last_dir last = {0};
	struct ux_budget budget = {.left = 5};
	struct ux_code_file file;
	ux_arena_init(&arena, 4096);
	assert_true(ux_code_path_split(&path, &arena, &budget, &last, &file));
	assert_string_equal(file.dir, "dir");
	assert_int_equal(budget.left, 0);
	assert_true(budget.exceeded);
	ux_arena_deinit(&arena);
}

static void want_of_memory_is_reported(void **state)
{
	(void)state;
	struct ux_arena arena;
	struct ux_code_path path = {"/comp", "dir", "a.c"};
	struct ux_code_last_dir last = {0};
	struct ux_budget budget = {.left = 1000};
	struct ux_code_file file;
	ux_arena_init(&arena, 4);
	assert_false(ux_code_path_split(&path, &arena, &budget, &last, &file));
	ux_arena_deinit(&arena);
}

UX_SUITE(source_path)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(rightmost_absolute_piece_begins_the_path),
		UX_TEST(name_is_cut_at_its_last_slash_and_nothing_is_normalized),
		UX_TEST(directory_of_neighbours_is_made_once),
		UX_TEST(directory_that_would_be_too_much_text_is_given_without_the_one_in_front),
		UX_TEST(want_of_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
