/* SPDX-License-Identifier: Apache-2.0 */
/* service: token buckets. */
#include "sweep.h"

#include "auth.h"

static const int64_t second = 1000000000, ms = 1000000;

static struct ux_rate_name name(unsigned i)
{
	struct ux_rate_name n = {0};
	memcpy(n.bytes, &i, sizeof(i));
	return n;
}

static void bucket_lets_a_burst_through_and_then_so_many_a_second(void **state)
{
	(void)state;
	struct ux_rates *r = ux_rates_create(4);
	const struct ux_rate rate = {.a_second = 10, .burst = 3};
	struct ux_rate_name who = name(1), other = name(2);
	unsigned wait = 0;
	for (int i = 0; i < 3; i++)
		assert_true(ux_rates_take(r, &who, &rate, 7 * second, 0, &wait) && wait == 0);
	assert_false(ux_rates_take(r, &who, &rate, 7 * second, 0, &wait));
	assert_int_equal(wait, 100);
	assert_true(ux_rates_take(r, &other, &rate, 7 * second, 0, &wait));
	assert_false(ux_rates_take(r, &who, &rate, 7 * second + 100 * ms - 1, 0, &wait));
	assert_int_equal(wait, 1); /* the remaining time, rounded up */
	assert_true(ux_rates_take(r, &who, &rate, 7 * second + 100 * ms, 0, &wait));
	assert_false(ux_rates_take(r, &who, &rate, 7 * second + 100 * ms, 0, &wait));
	/* in 100 seconds, as many as there are tenths, and the burst */
	unsigned n = 0;
	for (int64_t t = 0; t < 100000; t += 7)
		n += ux_rates_take(r, &who, &rate, 20 * second + t * ms, 0, &wait);
	assert_int_equal(n, 3 + 999);
	ux_rates_destroy(r);
}

static void those_who_may_wait_get_their_turn_in_order(void **state)
{
	(void)state;
	struct ux_rates *r = ux_rates_create(4);
	const struct ux_rate rate = {.a_second = 4, .burst = 1};
	struct ux_rate_name who = name(1);
	unsigned wait = 0;
	for (unsigned i = 0; i <= 4; i++) {
		assert_true(ux_rates_take(r, &who, &rate, second, 1000, &wait));
		assert_int_equal(wait, 250 * i);
	}
	assert_false(ux_rates_take(r, &who, &rate, second, 1000, &wait));
	assert_int_equal(wait, 1250);
	assert_false(ux_rates_take(r, &who, &rate, second, 1000, &wait)); /* did not count */
	assert_int_equal(wait, 1250);
	assert_true(ux_rates_take(r, &who, &rate, second + 250 * ms, 1000, &wait));
	assert_int_equal(wait, 1000);
	ux_rates_destroy(r);
}

static void no_rate_and_rates_without_bounds_are_no_trouble(void **state)
{
	(void)state;
	struct ux_rates *r = ux_rates_create(1);
	struct ux_rate_name who = name(1);
	unsigned wait = 7;
	const struct ux_rate none = {0}, max = {UINT64_MAX, UINT64_MAX}, slow = {1, UINT64_MAX};
	assert_true(ux_rates_take(r, &who, &none, 0, 0, &wait));
	assert_int_equal(wait, 0);
	for (unsigned i = 0; i < 1000; i++) {
		assert_true(ux_rates_take(r, &who, &max, INT64_MAX / 8, 0, &wait));
		assert_true(ux_rates_take(r, &who, &slow, INT64_MAX / 8, 0, &wait));
	}
	ux_rates_destroy(r);
	ux_rates_destroy(NULL);
}

/* The bucket that was unused for longest is removed, and no other. */
static void buckets_are_bounded_and_the_oldest_starts_anew(void **state)
{
	(void)state;
	struct ux_rates *r = ux_rates_create(3);
	const struct ux_rate rate = {.a_second = 1, .burst = 1};
	unsigned wait = 0;
	struct ux_rate_name n[5];
	for (unsigned i = 0; i < 5; i++)
		n[i] = name(i * 77);
	for (unsigned i = 0; i < 3; i++)
		assert_true(ux_rates_take(r, &n[i], &rate, second, 0, &wait));
	assert_false(ux_rates_take(r, &n[0], &rate, second, 0, &wait)); /* is used, so newest */
	assert_true(ux_rates_take(r, &n[3], &rate, second, 0, &wait));  /* in place of 1 */
	assert_false(ux_rates_take(r, &n[0], &rate, second, 0, &wait));
	assert_false(ux_rates_take(r, &n[2], &rate, second, 0, &wait));
	assert_false(ux_rates_take(r, &n[3], &rate, second, 0, &wait));
	assert_true(ux_rates_take(r, &n[1], &rate, second, 0, &wait)); /* in place of 0 */
	assert_true(ux_rates_take(r, &n[0], &rate, second, 0, &wait));
	/* however many come */
	for (unsigned i = 0; i < 10000; i++) {
		struct ux_rate_name stranger = name(1000 + i);
		assert_true(ux_rates_take(r, &stranger, &rate, second, 0, &wait));
		assert_false(ux_rates_take(r, &stranger, &rate, second, 0, &wait));
	}
	ux_rates_destroy(r);
}

UX_SUITE(rate)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(bucket_lets_a_burst_through_and_then_so_many_a_second),
		UX_TEST(those_who_may_wait_get_their_turn_in_order),
		UX_TEST(no_rate_and_rates_without_bounds_are_no_trouble),
		UX_TEST(buckets_are_bounded_and_the_oldest_starts_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
