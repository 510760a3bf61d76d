/* SPDX-License-Identifier: Apache-2.0 */
/* agent: how much was used in the last minute. */
#include "sweep.h"

#include "hash.h"
#include "usage_window.h"

#define S INT64_C(1000000000)

static void a_minutes_worth_may_be_used_at_once(void **state)
{
	(void)state;
	struct ux_usage_window w = {0};
	assert_int_equal(ux_usage_wait(&w, 1000 * S, 10), 0);
	ux_usage_add(&w, 1000 * S, 9);
	assert_int_equal(ux_usage_wait(&w, 1000 * S, 10), 0);
	ux_usage_add(&w, 1000 * S + 1, 1);
	/* Then not before a minute has passed since the second in which it was used. */
	assert_int_equal(ux_usage_wait(&w, 1000 * S + 1, 10), 61 * S - 1);
	assert_int_equal(ux_usage_wait(&w, 1060 * S + S - 1, 10), 1);
	assert_int_equal(ux_usage_wait(&w, 1061 * S, 10), 0);
	assert_int_equal(w.sum, 0);
}

static void what_was_used_long_ago_does_not_count(void **state)
{
	(void)state;
	struct ux_usage_window w = {0};
	for (int64_t s = 5; s < 500; s++)
		ux_usage_add(&w, s * S, 1);
	assert_int_equal(w.sum, UX_USAGE_SLOTS);
	assert_int_equal(ux_usage_wait(&w, INT64_C(1000000) * S, 1), 0);
	assert_int_equal(w.sum, 0);
	assert_int_equal(w.second, 1000000);
}

/* However the work comes, no minute has more than is allowed and one step. */
static void no_minute_has_more(void **state)
{
	(void)state;
	enum {
		STEPS = 20000,
		MAX = 1000,
		STEP_MAX = 40
	};
	static int64_t at[STEPS], cost[STEPS];
	struct ux_usage_window w = {0};
	uint64_t seed = 1;
	int64_t now = 0;
	for (int i = 0; i < STEPS; i++) {
		seed = ux_hash_u64(seed);
		now += (int64_t)(seed % (seed >> 32) % 7 == 0 ? 20 * S : S / 50);
		now += ux_usage_wait(&w, now, MAX);
		at[i] = now;
		cost[i] = (int64_t)(seed % STEP_MAX);
		ux_usage_add(&w, now, cost[i]);
	}
	int64_t sum = 0;
	for (int i = 0, first = 0; i < STEPS; i++) {
		sum += cost[i];
		for (; at[first] <= at[i] - 60 * S; first++)
			sum -= cost[first];
		assert_true(sum < MAX + STEP_MAX);
	}
}

UX_SUITE(usage_window)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minutes_worth_may_be_used_at_once),
		cmocka_unit_test(what_was_used_long_ago_does_not_count),
		cmocka_unit_test(no_minute_has_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
