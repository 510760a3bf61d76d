/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching what this server lacks: one fetch for the same thing, however many requests wait for it.
 */
#ifndef UX_FETCHER_H
#define UX_FETCHER_H

#include "base.h"
#include "http_client.h"
#include "index.h"
#include "store.h"
#include "upstream.h"

/* --- circuit breaker -------------------------------------------------------------------------- */

enum {
	UX_BREAKER_FAILURES = 3,       /* in a row, that open it */
	UX_BREAKER_OPEN_MS = 5000,     /* the first time; twice as long after each failed probe */
	UX_BREAKER_OPEN_MOST = 300000, /* ms */
};

enum ux_breaker_state {
	UX_BREAKER_CLOSED, /* requests go out as usual */
	UX_BREAKER_OPEN,   /* none go out until its time is over */
	UX_BREAKER_PROBED, /* one request is under way; its outcome decides */
};

/* Zeroed is closed. The times are the caller's clock's, which never goes back. Whoever shares it
 * locks. */
struct ux_breaker {
	enum ux_breaker_state state;
	unsigned failures; /* in a row */
	int64_t open_ms;   /* how long it was opened for the last time */
	int64_t until;     /* of OPEN */
};

/* May a request go out? True after it was open is the one probe: its outcome must be reported. */
bool ux_breaker_may(struct ux_breaker *b, int64_t now) ux_must;

/* When ux_breaker_may() can be true: now, or later; INT64_MAX while it is probed. */
int64_t ux_breaker_when(const struct ux_breaker *b, int64_t now);

/* It answered, with whatever status. */
void ux_breaker_fine(struct ux_breaker *b);

/* It did not answer; at_least: ms of its Retry-After, or 0. */
void ux_breaker_failed(struct ux_breaker *b, int64_t now, int64_t at_least);

/* The request was cancelled: its outcome is unknown. */
void ux_breaker_unknown(struct ux_breaker *b, int64_t now);

/* "closed", "open", "probed". */
const char *ux_breaker_state_name(enum ux_breaker_state state);

/* --- one request to one upstream -------------------------------------------------------------- */

/* --- servers that a request has passed, so that it comes to none twice ------------------------ */

#define UX_HOPS_HEADER "X-Unhex-Via"

enum {
	UX_HOPS_MOST = 8,     /* servers that one request may pass */
	UX_SERVER_ID = 16 + 1 /* hex digits that name a running server, and a NUL */
};

/* Server IDs, oldest first. */
struct ux_hops {
	char via[UX_HOPS_MOST][UX_SERVER_ID];
	unsigned n;
	unsigned forwarded; /* hops that X-Forwarded-For has */
};

/* Header lines of a request; empty when they are not there. */
struct ux_hops_lines {
	struct ux_bytes via;       /* X-Unhex-Via: ID, ID */
	struct ux_bytes forwarded; /* X-Forwarded-For: debuginfod's servers count these */
	struct ux_bytes agent;     /* User-Agent: debuginfod's servers hand on the asker's */
};

/*
 * False: the request was here already, or came a long way, or its list makes no sense: what is
 * here is the answer, and no upstream gets a request. own: this server's ID.
 */
bool ux_hops_read(const struct ux_hops_lines *lines, const char *own, struct ux_hops *ret) ux_must;

enum {
	UX_HOPS_TEXT = 256 /* bytes of each line below */
};

/* What this server sends: "X-Unhex-Via: ...", "X-Forwarded-For: unknown, ..." (whose addresses
 * those were is nobody's business), "unhex/VERSION (via ID)" for User-Agent. */
struct ux_hops_sent {
	char via[UX_HOPS_TEXT];
	char forwarded[UX_HOPS_TEXT];
	char agent[UX_HOPS_TEXT];
};

void ux_hops_write(const struct ux_hops *hops, const char *own, struct ux_hops_sent *ret);

/* --- the request ------------------------------------------------------------------------------ */

enum {
	UX_UPSTREAM_CONNECT_MS = 2000,
	UX_UPSTREAM_SILENCE_MS = 3000, /* without a byte; noticed within a second: under 5 s */
	UX_UPSTREAM_MOST_MS = 600000,  /* that one file may take */
	UX_UPSTREAM_SLOW = 4096,       /* bytes a second, at least, */
	UX_UPSTREAM_SLOW_S = 4,        /* on the average of so many */
	UX_UPSTREAM_REDIRECTS = 4,
};

struct ux_upstream_limits {
	uint64_t bytes; /* of one file */
	int64_t most_ms;
	int64_t silence_ms;
};

