/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions at given times. */
#include "timer.h"

#include "clock.h"
#include "condition.h"

#include <pthread.h>

struct ux_timers {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the fields below, and the timers' private fields */
	pthread_cond_t changed;
	pthread_cond_t fired;
	/*
	 * ordered by time; new timers usually fire last, so the insertion point is searched from
	 * the end
	 */
	struct ux_timer *first;
	struct ux_timer *last;
	/* the timer being fired; only compared, its memory may be freed */
	const struct ux_timer *firing;
	bool stopping;
};

static void timer_unlink(struct ux_timers *ts, struct ux_timer *t)
{
	assert(t->is_pending);
	*(t->earlier ? &t->earlier->later : &ts->first) = t->later;
	*(t->later ? &t->later->earlier : &ts->last) = t->earlier;
	t->is_pending = false;
}

static void timer_link(struct ux_timers *ts, struct ux_timer *t)
{
	assert(!t->is_pending);
	struct ux_timer *before = ts->last;
	while (before && before->at_ms > t->at_ms)
		before = before->earlier;
	t->earlier = before;
	t->later = before ? before->later : ts->first;
	*(t->earlier ? &t->earlier->later : &ts->first) = t;
	*(t->later ? &t->later->earlier : &ts->last) = t;
	t->is_pending = true;
}

/* Fires a timer. Called with the lock held; releases it while the timer fires. */
static void timer_fire(struct ux_timers *ts, struct ux_timer *t)
{
	assert(!ts->firing);
	timer_unlink(ts, t);
	ts->firing = t;
	pthread_mutex_unlock(&ts->lock);
	t->fire(t);
	pthread_mutex_lock(&ts->lock);
	ts->firing = NULL;
	pthread_cond_broadcast(&ts->fired);
}

static void *timers_run(void *ctx)
{
	struct ux_timers *ts = ctx;
	pthread_mutex_lock(&ts->lock);
	while (!ts->stopping) {
		struct ux_timer *t = ts->first;
		if (!t) {
			pthread_cond_wait(&ts->changed, &ts->lock);
		} else if (t->at_ms <= ux_clock_ms()) {
			timer_fire(ts, t);
		} else {
			(void)ux_condition_wait(&ts->changed, &ts->lock, t->at_ms);
		}
	}
	pthread_mutex_unlock(&ts->lock);
	return NULL;
}

static void timers_release(struct ux_timers *ts)
{
	pthread_cond_destroy(&ts->fired);
	pthread_cond_destroy(&ts->changed);
	pthread_mutex_destroy(&ts->lock);
	free(ts);
}

enum ux_code ux_timers_open(struct ux_timers **ret, struct ux_error *err)
{
	struct ux_timers *ts = calloc(1, sizeof(*ts));
	if (!ts)
		return ux_error_nomem(err);
	ux_condition_init(&ts->changed);
	pthread_cond_init(&ts->fired, NULL);
	pthread_mutex_init(&ts->lock, NULL);
	int failed = pthread_create(&ts->thread, NULL, timers_run, ts);
	if (failed) {
		timers_release(ts);
		return ux_error_os(err, failed, "cannot start the deadline thread");
	}
	*ret = ts;
	return UX_OK;
}

void ux_timers_close(struct ux_timers *ts)
{
	if (!ts)
		return;
	pthread_mutex_lock(&ts->lock);
	assert(!ts->first);
	ts->stopping = true;
	pthread_cond_signal(&ts->changed);
	pthread_mutex_unlock(&ts->lock);
	pthread_join(ts->thread, NULL);
	timers_release(ts);
}

void ux_timer_start(struct ux_timers *ts, struct ux_timer *t, int64_t ms)
{
	assert(t->fire);
	pthread_mutex_lock(&ts->lock);
	if (t->is_pending)
		timer_unlink(ts, t);
	if (!t->is_stopping) {
		t->at_ms = ux_clock_ms() + ms;
		timer_link(ts, t);
		if (ts->first == t)
			pthread_cond_signal(&ts->changed);
	}
	pthread_mutex_unlock(&ts->lock);
}

void ux_timer_stop(struct ux_timers *ts, struct ux_timer *t)
{
	pthread_mutex_lock(&ts->lock);
	if (t->is_pending)
		timer_unlink(ts, t);
	if (!pthread_equal(pthread_self(), ts->thread)) {
		t->is_stopping = ts->firing == t;
		while (ts->firing == t)
			pthread_cond_wait(&ts->fired, &ts->lock);
		t->is_stopping = false;
	}
	pthread_mutex_unlock(&ts->lock);
}
