/* SPDX-License-Identifier: Apache-2.0 */
/* unified_diff: changes to source files. */
#include "sweep.h"

#include "unified_diff.h"

#define TEXT "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

static enum ux_code apply_first(const char *diff, const char *text, struct ux_out *out,
				struct ux_error *err)
{
	struct ux_diff d = {.text = ux_bytes_cstr(diff)};
	struct ux_diff_file f;
	uint64_t work = 0;
	assert_true(ux_diff_next(&d, &f));
	return ux_diff_apply(&f, ux_bytes_cstr(text), &work, out, err);
}

static void becomes(const char *diff, const char *text, const char *want)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = apply_first(diff, text, &out, &err);
	assert_string_equal(err.text, "");
	assert_int_equal(code, UX_OK);
	ux_out_u8(&out, 0);
	assert_string_equal((const char *)out.data, want);
}

static void conflicts(const char *diff, const char *text)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(apply_first(diff, text, &out, &err), UX_ECONFLICT);
}

static void a_hunk_replaces_the_lines_that_it_expects(void **state)
{
	(void)state;
	becomes("--- a/f\n+++ b/f\n@@ -2,3 +2,4 @@ function\n two\n-three\n+3\n+3.5\n four\n", TEXT,
		"one\ntwo\n3\n3.5\nfour\nfive\nsix\nseven\neight\nnine\nten\n");
}

static void hunks_follow_each_other_and_move_with_what_is_before_them(void **state)
{
	(void)state;
	becomes("--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n one\n+1.5\n two\n@@ -8,3 +9,2 @@\n eight\n-nine\n "
		"ten\n",
		"zero\n" TEXT, "zero\none\n1.5\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nten\n");
}

static void lines_are_found_at_the_nearest_other_place(void **state)
{
	(void)state;
	becomes("--- a/f\n+++ b/f\n@@ -5,3 +5,3 @@\n x\n-y\n+Y\n x\n",
		"x\ny\nx\n-\n-\n-\nx\ny\nx\n", "x\ny\nx\n-\n-\n-\nx\nY\nx\n");
}

static void a_hunk_of_other_lines_is_a_conflict(void **state)
{
	(void)state;
	conflicts("--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n two\n-drei\n+3\n four\n", TEXT);
	/* and is not applied with less context, as patch(1) does unless that is forbidden */
	conflicts("--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@\n zwei\n-three\n+3\n four\n", TEXT);
	conflicts("--- a/f\n+++ b/f\n@@ -1,1 +1,2 @@\n one\n+two\n", "");
}

static void context_that_is_short_at_an_end_binds_the_hunk_to_that_end(void **state)
{
	(void)state;
	const char *first = "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n+new\n x\n y\n";
	const char *last = "--- a/f\n+++ b/f\n@@ -3,2 +3,3 @@\n x\n y\n+new\n";
	becomes(first, "x\ny\nx\ny\n", "new\nx\ny\nx\ny\n");
	conflicts(first, "-\nx\ny\n");
	becomes(last, "x\ny\n-\n-\nx\ny\n", "x\ny\n-\n-\nx\ny\nnew\n");
	conflicts(last, "-\n-\nx\ny\n-\n");
}

static void a_new_file_is_made_of_nothing(void **state)
{
	(void)state;
	struct ux_diff d = {.text = UX_STR("--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n")};
	struct ux_diff_file f;
	assert_true(ux_diff_next(&d, &f));
	assert_int_equal(f.old_name.size, 0);
	assert_true(ux_bytes_eq(f.new_name, UX_STR("b/new")));
	becomes("--- /dev/null\n+++ b/new\n@@ -0,0 +1,2 @@\n+a\n+b\n", "", "a\nb\n");
}

static void a_last_line_without_a_break_stays_so(void **state)
{
	(void)state;
	becomes("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n",
		"a\nb", "a\nc\n");
	becomes("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n\\ No newline at end of file\n",
		"a\nb\n", "a\nc");
	conflicts("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n",
		  "a\nb\n");
}

static void an_empty_line_of_context_may_have_lost_its_blank(void **state)
{
	(void)state;
	becomes("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nb\n", "a\n\nc\n");
}

