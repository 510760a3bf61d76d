/* SPDX-License-Identifier: Apache-2.0 */
/* server/symbolize: large answers that are written past the processor's caches. */
#include "sweep.h"

#include "spare_memory.h"

/* Appends bytes that depend on the place only, in items of many sizes, up to `end`. */
static void fill(struct ux_out *to, size_t end, bool direct)
{
	ux_cleanup(ux_out_deinit) struct ux_out window = {0};
	for (size_t at = to->size, size = 1; at < end; size = (size * 7 + 3) % 4099) {
		struct ux_out *out = direct ? to : ux_answer_window(&window, to);
		for (size_t last = ux_min(at + size, end); at < last; at++)
			ux_out_u8(out, (uint8_t)(at * 0x9e3779b1u >> 13));
		ux_answer_window_step(&window, to);
		assert_true(window.size < UX_ANSWER_WINDOW_SIZE);
	}
	ux_answer_window_flush(&window, to);
	assert_int_equal(window.size, 0);
}

static void an_answer_has_the_same_bytes_with_a_window_and_without(void **state)
{
	(void)state;
	for (size_t i = 0; i < 70; i++) {
		ux_cleanup(ux_out_deinit) struct ux_out direct = {0}, large = {0};
		size_t end = UX_ANSWER_WINDOW_MIN + i * (i < 65 ? 1 : 4001);
		size_t first = UX_ANSWER_WINDOW_MIN + i % 64; /* any place in a line */
		memset(ux_out_room(&direct, first), 1, first);
		memset(ux_out_room(&large, first), 1, first);
		fill(&direct, end, true);
		fill(&large, end, false);
		assert_int_equal(large.size, direct.size);
		assert_memory_equal(large.data, direct.data, direct.size);
	}
}

static void a_small_answer_is_written_itself(void **state)
{
	(void)state;
	struct ux_out window = {0}, to = {.size = UX_ANSWER_WINDOW_MIN - 1};
	assert_ptr_equal(ux_answer_window(&window, &to), &to);
	to.size++;
	assert_ptr_equal(ux_answer_window(&window, &to), UX_ANSWER_WINDOW_EXISTS ? &window : &to);
}

static enum ux_code may_have_little(struct ux_out_quota *q, size_t bytes, bool try)
{
	(void)q;
	(void)try;
	return bytes <= UX_ANSWER_WINDOW_SIZE ? UX_OK : UX_ELIMIT;
}

static void a_failure_of_either_is_that_of_the_answer(void **state)
{
	(void)state;
	struct ux_out_quota quota = {.may = may_have_little};
	ux_cleanup(ux_out_deinit) struct ux_out window = {0};
	ux_cleanup(ux_out_deinit) struct ux_out to = {.quota = &quota};
	assert_non_null(ux_out_room(&window, UX_ANSWER_WINDOW_SIZE + 1));
	ux_answer_window_flush(&window, &to);
	assert_int_equal(ux_out_status(&to, NULL), UX_ELIMIT);
	assert_int_equal(window.size, 0);

	ux_cleanup(ux_out_deinit) struct ux_out other = {0};
	window.failed = true;
	ux_answer_window_flush(&window, &other);
	assert_true(other.failed);
	assert_false(window.failed);
}

UX_SUITE(answer_window)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(an_answer_has_the_same_bytes_with_a_window_and_without),
		UX_TEST(a_small_answer_is_written_itself),
		UX_TEST(a_failure_of_either_is_that_of_the_answer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
