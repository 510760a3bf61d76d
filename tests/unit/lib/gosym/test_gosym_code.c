/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "gosym_code.h"
#include "make_gosym.h"

enum {
	WRAPPER = 22,
	START = MAKE_GO_TEXT, /* where the first function is */
};

static const char *const files[] = {"a.go", "b.go", NULL};

/* A program of these functions, opened; Go 1.20's layout, or 1.19's where parents are stored. */
static void open(struct make_go *m, const struct make_go_function *functions, size_t n,
		 struct ux_gosym *g)
{
	bool stored = functions[0].tree[0].stored;
	*m = (struct make_go){.layout = stored ? UX_GOSYM_GO118 : UX_GOSYM_GO120,
			      .minor = stored ? 19 : 24,
			      .word = 8,
			      .files = files,
			      .functions = functions,
			      .n_functions = n};
	make_go_finish(m);
	assert_int_equal(ux_gosym_open(&m->image, &m->hints, g, NULL), UX_OK);
}

/* The code of the first function of a program that has a wrapper beside it. */
static void read_first(struct make_go *m, struct make_go_function first, struct ux_gosym_code *code)
{
	struct make_go_function functions[] = {
		first,
		{.name = "type:.eq.T",
		 .size = 16,
		 .id = WRAPPER,
		 .lines = {{16, 1}},
		 .files = {{16, 0}}},
	};
	struct ux_gosym g;
	struct ux_gosym_function f;
	open(m, functions, ux_countof(functions), &g);
	assert_int_equal(ux_gosym_function_read(&g, 0, &f, NULL), UX_OK);
	assert_true(ux_gosym_code_begin(code, &g));
	assert_int_equal(ux_gosym_code_add(code, &f, NULL), UX_OK);
	m->functions = NULL; /* they end here */
}

#define READ_FIRST(...)                                                \
	ux_cleanup(make_go_deinit) struct make_go m = {0};             \
	ux_cleanup(ux_gosym_code_deinit) struct ux_gosym_code c = {0}; \
	read_first(&m, (struct make_go_function){.name = "f", __VA_ARGS__}, &c)

static void same_call_twice_has_two_ranges(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}},
		   .calls = {{4, -1}, {4, 0}, {4, -1}, {4, 0}, {16, -1}}, .tree = {{"g", 0, 0}});
	assert_int_equal(c.inlines.size, 1);
	assert_int_equal(c.inlines.data[0].range_count, 2);
	assert_int_equal(c.ranges.data[1].lo - START, 12);
	assert_int_equal(c.ranges.data[1].hi - START, 16);
}

static void siblings_come_in_the_order_of_their_code(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}},
		   .calls = {{4, -1}, {4, 2}, {4, 0}, {4, 1}, {16, -1}},
		   .tree = {{"second", 0, 0}, {"in second", 8, 0}, {"first", 0, 0}});
	assert_int_equal(c.inlines.size, 3);
	assert_string_equal(c.names.data[c.inlines.data[0].name], "first");
	assert_string_equal(c.names.data[c.inlines.data[1].name], "second");
	assert_string_equal(c.names.data[c.inlines.data[2].name], "in second");
	assert_int_equal(c.inlines.data[2].depth, 2);
	assert_int_equal(c.ranges.data[c.inlines.data[1].range_first].hi - START, 16);
}

static void wrappers_in_wrappers_are_hidden_too(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{4, 7}, {4, 8}, {24, 9}}, .files = {{32, 0}},
		   .calls = {{8, -1}, {4, 0}, {4, 1}, {4, 2}, {12, -1}},
		   .tree = {{"outer wrapper", 4, WRAPPER},
			    {"inner wrapper", 8, WRAPPER},
			    {"g", 12, 0}});
	assert_int_equal(c.inlines.size, 1);
	assert_string_equal(c.names.data[c.inlines.data[0].name], "g");
	assert_int_equal(c.inlines.data[0].depth, 1);
	assert_int_equal(c.inlines.data[0].call_line, 8);
	assert_int_equal(c.rows.size, 3); /* the wrappers are at 8, where they were called */
	assert_int_equal(c.rows.data[2].pc - START, 16);
}

/* As Go 1.19 describes net/http.readTransfer: two of the calls have no code left, so the places of
 * the calls nested in them are 0. */