static void text_between_files_is_passed_over(void **state)
{
	(void)state;
	struct ux_diff d = {.text = UX_STR("From: x\n--- a line of text\n+++ another\n\n"
					   "Index: f\n===\n--- old dir/f 2020-01-01\n"
					   "+++ new/f\t2020-01-01\n@@ -1 +1 @@\n-a\n+b\n-- \n1.2\n"
					   "--- x/g\n+++ y/with blank\t\n@@ -0,0 +1 @@\n+g\n")};
	struct ux_diff_file f;
	assert_true(ux_diff_next(&d, &f));
	assert_true(ux_bytes_eq(f.old_name, UX_STR("old")));
	assert_true(ux_bytes_eq(f.new_name, UX_STR("new/f")));
	assert_true(ux_bytes_eq(f.hunks, UX_STR("@@ -1 +1 @@\n-a\n+b\n")));
	assert_true(ux_diff_next(&d, &f));
	assert_true(ux_bytes_eq(f.new_name, UX_STR("y/with blank")));
	assert_false(ux_diff_next(&d, &f));
}

static void the_first_folder_is_stripped(void **state)
{
	(void)state;
	assert_true(ux_bytes_eq(ux_diff_strip(UX_STR("a/b/c")), UX_STR("b/c")));
	assert_true(ux_bytes_eq(ux_diff_strip(UX_STR("a//c")), UX_STR("c")));
	assert_int_equal(ux_diff_strip(UX_STR("c")).size, 0);
	assert_int_equal(ux_diff_strip(UX_BYTES_NONE).size, 0);
}

static void a_hunk_that_ends_early_is_corrupt(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(apply_first("--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n", TEXT, &out, &err),
			 UX_ECORRUPT);
	assert_true(err.off <= 40);
}

/* Each hunk is nowhere, and looking for it everywhere takes as long as the file has lines. */
static void a_search_has_an_end(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out text = {0}, out = {0};
	struct ux_diff d = {.text = UX_STR("--- a/f\n+++ b/f\n@@ -1,2 +0,0 @@\n-a\n-b\n")};
	struct ux_diff_file f;
	struct ux_error err = UX_ERROR_INIT;
	uint64_t work = UX_DIFF_WORK_MAX - 10;
	for (int i = 0; i < 100; i++)
		ux_out_cstr(&text, "a\n");
	assert_true(ux_diff_next(&d, &f));
	assert_int_equal(ux_diff_apply(&f, ux_out_bytes(&text), &work, &out, &err), UX_ELIMIT);
}

static void apply_any(struct ux_bytes diff, void *ctx)
{
	struct ux_diff d = {.text = diff};
	struct ux_diff_file f;
	uint64_t work = 0;
	(void)ctx;
	while (ux_diff_next(&d, &f)) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = ux_diff_apply(&f, ux_bytes_cstr(TEXT), &work, &out, &err);
		assert_int_equal(err.code, code);
		assert_true(out.size <= sizeof(TEXT) + diff.size);
	}
}

static const char swept[] = "--- a/f\n+++ b/f\n@@ -2,3 +2,4 @@\n two\n-three\n+3\n+3.5\n four\n"
			    "@@ -9 +10,0 @@\n-nine\n\\ No newline\n--- x/g\n+++ /dev/null\n"
			    "@@ -1,2 +0,0 @@\n-one\n-two\n";

static void damaged_diffs_do_no_harm(void **state)
{
	(void)state;
	each_prefix(ux_bytes_cstr(swept), apply_any, NULL);
	each_bit_flip(ux_bytes_cstr(swept), apply_any, NULL);
}

static enum ux_code apply_swept(void *ctx)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_diff d = {.text = UX_STR("--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n")};
	struct ux_diff_file f;
	uint64_t work = 0;
	(void)ctx;
	return ux_diff_next(&d, &f) ? ux_diff_apply(&f, UX_STR("one\ntwo\n"), &work, &out, NULL)
				    : UX_ENOTFOUND;
}

static void memory_that_is_short_is_reported(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(apply_swept, NULL, /* may_recover= */ false) > 2);
}

UX_SUITE(unified_diff)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_hunk_replaces_the_lines_that_it_expects),
		UX_TEST(hunks_follow_each_other_and_move_with_what_is_before_them),
		UX_TEST(lines_are_found_at_the_nearest_other_place),
		UX_TEST(a_hunk_of_other_lines_is_a_conflict),
		UX_TEST(context_that_is_short_at_an_end_binds_the_hunk_to_that_end),
		UX_TEST(a_new_file_is_made_of_nothing),
		UX_TEST(a_last_line_without_a_break_stays_so),
		UX_TEST(an_empty_line_of_context_may_have_lost_its_blank),
		UX_TEST(text_between_files_is_passed_over),
		UX_TEST(the_first_folder_is_stripped),
		UX_TEST(a_hunk_that_ends_early_is_corrupt),
		UX_TEST(a_search_has_an_end),
		UX_TEST(damaged_diffs_do_no_harm),
		UX_TEST(memory_that_is_short_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
