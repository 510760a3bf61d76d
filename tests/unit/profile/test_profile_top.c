/* SPDX-License-Identifier: Apache-2.0 */
/* The table of functions and lines of a profile. */
#include "sweep.h"

#include "make_profile.h"
#include "out.h"
#include "profile_top.h"

static void write_rows(const struct ux_top *t, const struct ux_profile *p, struct ux_out *out)
{
	ux_out_reset(out);
	ux_out_fmt(out, "%" PRId64 "\n", t->sum);
	for (size_t i = 0; i < t->rows.size; i++) {
		const struct ux_top_row *row = &t->rows.data[i];
		struct ux_bytes name = ux_function_name(&t->functions, row->function);
		ux_out_put(out, name.data, name.size);
		ux_out_fmt(out, " %" PRId64 " %" PRId64, row->self, row->total);
		if (row->file != 0)
			ux_out_fmt(out, " %s:%" PRIu32,
				   (const char *)ux_profile_text(p, row->file).data, row->line);
		ux_out_u8(out, '\n');
	}
	ux_out_u8(out, 0);
}

static void expect_rows(const struct ux_profile *p, size_t type, enum ux_top_level level,
			bool by_total, const char *rows)
{
	ux_cleanup(ux_top_deinit) struct ux_top t = {0};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	assert_int_equal(ux_top_make(&t, p,
				     &(struct ux_top_options){type, level, UX_DEMANGLE_FULL, 0},
				     NULL),
			 UX_OK);
	if (by_total)
		ux_top_order_by_total(&t);
	write_rows(&t, p, &out);
	assert_string_equal((const char *)out.data, rows);
}

static void functions_have_self_and_total(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count cpu/nanoseconds");
	make_profile_sample(&p, "prog!main;prog!outer|inner", 0, 5, 100);
	make_profile_sample(&p, "prog!main;prog!outer|inner;libc.so@1f0", 0, 2, 1000);
	make_profile_sample(&p, "prog!main;prog!inner", 0, 4, 0);
	make_profile_sample(&p, "", 0, 1, 0);
	expect_rows(&p, 0, UX_TOP_FUNCTIONS, false,
		    "12\ninner 9 11\nlibc.so+0x1f0 2 2\nmain 0 11\nouter 0 7\n");
	expect_rows(&p, 0, UX_TOP_FUNCTIONS, true,
		    "12\ninner 9 11\nmain 0 11\nouter 0 7\nlibc.so+0x1f0 2 2\n");
	expect_rows(&p, 1, UX_TOP_FUNCTIONS, false,
		    "1100\nlibc.so+0x1f0 1000 1000\ninner 100 1100\nmain 0 1100\nouter 0 1100\n");
	ux_profile_deinit(&p);
}

static void a_recursive_function_counts_once(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count");
	make_profile_sample(&p, "a!f;a!g;a!f;a!g;a!f", 0, 3, 0);
	make_profile_sample(&p, "a!f;a!g", 0, 2, 0);
	make_profile_sample(&p, "a!g;a!f|g", 0, 1, 0);
	expect_rows(&p, 0, UX_TOP_FUNCTIONS, false, "6\nf 3 6\ng 3 6\n");
	ux_profile_deinit(&p);
}

static void lines_of_a_function_are_rows(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count");
	make_profile_sample(&p, "a!main;a!work", 0, 3, 0);
	make_profile_sample(&p, "a!main;b!work", 0, 2, 0);
	make_profile_sample(&p, "a!main;a@77", 0, 1, 0);
	/* The same function at another line. */
	for (size_t i = 1; i < p.locations.size; i++)
		if (p.locations.data[i].module == 2)
			p.frames.data[p.locations.data[i].first].line = 99;
	expect_rows(&p, 0, UX_TOP_LINES, false,
		    "6\nwork 3 3 /src/work.c:14\nwork 2 2 /src/work.c:99\na+0x77 1 1\n"
		    "main 0 6 /src/main.c:14\n");
	ux_profile_deinit(&p);
}

static void nothing_is_a_table_too(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "");
	expect_rows(&p, 0, UX_TOP_FUNCTIONS, false, "0\n");
	make_profile_sample(&p, "a!main", 0, 1, 1); /* none of its values is kept */
	expect_rows(&p, 0, UX_TOP_LINES, true, "0\nmain 0 0 /src/main.c:14\n");
	ux_profile_deinit(&p);
}

static enum ux_code alloc_top(void *ctx)
{
	ux_cleanup(ux_top_deinit) struct ux_top t = {0};
	return ux_top_make(&t, ctx, &(struct ux_top_options){0, UX_TOP_LINES, UX_DEMANGLE_FULL, 0},
			   NULL);
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)state;
	struct ux_profile p;
	make_profile(&p, "samples/count");
	make_profile_sample(&p, "a!main;a!big|in;a!deep;b@12", 0, 60, 0);
	assert_true(each_failed_alloc(alloc_top, &p, false) > 15);
	ux_profile_deinit(&p);
}

UX_SUITE(profile_top)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_have_self_and_total),   UX_TEST(a_recursive_function_counts_once),
		UX_TEST(lines_of_a_function_are_rows),    UX_TEST(nothing_is_a_table_too),
		UX_TEST(a_failed_allocation_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
