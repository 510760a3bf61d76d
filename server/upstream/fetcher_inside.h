/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fetcher share. */
#ifndef UX_FETCHER_INSIDE_H
#define UX_FETCHER_INSIDE_H

#include "fetch.h"
#include "fetcher.h"

#include <pthread.h>

struct ux_fetcher_upstream {
	struct ux_breaker breaker;
	unsigned running;
	struct ux_http_client *idle[UX_FETCHERS_UPSTREAM]; /* with their connections */
	size_t n_idle;
	uint64_t answers[3]; /* by enum ux_fetch_outcome */
	uint64_t refused;
	uint64_t bytes;
	uint64_t took_ms;
};

struct ux_fetcher {
	struct ux_fetcher *older; /* that it replaced; NULL: none */
	struct ux_store *store;
	struct ux_fetcher_options options; /* complete */
	struct ux_upstream configured[UX_UPSTREAMS_MOST];
	size_t n;
	char own[UX_SERVER_ID];
	atomic_bool stopping; /* set with the lock held; relaxed elsewhere: a hint to end */
	pthread_t threads[UX_FETCHERS];
	size_t n_threads;
	pthread_mutex_t lock; /* guards the rest, and all fetches */
	pthread_cond_t changed;
	struct ux_fetcher_upstream upstreams[UX_UPSTREAMS_MOST];
	struct ux_fetch *first; /* oldest */
	size_t n_fetches;
	uint64_t refused;
	struct ux_quiet quiet;
};

/* With the lock held. Frees the fetch, when nobody asks for it any more. */
void ux_fetcher_over(struct ux_fetcher *f, struct ux_fetch *fetch, int64_t quiet_ms);

/* Asks, with the lock held before and after, and not while it does. */
void ux_fetcher_ask_item(struct ux_fetcher *f, struct ux_fetch *fetch, size_t item);

#endif
