/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the progress of an extraction on a terminal. */
#include "extract_watch.h"

#include "clock.h"

enum {
	WATCH_EVERY_MS = 100
};

static void extract_watch_show(struct ux_extract_watch *w)
{
	struct ux_progress *line = &w->line;
	line->bytes_total = atomic_load_explicit(&w->counts.total, memory_order_relaxed);
	line->bytes = ux_min(atomic_load_explicit(&w->counts.done, memory_order_relaxed),
			     line->bytes_total);
	line->state = NULL;
	if (line->bytes == 0)
		line->state = "reading symbols";
	else if (line->bytes == line->bytes_total)
		line->state = "merging and writing";
	ux_progress_show(line);
}

/* Waits for the end or for WATCH_EVERY_MS. */
static void extract_watch_wait(struct ux_extract_watch *w)
{
	int64_t at = ux_clock_ns() + (int64_t)WATCH_EVERY_MS * UX_CLOCK_NS_IN_MS;
	struct timespec until = {.tv_sec = at / UX_CLOCK_NS_IN_S, .tv_nsec = at % UX_CLOCK_NS_IN_S};
	(void)pthread_cond_clockwait(&w->ended, &w->lock, CLOCK_MONOTONIC, &until);
}

static void *extract_watch_run(void *ctx)
{
	struct ux_extract_watch *w = ctx;
	pthread_mutex_lock(&w->lock);
	while (!w->end) {
		extract_watch_wait(w);
		if (!w->end)
			extract_watch_show(w);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct ux_extract_progress *ux_extract_watch_begin(struct ux_extract_watch *w, const char *verb)
{
	*w = (struct ux_extract_watch){.lock = PTHREAD_MUTEX_INITIALIZER,
				       .ended = PTHREAD_COND_INITIALIZER};
	ux_progress_init(&w->line, verb);
	w->line.unit = " of DWARF";
	w->running = w->line.on && pthread_create(&w->thread, NULL, extract_watch_run, w) == 0;
	return w->running ? &w->counts : NULL;
}

void ux_extract_watch_end(struct ux_extract_watch *w)
{
	if (!w->running)
		return;
	pthread_mutex_lock(&w->lock);
	w->end = true;
	pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	(void)pthread_join(w->thread, NULL);
	ux_progress_clear(&w->line);
	w->running = false;
}
