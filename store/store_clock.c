/* SPDX-License-Identifier: Apache-2.0 */
/* The clock by which a store decides how old entries are. */
#include "store.h"

#include "clock.h"

#include <time.h>

enum {
	/* seconds of an unwritten leap; the clock is written once a minute, so it lags by less */
	LEAP_S = 120,
	REBASE_S = 60 /* seconds; a forward jump is tracked from the time at which it happened */
};

ux_time ux_store_clock_resume(ux_time stored, ux_time wall)
{
	if (stored == 0)
		return wall;
	return ux_max(stored, ux_min(wall, stored + UX_CLOCK_RESUME_MAX));
}

ux_time ux_store_clock_step(ux_time at, ux_time wall, int64_t elapsed_s)
{
	assert(elapsed_s >= 0);
	ux_time slow = at + elapsed_s / 2, fast = at + 2 * elapsed_s;
	return ux_max(slow, ux_min(wall, fast));
}

/* Returns the time to follow. Called with the lock held, or before other threads have the clock. */
static ux_time store_clock_wall(const struct ux_store_clock *c)
{
	if (c->server_ms == 0)
		return ux_clock_wall();
	return (c->server_ms + ux_clock_ms() - c->server_mono_ms) / 1000;
}

void ux_store_clock_follow(struct ux_store_clock *c, int64_t time_ms)
{
	pthread_mutex_lock(&c->lock);
	c->server_ms = time_ms;
	c->server_mono_ms = ux_clock_ms();
	pthread_mutex_unlock(&c->lock);
}

void ux_store_clock_init(struct ux_store_clock *c, ux_time stored, ux_time stored_latest,
			 int64_t server_ms)
{
	pthread_mutex_init(&c->lock, NULL);
	c->server_ms = server_ms;
	c->server_mono_ms = ux_clock_ms();
	c->latest = ux_max(stored_latest, store_clock_wall(c));
	c->latest_mono = ux_clock_s();
	c->written = stored_latest;
	c->at = c->shown = ux_store_clock_resume(stored, store_clock_wall(c));
	c->mono = ux_clock_s();
}

void ux_store_clock_deinit(struct ux_store_clock *c)
{
	pthread_mutex_destroy(&c->lock);
}

ux_time ux_store_clock_now(struct ux_store_clock *c)
{
	pthread_mutex_lock(&c->lock);
	int64_t mono = ux_clock_s();
	ux_time now = ux_store_clock_step(c->at, store_clock_wall(c), mono - c->mono);
	if (mono - c->mono >= REBASE_S) {
		c->at = now;
		c->mono = mono;
	}
	now = c->shown = ux_max(now, c->shown);
	pthread_mutex_unlock(&c->lock);
	return now;
}

ux_time ux_store_clock_latest(struct ux_store_clock *c)
{
	pthread_mutex_lock(&c->lock);
	int64_t mono = ux_clock_s();
	ux_time latest = ux_max(c->latest + (mono - c->latest_mono), store_clock_wall(c));
	c->latest = latest;
	c->latest_mono = mono;
	pthread_mutex_unlock(&c->lock);
	return latest;
}

bool ux_store_clock_urgent(struct ux_store_clock *c)
{
	ux_time latest = ux_store_clock_latest(c);
	pthread_mutex_lock(&c->lock);
	bool urgent = latest - c->written > LEAP_S;
	pthread_mutex_unlock(&c->lock);
	return urgent;
}

static bool store_clock_is_near(ux_time now, ux_time wall)
{
	return now - wall <= UX_CLOCK_AGREES && wall - now <= UX_CLOCK_AGREES;
}

/*
 * Compares with the machine's clock even if a database's is followed, because files have its times.
 */
bool ux_store_clock_agrees(struct ux_store_clock *c)
{
	ux_time now = ux_store_clock_now(c);
	pthread_mutex_lock(&c->lock);
	ux_time followed = store_clock_wall(c);
	pthread_mutex_unlock(&c->lock);
	return store_clock_is_near(now, ux_clock_wall()) && store_clock_is_near(now, followed);
}

int64_t ux_store_clock_ahead(struct ux_store_clock *c)
{
	pthread_mutex_lock(&c->lock);
	ux_time followed = store_clock_wall(c);
	pthread_mutex_unlock(&c->lock);
	return ux_clock_wall() - followed;
}

const char *ux_time_text(ux_time t, char text[UX_TIME_TEXT])
{
	struct tm tm;
	time_t seconds = t;
	if (!gmtime_r(&seconds, &tm) ||
	    strftime(text, UX_TIME_TEXT, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		snprintf(text, UX_TIME_TEXT, "unknown");
	return text;
}
