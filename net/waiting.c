/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits until a time, without a thread of his own. */
#include "waiting.h"

#include "clock.h"

#include <pthread.h>
#include <time.h>

struct entry {
	int64_t until_ms; /* of the monotonic clock */
	void *one;
};

struct ux_waiting {
	void (*wake)(void *one);
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	bool stopped;
	size_t n;
	size_t most;
	pthread_t thread;
	struct entry entries[]; /* in no order: there are few */
};

/* Takes one out whose time has come; NULL with the next one's time, INT64_MAX when there is none.
 */
static void *take_due(struct ux_waiting *w, int64_t now, int64_t *ret_next)
{
	*ret_next = INT64_MAX;
	for (size_t i = 0; i < w->n; i++) {
		if (w->stopped || w->entries[i].until_ms <= now) {
			void *one = w->entries[i].one;
			w->entries[i] = w->entries[--w->n];
			return one;
		}
		*ret_next = ux_min(*ret_next, w->entries[i].until_ms);
	}
	return NULL;
}

static void wait_until(struct ux_waiting *w, int64_t ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	if (ms == INT64_MAX)
		pthread_cond_wait(&w->changed, &w->lock);
	else
		pthread_cond_timedwait(&w->changed, &w->lock, &t);
}

static void *run(void *ctx)
{
	struct ux_waiting *w = ctx;
	pthread_mutex_lock(&w->lock);
	while (!w->stopped || w->n > 0) {
		int64_t next = INT64_MAX;
		void *one = take_due(w, ux_clock_ms(), &next);
		if (!one) {
			wait_until(w, next);
			continue;
		}
		pthread_mutex_unlock(&w->lock);
		w->wake(one);
		pthread_mutex_lock(&w->lock);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

static void init_condition(pthread_cond_t *c)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(c, &attr);
	pthread_condattr_destroy(&attr);
}

static void release(struct ux_waiting *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

enum ux_code ux_waiting_open(struct ux_waiting **ret, size_t most, void (*wake)(void *one),
			     struct ux_error *err)
{
	struct ux_waiting *w = calloc(1, sizeof(*w) + most * sizeof(*w->entries));
	if (!w)
		return ux_error_nomem(err);
	w->wake = wake;
	w->most = most;
	pthread_mutex_init(&w->lock, NULL);
	init_condition(&w->changed);
	int failed = pthread_create(&w->thread, NULL, run, w);
	if (failed) {
		release(w);
		return ux_error_os(err, failed, "cannot make a thread");
	}
	*ret = w;
	return UX_OK;
}

bool ux_waiting_add(struct ux_waiting *w, void *one, unsigned ms)
{
	pthread_mutex_lock(&w->lock);
	bool room = !w->stopped && w->n < w->most;
	if (room) {
		w->entries[w->n++] = (struct entry){ux_clock_ms() + ms, one};
		pthread_cond_signal(&w->changed);
	}
	pthread_mutex_unlock(&w->lock);
	return room;
}

void ux_waiting_stop(struct ux_waiting *w)
{
	pthread_mutex_lock(&w->lock);
	bool before = w->stopped;
	w->stopped = true;
	pthread_cond_signal(&w->changed);
	pthread_mutex_unlock(&w->lock);
	if (!before)
		pthread_join(w->thread, NULL);
}

void ux_waiting_close(struct ux_waiting *w)
{
	if (!w)
		return;
	ux_waiting_stop(w);
	release(w);
}
