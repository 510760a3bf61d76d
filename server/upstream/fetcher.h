/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching what this server lacks: one fetch a question, however many ask it. */
#ifndef UX_FETCHER_H
#define UX_FETCHER_H

#include "breaker.h"
#include "store.h"
#include "upstream.h"
#include "upstream_request.h"

enum {
	UX_FETCHES_MOST = 1024,      /* that wait or are under way */
	UX_FETCHERS = 16,            /* questions at once, */
	UX_FETCHERS_UPSTREAM = 6,    /* of those, to one upstream */
	UX_FETCH_HEAD_START_MS = 800 /* of an upstream before the next one is asked as well */
};

/* How long answers hold, in seconds. */
struct ux_fetch_times {
	int64_t absent; /* "I have none" */
	int64_t failed; /* no answer, or one that helps nobody */
	int64_t found;  /* it gave something: it would give the same again */
};

#define UX_FETCH_TIMES_DEFAULT  \
	{                       \
		3600, 60, 86400 \
	}

/* When an answer of that outcome, given now, has run out. */
ux_time ux_fetch_expires(const struct ux_fetch_times *times, enum ux_fetch_outcome outcome,
			 ux_time now);

/* What for. */
enum ux_fetch_kind {
	UX_FETCH_SYMBOLS, /* a GSYM, or an ELF file to extract one from */
	UX_FETCH_DEBUGINFO,
	UX_FETCH_EXECUTABLE,
	UX_FETCH_SOURCE,
};

struct ux_fetch_request {
	const char *ns;
	const char *id; /* canonical */
	enum ux_fetch_kind want;
	const char *source; /* canonical path of a UX_FETCH_SOURCE; else NULL */
	struct ux_hops hops;
};

/* Something that came, its bytes in a part that the receiver commits or leaves. */
struct ux_arrived {
	const char *ns;
	const char *id;
	const char *upstream;
	enum ux_artifact artifact; /* not a source */
	struct ux_blob_part *part;
	struct ux_bytes bytes; /* all of the part; of a stranger */
	struct ux_blob_hash hash;
};

/*
 * Makes a candidate of it, whose origin is the upstream: layers above know what may be read, and
 * where. Another code than UX_OK: it helps nobody, err says why.
 */
typedef enum ux_code ux_arrived_fn(void *ctx, const struct ux_arrived *arrived,
				   struct ux_error *err);

/* What became of a question to an upstream, for the log. */
struct ux_fetch_event {
	const struct ux_upstream *upstream;
	const char *ns;
	const char *id;
	const char *artifact;
	enum ux_fetch_outcome outcome;
	unsigned status;
	const char *reason;
	uint64_t took_ms;
	uint64_t bytes;
};

struct ux_fetcher_options {
	const struct ux_upstream *upstreams; /* copied; their names differ */
	size_t n;
	struct ux_fetch_times times;      /* zeroed: UX_FETCH_TIMES_DEFAULT */
	struct ux_upstream_limits limits; /* zeroed fields: 4 GiB, 10 minutes, 3 s */
	ux_arrived_fn *arrived;
	void (*log)(void *ctx, const struct ux_fetch_event *event); /* NULL: nobody */
	void *ctx;
};

struct ux_fetcher;

/* UX_EINVAL: two of one name, or too many. */
enum ux_code ux_fetcher_check(const struct ux_upstream *upstreams, size_t n, struct ux_error *err)
	ux_must;

/* Starts its threads. The store outlives it. Codes as of ux_fetcher_check(). */
enum ux_code ux_fetcher_open(struct ux_fetcher **ret, struct ux_store *store,
			     const struct ux_fetcher_options *options, struct ux_error *err)
	ux_must;

/* Ends what is under way and wakes all who wait; nothing is fetched any more. NULL is fine. */
void ux_fetcher_stop(struct ux_fetcher *f);

/* The same; frees it, and those that it replaced. NULL is fine. */
void ux_fetcher_close(struct ux_fetcher *f);

/* f comes in place of old, which has stopped and is closed together with it. */
void ux_fetcher_replace(struct ux_fetcher *f, struct ux_fetcher *old);

/* Hexadecimal digits that name this run of this server. */
const char *ux_fetcher_own_id(const struct ux_fetcher *f);

/* Somebody who wants to know when a fetch is over. wake() is called once, with locks held: it must
 * not call back. */
struct ux_fetch_waiter {
	void (*wake)(void *ctx);
	void *ctx;
	struct ux_fetch_waiter *next; /* the fetcher's */
	struct ux_fetch_waiter **back;
};

enum ux_fetching {
	UX_FETCHING_NONE,      /* nobody may have it, or all were asked not long ago */
	UX_FETCHING_QUEUED,    /* it waits, or others are asked */
	UX_FETCHING_RECEIVING, /* somebody is sending it */
	UX_FETCHING_BUSY,      /* too many others wait already */
};

/*
 * Begins a fetch, or joins the one under way. The waiter, if there is one, is the fetcher's after
 * UX_FETCHING_QUEUED and _FLOWS until it is woken or taken back. What came is in the store. Any
 * thread.
 */
enum ux_fetching ux_fetcher_begin(struct ux_fetcher *f, const struct ux_fetch_request *wish,
				  struct ux_fetch_waiter *waiter);

/* Takes a waiter back; afterwards it is not woken. One that was woken, or was never given, is fine
 * when zeroed first. */
void ux_fetcher_leave(struct ux_fetcher *f, struct ux_fetch_waiter *waiter);

/* What an upstream gave is of no use after all: remembered, and others are asked the next time. */
void ux_fetcher_reject(struct ux_fetcher *f, const char *ns, const char *id,
		       enum ux_artifact artifact, const char *upstream, const char *reason);

/* How it stands with one upstream. */
struct ux_upstream_status {
	const struct ux_upstream *upstream;
	enum ux_breaker_state breaker;
	int64_t open_ms;                /* until it may be asked again */
	uint64_t found, absent, failed; /* answers since the start */
	uint64_t refused;               /* questions that were not asked since it is left alone */
	uint64_t bytes;
	uint64_t took_ms;
	unsigned running;
};

size_t ux_fetcher_count(const struct ux_fetcher *f);
struct ux_upstream_status ux_fetcher_status(struct ux_fetcher *f, size_t i);

/* Fetches that wait or are under way, and those refused since there were too many. */
void ux_fetcher_load(struct ux_fetcher *f, uint64_t *ret_now, uint64_t *ret_refused);

/* May a namespace, by its row's `upstreams`, ask that one? *ret_rank: in which place. */
bool ux_upstream_is_selected(const char *list, const char *name, size_t i, size_t *ret_rank);

#endif
