/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts and the pauses between them, by the clock. */
#include "sweep.h"

#include "clock.h"
#include "retry.h"

/* Milliseconds that a call waited; -1: it gave up. */
static int64_t again(struct ux_retry *r, bool busy, unsigned retry_after_s)
{
	int64_t start = ux_clock_ms();
	bool more = ux_retry_again(r, busy, retry_after_s);
	int64_t took = ux_clock_ms() - start;
	return more ? took : -1;
}

static void pauses_double_until_the_attempts_are_used_up(void **state)
{
	(void)state;
	struct ux_retry r = {.max = 3, .deadline_ms = ux_clock_ms() + 60000};
	assert_true(again(&r, false, 0) >= 250);
	assert_true(again(&r, false, 0) >= 500);
	assert_int_equal(again(&r, false, 0), -1);
}

static void one_attempt_is_not_repeated(void **state)
{
	(void)state;
	struct ux_retry r = {.max = 1, .deadline_ms = ux_clock_ms() + 60000};
	assert_int_equal(again(&r, false, 0), -1);
}

static void progress_begins_anew(void **state)
{
	(void)state;
	struct ux_retry r = {.max = 2, .deadline_ms = ux_clock_ms() + 60000};
	for (int i = 0; i < 2; i++) {
		assert_true(again(&r, false, 0) >= 250);
		ux_retry_reset(&r);
	}
}

static void a_busy_server_does_not_use_up_attempts(void **state)
{
	(void)state;
	struct ux_retry r = {.max = 1, .deadline_ms = ux_clock_ms() + 60000};
	assert_true(again(&r, true, 0) >= 250);
	assert_true(again(&r, true, 1) >= 1000);
	assert_int_equal(again(&r, false, 0), -1);
}

static void nothing_is_waited_for_past_the_deadline(void **state)
{
	(void)state;
	struct ux_retry r = {.max = 9, .deadline_ms = ux_clock_ms() + 500};
	assert_int_equal(again(&r, true, 1), -1);
	r.pauses = 100; /* the longest pause */
	r.deadline_ms = ux_clock_ms() + 9000;
	assert_int_equal(again(&r, false, 0), -1);
}

UX_SUITE(retry)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(pauses_double_until_the_attempts_are_used_up),
		UX_TEST(one_attempt_is_not_repeated),
		UX_TEST(progress_begins_anew),
		UX_TEST(a_busy_server_does_not_use_up_attempts),
		UX_TEST(nothing_is_waited_for_past_the_deadline),
	};
	return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
