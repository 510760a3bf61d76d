/* SPDX-License-Identifier: Apache-2.0 */
/* lib/jit: which code lived where and when. */
#include "sweep.h"

#include "jit.h"

static void add(struct ux_code_history *h, uint64_t start, uint64_t end, uint64_t time,
		uint32_t code)
{
	struct ux_code_event e = {.start = start, .end = end, .time = time, .code = code};
	assert_true(ux_code_history_add(h, &e, 1));
}

static uint32_t at(const struct ux_code_history *h, uint64_t pc, uint64_t time)
{
	const struct ux_code_event *e = ux_code_history_find(h, pc, time);
	return e ? e->code : UX_CODE_NONE;
}

static void nothing_lives_in_an_empty_history(void **state)
{
	(void)state;
	struct ux_code_history h = {0};
	assert_int_equal(at(&h, 0, UINT64_MAX), UX_CODE_NONE);
	assert_true(ux_code_history_add(&h, NULL, 0));
	assert_int_equal(at(&h, 0, UINT64_MAX), UX_CODE_NONE);
	ux_code_history_deinit(&h);
}

static void later_events_split_earlier_ones(void **state)
{
	(void)state;
	struct ux_code_history h = {0};
	add(&h, 100, 200, 0, 1);
	add(&h, 140, 160, 0, 2);
	assert_int_equal(at(&h, 99, UINT64_MAX), UX_CODE_NONE);
	assert_int_equal(at(&h, 100, UINT64_MAX), 1);
	assert_int_equal(at(&h, 139, UINT64_MAX), 1);
	assert_int_equal(at(&h, 140, UINT64_MAX), 2);
	assert_int_equal(at(&h, 159, UINT64_MAX), 2);
	assert_int_equal(at(&h, 160, UINT64_MAX), 1);
	assert_int_equal(at(&h, 199, UINT64_MAX), 1);
	assert_int_equal(at(&h, 200, UINT64_MAX), UX_CODE_NONE);
	ux_code_history_deinit(&h);
}

static void a_time_has_the_code_that_lived_then(void **state)
{
	(void)state;
	struct ux_code_history h = {0};
	add(&h, 0x1000, 0x2000, 30, 3); /* not in the order of their times */
	add(&h, 0x1000, 0x2000, 10, 1);
	add(&h, 0x1000, 0x2000, 20, UX_CODE_NONE);
	assert_int_equal(at(&h, 0x1800, 9), UX_CODE_NONE);
	assert_int_equal(at(&h, 0x1800, 10), 1);
	assert_int_equal(at(&h, 0x1800, 19), 1);
	assert_int_equal(at(&h, 0x1800, 20), UX_CODE_NONE);
	assert_int_equal(at(&h, 0x1800, 30), 3);
	assert_int_equal(at(&h, 0x1800, UINT64_MAX), 3);
	ux_code_history_deinit(&h);
}

static void ends_of_memory_are_no_trouble(void **state)
{
	(void)state;
	struct ux_code_history h = {0};
	add(&h, 0, UINT64_MAX, 0, 1);
	add(&h, UINT64_MAX - 1, UINT64_MAX, 0, 2);
	assert_int_equal(at(&h, 0, 0), 1);
	assert_int_equal(at(&h, UINT64_MAX - 2, 0), 1);
	assert_int_equal(at(&h, UINT64_MAX - 1, 0), 2);
	assert_int_equal(at(&h, UINT64_MAX, 0), UX_CODE_NONE);
	ux_code_history_deinit(&h);
}

/* The answer by trying every event. */
static uint32_t plainly(const struct ux_code_event *events, size_t n, uint64_t pc, uint64_t time)
{
	const struct ux_code_event *best = NULL;
	for (size_t i = 0; i < n; i++)
		if (events[i].start <= pc && pc < events[i].end && events[i].time <= time &&
		    (!best || events[i].time >= best->time))
			best = &events[i];
	return best ? best->code : UX_CODE_NONE;
}

static void answers_are_those_of_trying_every_event_whatever_the_batches(void **state)
{
	(void)state;
	enum {
		EVENTS = 600,
		SPACE = 400,
		TIMES = 20
	};
	static struct ux_code_event events[EVENTS];
	uint64_t random = 1;
	for (size_t round = 0; round < 8; round++) {
		struct ux_code_history h = {0};
		for (size_t i = 0; i < EVENTS; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			uint64_t start = (random >> 33) % SPACE;
			uint64_t size = 1 + (random >> 13) % (i % 7 == 0 ? 200 : 20);
			events[i] = (struct ux_code_event){
				.start = start,
				.end = start + size,
				.time = round % 2 ? (random >> 50) % TIMES : 0,
				.code = (random >> 24) % 9 == 0 ? UX_CODE_NONE : (uint32_t)i};
		}
		for (size_t i = 0, n = 0; i < EVENTS; i += n) {
			n = ux_min((size_t)EVENTS - i, round < 2 ? 1 : 1 + (i * round) % 50);
			assert_true(ux_code_history_add(&h, events + i, n));
		}
		for (uint64_t pc = 0; pc < SPACE + 210; pc++)
			for (uint64_t time = 0; time < TIMES; time += 3)
				assert_int_equal(at(&h, pc, time),
						 plainly(events, EVENTS, pc, time));
		ux_code_history_deinit(&h);
	}
}

static enum ux_code add_some(void *ctx)
{
	(void)ctx;
	struct ux_code_history h = {0};
	enum ux_code code = UX_OK;
	for (uint32_t i = 0; i < 20 && code == UX_OK; i++) {
		struct ux_code_event e = {.start = i, .end = i + 2, .code = i};
		if (!ux_code_history_add(&h, &e, 1))
			code = UX_ENOMEM;
		else
			assert_int_equal(at(&h, i, 0), i);
	}
	ux_code_history_deinit(&h);
	return code;
}

static void without_memory_nothing_is_lost(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(add_some, NULL, /* may_recover= */ true) > 20);
}

UX_SUITE(code_history)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(nothing_lives_in_an_empty_history),
		UX_TEST(later_events_split_earlier_ones),
		UX_TEST(a_time_has_the_code_that_lived_then),
		UX_TEST(ends_of_memory_are_no_trouble),
		UX_TEST(answers_are_those_of_trying_every_event_whatever_the_batches),
		UX_TEST(without_memory_nothing_is_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