static void parents_that_nothing_is_left_of_are_found_by_number(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{4, 1}, {4, 83}, {24, 5}}, .files = {{32, 0}},
		   .calls = {{4, -1}, {4, 2}, {4, 0}, {20, -1}},
		   .tree = {{"NewChunkedReader", 12, .stored = true, .parent = -1, .line = 563},
			    {"NewReader", 0, .stored = true, .parent = 0, .line = 32},
			    {"reset", 0, .stored = true, .parent = 1, .line = 57}});
	static const char *const names[] = {"NewChunkedReader", "NewReader", "reset"};
	static const uint32_t lines[] = {5, 32, 57}; /* the first one's place is good */
	assert_null(c.damage);
	assert_int_equal(c.inlines.size, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(c.names.data[c.inlines.data[i].name], names[i]);
		assert_int_equal(c.inlines.data[i].call_line, lines[i]);
		assert_int_equal(c.inlines.data[i].depth, i + 1);
	}
	assert_int_equal(c.ranges.data[c.inlines.data[1].range_first].lo - START, 4);
	assert_int_equal(c.ranges.data[c.inlines.data[1].range_first].hi - START, 8);
	assert_int_equal(c.ranges.data[c.inlines.data[0].range_first].hi - START, 12);
}

/* As in docker's init functions; before 1.20 the numbers are more reliable. */
static void places_in_circles_do_not_count_where_parents_are_stored(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}},
		   .calls = {{4, 0}, {4, 1}, {24, -1}},
		   .tree = {{"g", 4, .stored = true, .parent = -1, .line = 7},
			    {"h", 0, .stored = true, .parent = 0, .line = 8}});
	assert_null(c.damage);
	assert_int_equal(c.inlines.size, 2);
	assert_string_equal(c.names.data[c.inlines.data[0].name], "g");
	assert_int_equal(c.inlines.data[0].call_line, 7);
	assert_string_equal(c.names.data[c.inlines.data[1].name], "h");
}

static void a_call_in_itself_costs_the_inlined_calls(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}},
		   .calls = {{4, 0}, {4, 1}, {24, -1}}, .tree = {{"g", 4, 0}, {"h", 0, 0}});
	assert_int_equal(c.inlines.size, 0);
	assert_non_null(c.damage);
	assert_int_equal(c.rows.size, 1);
}

static void a_wrapper_in_itself_is_the_function(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}}, .calls = {{4, 0}, {28, -1}},
		   .tree = {{"g", 0, WRAPPER}});
	assert_int_equal(c.inlines.size, 0);
	assert_int_equal(c.rows.size, 1);
}

static void a_call_from_outside_costs_the_inlined_calls(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}}, .calls = {{4, 0}, {28, -1}},
		   .tree = {{"g", 32, 0}});
	assert_int_equal(c.inlines.size, 0);
	assert_non_null(c.damage);
}

static void a_tree_that_leaves_memory_costs_the_inlined_calls(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 1}}, .files = {{32, 0}},
		   .calls = {{4, 1 << 28}, {28, -1}}, .tree = {{"g", 0, 0}});
	assert_int_equal(c.inlines.size, 0);
	assert_non_null(c.damage);
}

static void a_file_that_the_table_does_not_have_is_nowhere(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{32, 3}}, .files = {{8, 9}, {24, 0}});
	assert_int_equal(c.rows.size, 2);
	assert_int_equal(c.files.data[c.rows.data[0].file], UX_GOSYM_NOWHERE);
	assert_int_equal(c.rows.data[0].line, 3);
	assert_null(c.damage);
}

static void lines_below_zero_are_unknown(void **state)
{
	(void)state;
	READ_FIRST(.size = 32, .lines = {{8, -7}, {24, 2}}, .files = {{32, 0}});
	assert_int_equal(c.rows.data[0].line, 0);
	assert_int_equal(c.rows.data[1].line, 2);
}

static struct ux_bytes program(const char *bytes, size_t size)
{
	return ux_bytes(bytes, size);
}

