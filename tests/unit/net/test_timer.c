/* SPDX-License-Identifier: Apache-2.0 */
#include "timer.h"

#include "sweep.h"

#include "hash.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
	HOUR_MS = 3600 * 1000
};

static struct ux_timers *timers;

struct bell {
	struct ux_timer timer;
	atomic_uint rung;
	unsigned number;      /* of timers that have rung: when it did last */
	int64_t again_ms;     /* -1: not again */
	atomic_bool *hold_on; /* the call does not return until it is false; NULL: it returns */
};

static atomic_uint n_rung;

static void ring(struct ux_timer *timer)
{
	struct bell *b = ux_container_of(timer, struct bell, timer);
	b->number = atomic_fetch_add(&n_rung, 1);
	if (b->again_ms >= 0)
		ux_timer_start(timers, timer, b->again_ms);
	atomic_fetch_add(&b->rung, 1);
	while (b->hold_on && atomic_load(b->hold_on))
		sched_yield();
}

#define BELL                                       \
	{                                          \
		.timer.fire = ring, .again_ms = -1 \
	}

static void wait_for(struct bell *b, unsigned times)
{
	while (atomic_load(&b->rung) < times)
		sched_yield();
}

static void timers_fire_once_and_in_order(void **state)
{
	(void)state;
	struct bell late = BELL, early = BELL, second = BELL, never = BELL;
	ux_timer_start(timers, &late.timer, HOUR_MS);
	ux_timer_start(timers, &second.timer, 60);
	ux_timer_start(timers, &never.timer, 30);
	ux_timer_start(timers, &early.timer, 1);
	ux_timer_stop(timers, &never.timer);
	wait_for(&second, 1);
	assert_true(early.number < second.number);
	assert_int_equal(atomic_load(&early.rung), 1);
	assert_int_equal(atomic_load(&late.rung), 0);
	assert_int_equal(atomic_load(&never.rung), 0);
	ux_timer_start(timers, &late.timer, 1); /* now instead of in an hour */
	wait_for(&late, 1);
	ux_timer_start(timers, &early.timer, 0);
	wait_for(&early, 2);
	ux_timer_stop(timers, &early.timer);
	ux_timer_stop(timers, &late.timer);
}

static void a_timer_may_start_itself_until_it_is_stopped(void **state)
{
	(void)state;
	struct bell again = BELL;
	again.again_ms = 0;
	ux_timer_start(timers, &again.timer, 0);
	wait_for(&again, 5);
	ux_timer_stop(timers, &again.timer);
	unsigned rung = atomic_load(&again.rung);
	usleep(5000);
	assert_int_equal(atomic_load(&again.rung), rung);
}

static void *let_go(void *ctx)
{
	usleep(20000);
	atomic_store((atomic_bool *)ctx, false);
	return NULL;
}

static void stopping_waits_for_the_call_in_progress(void **state)
{
	(void)state;
	atomic_bool hold_on = true;
	struct bell slow = BELL;
	pthread_t other;
	slow.hold_on = &hold_on;
	ux_timer_start(timers, &slow.timer, 0);
	wait_for(&slow, 1);
	assert_int_equal(pthread_create(&other, NULL, let_go, &hold_on), 0);
	ux_timer_stop(timers, &slow.timer);
	assert_false(atomic_load(&hold_on));
	pthread_join(other, NULL);
}

enum {
	BELLS = 64
};

/* Starts and stops its own at random; timers that it started last and did not stop have to ring. */
static void *start_and_stop(void *ctx)
{
	struct bell *bells = ctx;
	uint64_t dice = (uintptr_t)ctx;
	for (unsigned i = 0; i < 2000; i++) {
		dice = ux_hash_mix(dice ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
		struct bell *b = &bells[dice % BELLS];
		if ((dice >> 32) % 4 == 0)
			ux_timer_stop(timers, &b->timer);
		else
			ux_timer_start(timers, &b->timer, (int64_t)(dice >> 40) % 5);
	}
	for (unsigned i = 0; i < BELLS; i++) {
		ux_timer_stop(timers, &bells[i].timer);
		unsigned rung = atomic_load(&bells[i].rung);
		ux_timer_start(timers, &bells[i].timer, 1);
		wait_for(&bells[i], rung + 1);
		ux_timer_stop(timers, &bells[i].timer);
	}
	return NULL;
}

static void many_threads_may_start_and_stop_timers(void **state)
{
	(void)state;
	static struct bell bells[4][BELLS];
	pthread_t threads[4];
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned k = 0; k < BELLS; k++)
			bells[i][k] = (struct bell)BELL;
		assert_int_equal(pthread_create(&threads[i], NULL, start_and_stop, bells[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

UX_SUITE(timer)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(timers_fire_once_and_in_order),
		UX_TEST(a_timer_may_start_itself_until_it_is_stopped),
		UX_TEST(stopping_waits_for_the_call_in_progress),
		UX_TEST(many_threads_may_start_and_stop_timers),
	};
	if (ux_timers_open(&timers, NULL) != UX_OK)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	ux_timers_close(timers);
	ux_timers_close(NULL);
	return failed;
}
