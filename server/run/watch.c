/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the threads of a server. */
#include "watch.h"

#include "clock.h"
#include "event_log.h"
#include "service_manager.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_MS = 200,
	STUCK_MS = 180000, /* ms, until limits are set */
	EXIT_STATUS = 1    /* exit status of a process that could not stop in time */
};

struct ux_watch {
	pthread_t thread;
	sigset_t signals;
	_Atomic int64_t stuck_ms, stop_ms; /* settings: no memory order needed */
	_Atomic int64_t main_ms;           /* ms; last turn of the main loop */
	_Atomic bool ending;
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t arrived;
	sigset_t pending; /* signals that the main thread has not taken */
	struct ux_http_server *http;
	/* Used only by the thread. */
	int64_t end_ms;    /* ms at which the process is ended; 0: no stop requested */
	int64_t notify_ms; /* ms at which the service manager is notified next */
	int64_t every_ms;  /* watchdog interval in ms; 0: systemd set none */
	bool was_fine;
};

/* Finds the thread that has been busy with one thing for the longest time. */
bool ux_watch_is_fine(struct ux_watch *w, const char **ret_what, int64_t *ret_ms)
{
	if (!w)
		return true;
	const char *what = "";
	int64_t busy_ms = 0;
	*ret_what = "the main thread";
	*ret_ms = ux_clock_ms() - atomic_load_explicit(&w->main_ms, memory_order_relaxed);
	pthread_mutex_lock(&w->lock);
	if (w->http)
		busy_ms = ux_http_server_busy_ms(w->http, &what);
	pthread_mutex_unlock(&w->lock);
	if (busy_ms > *ret_ms) {
		*ret_ms = busy_ms;
		*ret_what = what;
	}
	return *ret_ms <= atomic_load_explicit(&w->stuck_ms, memory_order_relaxed);
}

static void watch_take_signal(struct ux_watch *w, int got)
{
	int64_t stop = atomic_load_explicit(&w->stop_ms, memory_order_relaxed);
	int64_t end = ux_clock_ms() + UX_WATCH_END_MS;
	if (got != SIGHUP)
		/* the second signal ends the wait for requests in flight */
		w->end_ms = w->end_ms > 0 ? ux_min(w->end_ms, end) : end + stop;
	pthread_mutex_lock(&w->lock);
	sigaddset(&w->pending, got);
	pthread_cond_signal(&w->arrived);
	pthread_mutex_unlock(&w->lock);
}

static void watch_end_process(struct ux_watch *w, int64_t now)
{
	const char *what = "";
	int64_t busy_ms = 0;
	if (w->end_ms == 0 || now < w->end_ms)
		return;
	(void)ux_watch_is_fine(w, &what, &busy_ms);
	ux_log_line("error", "stopped", "forced=yes waits_for=\"%s\" busy_s=%" PRId64, what,
		    busy_ms / 1000);
	_exit(EXIT_STATUS);
}

/* Notifies the service manager, and logs when a thread gets stuck or goes on. */
static void watch_report(struct ux_watch *w, int64_t now)
{
	const char *what = "";
	int64_t busy_ms = 0;
	bool fine = ux_watch_is_fine(w, &what, &busy_ms);
	if (fine != w->was_fine)
		ux_log_line(fine ? "info" : "error", "watchdog",
			    "stuck=%s what=\"%s\" busy_s=%" PRId64, fine ? "no" : "yes",
			    fine ? "" : what, fine ? 0 : busy_ms / 1000);
	w->was_fine = fine;
	if (!fine || w->every_ms == 0 || now < w->notify_ms)
		return;
	ux_service_notify("WATCHDOG=1");
	w->notify_ms = now + w->every_ms;
}

static void *watch_run(void *ctx)
{
	struct ux_watch *w = ctx;
	const struct timespec tick = {.tv_nsec = TICK_MS * UX_CLOCK_NS_IN_MS};
	while (!atomic_load_explicit(&w->ending, memory_order_acquire)) {
		int got = sigtimedwait(&w->signals, NULL, &tick);
		if (got > 0)
			watch_take_signal(w, got);
		int64_t now = ux_clock_ms();
		watch_end_process(w, now);
		watch_report(w, now);
	}
	return NULL;
}

enum ux_code ux_watch_open(struct ux_watch **ret, const sigset_t *signals, struct ux_error *err)
{
	struct ux_watch *w = calloc(1, sizeof(*w));
	if (!w)
		return ux_error_nomem(err);
	w->signals = *signals;
	w->stuck_ms = STUCK_MS;
	w->main_ms = ux_clock_ms();
	w->was_fine = true;
	w->every_ms = (int64_t)ux_service_watchdog() * 1000;
	sigemptyset(&w->pending);
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->arrived, NULL);
	int failed = pthread_create(&w->thread, NULL, watch_run, w);
	if (failed) {
		free(w);
		return ux_error_os(err, failed, "cannot start the thread for signals");
	}
	*ret = w;
	return UX_OK;
}

void ux_watch_close(struct ux_watch *w)
{
	if (!w)
		return;
	atomic_store_explicit(&w->ending, true, memory_order_release);
	pthread_join(w->thread, NULL);
	pthread_cond_destroy(&w->arrived);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

void ux_watch_set_limits(struct ux_watch *w, int64_t stuck_ms, int64_t stop_ms)
{
	atomic_store_explicit(&w->stuck_ms, stuck_ms, memory_order_relaxed);
	atomic_store_explicit(&w->stop_ms, stop_ms, memory_order_relaxed);
}

void ux_watch_set_server(struct ux_watch *w, struct ux_http_server *http)
{
	pthread_mutex_lock(&w->lock);
	w->http = http;
	pthread_mutex_unlock(&w->lock);
}

/* Returns a pending signal. Called with the lock held. */
static int watch_next_pending(struct ux_watch *w)
{
	for (int i = 1; i < NSIG; i++)
		if (sigismember(&w->pending, i) == 1) {
			sigdelset(&w->pending, i);
			return i;
		}
	return -1;
}

int ux_watch_wait(struct ux_watch *w, unsigned ms)
{
	struct timespec until = ux_clock_timespec(ux_clock_ns() + (int64_t)ms * UX_CLOCK_NS_IN_MS);
	int got = -1, r = 0;
	atomic_store_explicit(&w->main_ms, ux_clock_ms(), memory_order_relaxed);
	pthread_mutex_lock(&w->lock);
	while ((got = watch_next_pending(w)) < 0 && r == 0)
		r = pthread_cond_clockwait(&w->arrived, &w->lock, CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&w->lock);
	atomic_store_explicit(&w->main_ms, ux_clock_ms(), memory_order_relaxed);
	return got;
}
