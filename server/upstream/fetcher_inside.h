/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the fetcher share. */
#ifndef UX_FETCHER_INSIDE_H
#define UX_FETCHER_INSIDE_H

#include "cache.h"
#include "fetcher.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	UX_FETCH_ITEMS_MOST = UX_UPSTREAMS_MOST * UX_ARTIFACT_COUNT,
	UX_FETCH_LATER_MOST = 4, /* times that one upstream may say "ask again" */
};

enum ux_fetch_item_state {
	UX_ITEM_WAITS,
	UX_ITEM_RUNS,
	UX_ITEM_ENDED
};

/* One request to one upstream. */
struct ux_fetch_item {
	size_t upstream;
	enum ux_artifact artifact;
	unsigned round; /* starts when all rounds before have ended */
	enum ux_fetch_item_state state;
	int64_t not_before; /* ms */
	unsigned laters;
};

enum ux_fetch_state {
	UX_FETCH_NEW, /* not planned yet */
	UX_FETCH_PREPARING,
	UX_FETCH_ASKING,
	UX_FETCH_OVER, /* out of the list; the last running request frees it */
};

struct ux_fetch {
	struct ux_fetch *next;
	char *ns, *id, *source; /* malloc'ed; source may be NULL */
	enum ux_fetch_kind want;
	uint8_t key[16];
	struct ux_hops_sent hops;
	struct ux_id parsed;
	enum ux_fetch_state state;
	struct ux_fetch_item items[UX_FETCH_ITEMS_MOST];
	size_t n_items;
	unsigned running;
	int64_t next_ms;    /* when another request may go out beside the running ones */
	int64_t quiet_s;    /* how long, at most, what the index says holds */
	_Atomic int winner; /* item that sends bytes, -1; relaxed: a hint to the others to end */
	struct ux_fetch_waiter *waiters;
};

/* UX_EINVAL: no ID. */
enum ux_code ux_fetch_create(struct ux_fetch **ret, const struct ux_fetch_request *wish,
			     const char *own, struct ux_error *err) ux_must;
void ux_fetch_destroy(struct ux_fetch *fetch);

/* Fills in the items: of the upstreams that the namespace may ask, those that can have it and were
 * not asked lately. Reads the index. */
enum ux_code ux_fetch_plan(struct ux_fetch *fetch, struct ux_store *store,
			   const struct ux_upstream *upstreams, size_t n,
			   const struct ux_fetch_times *times, struct ux_error *err) ux_must;

/* "debuginfo", "source/PATH": as the index names it; in the arena. NULL: no memory. */
const char *ux_fetch_artifact(const struct ux_fetch *fetch, enum ux_artifact artifact,
			      struct ux_arena *arena);

/* The answer of an upstream about an artifact that is still valid; NULL: it is to be requested. An
 * answer from the future, by a clock that was wrong, is valid no longer than one of now would be.
 */
const struct ux_fetched *ux_fetch_answer_valid(const struct ux_fetched_list *answers,
					       const char *artifact, const char *upstream,
					       const struct ux_fetch_times *times, ux_time now);

enum {
	UX_FETCH_NEGATIVE_MOST = 1 << 14,  /* entries of the negative cache */
	UX_FETCH_NEGATIVE_MOST_MS = 60000, /* then the index is read again */
	UX_FETCH_KEY_SIZE = 16
};

/* Names one thing to fetch; strings that are NULL are like "". */
void ux_fetch_key(const char *ns, const char *id, unsigned kind, const char *source,
		  uint8_t ret[UX_FETCH_KEY_SIZE]);

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
	/* Keys of fetches for which the index had nothing new lately: a request for 10,000 unknown
	 * modules costs as many hashes, not as many queries. */
	struct ux_cache negative;
};

/* With the lock held. Frees the fetch when no request of it is running. */
void ux_fetcher_end(struct ux_fetcher *f, struct ux_fetch *fetch, int64_t quiet_ms);

/* Sends the request of one item; the lock is held before and after, and not meanwhile. */
void ux_fetch_attempt(struct ux_fetcher *f, struct ux_fetch *fetch, size_t item);

#endif