static void steps_end_where_the_function_does(void **state)
{
	(void)state;
	ux_cleanup(ux_gosym_step_vec_deinit) struct ux_gosym_step_vec v = {0};
	/* no program at 0; +2, 4 units; -1, 200 units */
	struct ux_bytes p = program("\0\x04\x04\x01\xc8\x01\0", 7);
	assert_int_equal(ux_gosym_steps_read(p, 1, 1, 100, &v), UX_GOSYM_STEPS_DAMAGED);
	assert_int_equal(ux_gosym_steps_read(p, 1, 1, 200, &v), UX_GOSYM_STEPS_READ);
	assert_int_equal(v.size, 2);
	assert_int_equal(v.data[0].value, 1);
	assert_int_equal(v.data[1].end, 200); /* of 204 */
	assert_int_equal(ux_gosym_steps_at(&v, 0), 1);
	assert_int_equal(ux_gosym_steps_at(&v, 4), 0);
	assert_int_equal(ux_gosym_steps_at(&v, 200), -1);
	assert_int_equal(ux_gosym_steps_read(p, 0, 1, 100, &v), UX_GOSYM_STEPS_READ);
	assert_int_equal(v.size, 0);
	assert_int_equal(ux_gosym_steps_read(p, 7, 1, 100, &v), UX_GOSYM_STEPS_DAMAGED);
}

static void a_first_step_may_change_nothing(void **state)
{
	(void)state;
	ux_cleanup(ux_gosym_step_vec_deinit) struct ux_gosym_step_vec v = {0};
	struct ux_bytes p = program("\0\0\x04\x04\x04\0", 6);
	assert_int_equal(ux_gosym_steps_read(p, 1, 2, 100, &v), UX_GOSYM_STEPS_READ);
	assert_int_equal(v.size, 2);
	assert_int_equal(v.data[0].value, -1);
	assert_int_equal(v.data[0].end, 8);
	assert_int_equal(v.data[1].value, 1);
}

static void steps_without_a_place_are_passed_and_not_for_ever(void **state)
{
	(void)state;
	ux_cleanup(ux_gosym_step_vec_deinit) struct ux_gosym_step_vec v = {0};
	uint8_t still[256] = {0};
	struct ux_bytes p = program("\0\x04\x04\x02\x00\x02\x04\0", 8);
	assert_int_equal(ux_gosym_steps_read(p, 1, 1, 100, &v), UX_GOSYM_STEPS_READ);
	assert_int_equal(v.size, 2);
	assert_int_equal(v.data[1].value, 3);
	for (size_t i = 1; i < sizeof(still); i += 2)
		still[i] = 2;
	assert_int_equal(ux_gosym_steps_read(ux_bytes(still, sizeof(still)), 1, 1, 100, &v),
			 UX_GOSYM_STEPS_DAMAGED);
}

static enum ux_code read_sample(void *ctx)
{
	const struct make_go *m = ctx;
	ux_cleanup(ux_gosym_code_deinit) struct ux_gosym_code c = {0};
	struct ux_gosym g;
	struct ux_gosym_function f;
	UX_TRY(ux_gosym_open(&m->image, &m->hints, &g, NULL));
	UX_TRY(ux_gosym_function_read(&g, 0, &f, NULL));
	return ux_gosym_code_begin(&c, &g) ? ux_gosym_code_add(&c, &f, NULL) : UX_ENOMEM;
}

static void lack_of_memory_is_reported(void **state)
{
	(void)state;
	ux_cleanup(make_go_deinit) struct make_go m = {0};
	struct ux_gosym g;
	open(&m, make_go_sample, make_go_sample_size, &g);
	assert_true(each_failed_alloc(read_sample, &m, false) > 5);
}

UX_SUITE(gosym_code)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(same_call_twice_has_two_ranges),
		UX_TEST(siblings_come_in_the_order_of_their_code),
		UX_TEST(wrappers_in_wrappers_are_hidden_too),
		UX_TEST(parents_that_nothing_is_left_of_are_found_by_number),
		UX_TEST(places_in_circles_do_not_count_where_parents_are_stored),
		UX_TEST(a_call_in_itself_costs_the_inlined_calls),
		UX_TEST(a_wrapper_in_itself_is_the_function),
		UX_TEST(a_call_from_outside_costs_the_inlined_calls),
		UX_TEST(a_tree_that_leaves_memory_costs_the_inlined_calls),
		UX_TEST(a_file_that_the_table_does_not_have_is_nowhere),
		UX_TEST(lines_below_zero_are_unknown),
		UX_TEST(steps_end_where_the_function_does),
		UX_TEST(a_first_step_may_change_nothing),
		UX_TEST(steps_without_a_place_are_passed_and_not_for_ever),
		UX_TEST(lack_of_memory_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