struct ux_upstream_request {
	const struct ux_upstream *up;
	struct ux_http_client *client; /* of it; NULL for a folder */
	const struct ux_upstream_paths *places;
	const struct ux_hops_sent *hops;
	const struct ux_upstream_limits *limits;
	ux_http_sink_fn *sink; /* takes the bytes */
	/* Called before the first byte; true: another one was first. */
	bool (*first)(void *ctx);
	bool (*cancelled)(void *ctx); /* about once a second */
	void *ctx;
};

struct ux_upstream_answer {
	enum ux_fetch_outcome outcome;
	bool taken_back;  /* cancelled: nothing is known */
	bool later;       /* it is fetching it itself: to be repeated in retry_s */
	bool reachable;   /* it answered, so the breaker has nothing against it */
	unsigned status;  /* of HTTP; 0: none */
	unsigned retry_s; /* of its Retry-After; 0: none */
	char reason[UX_ERROR_TEXT];
};

/* Never fails: what goes wrong is the answer. FOUND: the sink has all bytes, which are not
 * verified. */
void ux_upstream_request(const struct ux_upstream_request *ask, struct ux_upstream_answer *ret);

/* A client for one upstream; not for a folder. */
enum ux_code ux_upstream_client(const struct ux_upstream *up, const char *agent,
				struct ux_http_client **ret, struct ux_error *err) ux_must;

/* --- fetches ---------------------------------------------------------------------------------- */

enum {
	UX_FETCHES_MOST = 1024,      /* that wait or are under way */
	UX_FETCHERS = 16,            /* requests at once, */
	UX_FETCHERS_UPSTREAM = 6,    /* of those, to one upstream */
	UX_FETCH_HEAD_START_MS = 800 /* of an upstream before the next one gets a request as well */
};

/* How long answers are valid, in seconds. */
struct ux_fetch_times {
	int64_t absent; /* "I have none" */
	int64_t failed; /* no answer, or a useless one */
	int64_t found;  /* it sent something: it would send the same again */
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
	struct ux_bytes bytes; /* all of the part; not verified */
	struct ux_blob_hash hash;
};

/*
 * Makes a candidate of it, whose origin is the upstream: layers above know what may be read, and
 * where. Another code than UX_OK: it is of no use, err says why.
 */
typedef enum ux_code ux_arrived_fn(void *ctx, const struct ux_arrived *arrived,
				   struct ux_error *err);

/* The outcome of one request to an upstream, for the log. */
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
	void (*log)(void *ctx, const struct ux_fetch_event *event); /* NULL: none */
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

/* Ends what is under way and wakes all waiters; nothing is fetched any more. NULL is fine. */
void ux_fetcher_stop(struct ux_fetcher *f);

/* The same; frees it, and those that it replaced. NULL is fine. */
void ux_fetcher_close(struct ux_fetcher *f);

/* f comes in place of old, which has stopped and is closed together with it. */
void ux_fetcher_replace(struct ux_fetcher *f, struct ux_fetcher *old);

/* Hexadecimal digits that name this run of this server. */
const char *ux_fetcher_own_id(const struct ux_fetcher *f);

/* Is woken when a fetch is over. wake() is called once, with locks held: it must
 * not call back. */
struct ux_fetch_waiter {
	void (*wake)(void *ctx);
	void *ctx;
	struct ux_fetch_waiter *next; /* the fetcher's */
	struct ux_fetch_waiter **back;
};

enum ux_fetching {
	UX_FETCHING_NONE,      /* no upstream may have it, or all answered not long ago */
	UX_FETCHING_QUEUED,    /* it waits, or requests are under way */
	UX_FETCHING_RECEIVING, /* an upstream is sending it */
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

/* What an upstream sent is of no use after all: recorded as absent, so that others are next. */
void ux_fetcher_reject(struct ux_fetcher *f, const char *ns, const char *id,
		       enum ux_artifact artifact, const char *upstream, const char *reason);

/* The state of one upstream. */
struct ux_upstream_status {
	const struct ux_upstream *upstream;
	enum ux_breaker_state breaker;
	int64_t open_ms;                /* until requests may go out again */
	uint64_t found, absent, failed; /* answers since the start */
	uint64_t refused;               /* requests that the breaker kept back */
	uint64_t bytes;
	uint64_t took_ms;
	unsigned running;
};

size_t ux_fetcher_count(const struct ux_fetcher *f);
struct ux_upstream_status ux_fetcher_status(struct ux_fetcher *f, size_t i);

/* Fetches that wait or are under way, and those refused since there were too many. */
void ux_fetcher_load(struct ux_fetcher *f, uint64_t *ret_now, uint64_t *ret_refused);

/* Does a namespace, by its row's `upstreams`, select that one? *ret_rank: its position. */
bool ux_upstream_is_selected(const char *list, const char *name, size_t i, size_t *ret_rank);

#endif
