/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the page about the server's state: trends, and the IDs that were missed. */
#include "sweep.h"

#include "misses.h"
#include "trends.h"

enum {
	DAY = UX_TREND_STEP_S * UX_TREND_STEPS,
	NOON = DAY * 20000
};

static uint64_t sum_of(const struct ux_trends *t, enum ux_trend which, int64_t now)
{
	uint64_t counts[UX_TREND_STEPS], sum = 0;
	ux_trends_read(t, which, now, counts);
	for (size_t i = 0; i < UX_TREND_STEPS; i++)
		sum += counts[i];
	return sum;
}

static void a_trend_has_each_step_of_the_last_day(void **state)
{
	(void)state;
	static struct ux_metrics m;
	static struct ux_trends t;
	uint64_t counts[UX_TREND_STEPS];
	m = (struct ux_metrics){0};
	t = (struct ux_trends){0};
	assert_int_equal(sum_of(&t, UX_TREND_REQUESTS, NOON), 0);
	m.routes[0].requests[1] = 5;
	m.routes[1].requests[UX_METRICS_CLASSES - 1] = 2;
	ux_trends_note(&t, &m, NOON);
	ux_trends_note(&t, &m, NOON + 1); /* nothing new */
	ux_trends_read(&t, UX_TREND_REQUESTS, NOON, counts);
	assert_int_equal(counts[UX_TREND_STEPS - 1], 7);
	assert_int_equal(sum_of(&t, UX_TREND_ERRORS, NOON), 2);
	m.routes[0].requests[1] = 8;
	ux_trends_note(&t, &m, NOON + 3 * UX_TREND_STEP_S);
	ux_trends_read(&t, UX_TREND_REQUESTS, NOON + 3 * UX_TREND_STEP_S, counts);
	assert_int_equal(counts[UX_TREND_STEPS - 1], 3);
	assert_int_equal(counts[UX_TREND_STEPS - 2], 0);
	assert_int_equal(counts[UX_TREND_STEPS - 4], 7);
	/* It is read later than the last note. */
	ux_trends_read(&t, UX_TREND_REQUESTS, NOON + 5 * UX_TREND_STEP_S, counts);
	assert_int_equal(counts[UX_TREND_STEPS - 1], 0);
	assert_int_equal(counts[UX_TREND_STEPS - 3], 3);
	/* A step that is a day old is gone, after a pause too. */
	ux_trends_note(&t, &m, NOON + DAY);
	assert_int_equal(sum_of(&t, UX_TREND_REQUESTS, NOON + DAY), 3);
	ux_trends_note(&t, &m, NOON + 10 * DAY);
	assert_int_equal(sum_of(&t, UX_TREND_REQUESTS, NOON + 10 * DAY), 0);
	/* If the clock goes back, counts go to the last step. */
	m.routes[0].requests[1] = 9;
	ux_trends_note(&t, &m, NOON);
	assert_int_equal(sum_of(&t, UX_TREND_REQUESTS, NOON + 10 * DAY), 1);
}

static void the_ids_that_were_missed_most_come_first(void **state)
{
	(void)state;
	struct ux_misses *w = ux_misses_create();
	struct ux_missed_id top[4];
	assert_non_null(w);
	assert_int_equal(ux_misses_top(w, "default", top, 4), 0);
	for (int i = 0; i < 3; i++)
		ux_misses_note(w, "default", "gnu:b", 100 + i);
	ux_misses_note(w, "default", "gnu:c", 50);
	ux_misses_note(w, "default", "gnu:a", 70);
	ux_misses_note(w, "other", "gnu:a", 80);
	ux_misses_note(w, "other", "gnu:a", 90);
	assert_int_equal(ux_misses_top(w, "default", top, 4), 3);
	assert_string_equal(top[0].id, "gnu:b");
	assert_int_equal(top[0].count, 3);
	assert_int_equal(top[0].last, 102);
	assert_string_equal(top[1].id, "gnu:a"); /* later than c */
	assert_int_equal(top[1].count, 1);
	assert_string_equal(top[2].id, "gnu:c");
	assert_int_equal(ux_misses_top(w, "default", top, 1), 1);
	assert_string_equal(top[0].id, "gnu:b");
	assert_int_equal(ux_misses_top(w, "other", top, 4), 1);
	assert_int_equal(top[0].count, 2);
	ux_misses_note(NULL, "default", "gnu:b", 1);
	assert_int_equal(ux_misses_top(NULL, "default", top, 4), 0);
	ux_misses_destroy(w);
	ux_misses_destroy(NULL);
}

static void ids_that_come_once_do_not_displace_those_that_come_often(void **state)
{
	(void)state;
	struct ux_misses *w = ux_misses_create();
	struct ux_missed_id top[2];
	char id[UX_MISSES_ID_BYTES + 8];
	assert_non_null(w);
	for (int i = 0; i < 100; i++)
		ux_misses_note(w, "calm", "gnu:often", i);
	for (int i = 0; i < 20 * UX_MISSES_MAX; i++) {
		snprintf(id, sizeof(id), "gnu:%x", (unsigned)i);
		ux_misses_note(w, "flood", id, i);
	}
	assert_int_equal(ux_misses_top(w, "calm", top, 2), 1);
	assert_int_equal(top[0].count, 100);
	for (int i = 0; i < 1000; i++)
		ux_misses_note(w, "flood", "gnu:often", i);
	assert_int_equal(ux_misses_top(w, "flood", top, 2), 2);
	assert_string_equal(top[0].id, "gnu:often");
	/* An ID that is too long to be one is not counted. */
	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	ux_misses_note(w, "long", id, 1);
	assert_int_equal(ux_misses_top(w, "long", top, 2), 0);
	ux_misses_destroy(w);
}

UX_SUITE(status)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_trend_has_each_step_of_the_last_day),
		UX_TEST(the_ids_that_were_missed_most_come_first),
		UX_TEST(ids_that_come_once_do_not_displace_those_that_come_often),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
