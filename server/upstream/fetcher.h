/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches modules that this server lacks. All requests that wait for the same artifact share one
 * fetch.
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
	UX_BREAKER_FAILURES = 3, /* failures in a row that open the breaker */
	/* first open period in ms; it doubles after each failed probe */
	UX_BREAKER_OPEN_MS = 5000,
	UX_BREAKER_OPEN_MAX = 300000, /* longest open period in ms */
};

enum ux_breaker_state {
	UX_BREAKER_CLOSED, /* requests are sent as usual */
	UX_BREAKER_OPEN,   /* no requests are sent until the open period ends */
	/* one probe request is running; its outcome closes or reopens the breaker */
	UX_BREAKER_PROBED,
};

/*
 * A zeroed breaker is closed. Times are in ms of the caller's clock, which must be monotonic.
 * Threads that share a breaker must lock it.
 */
struct ux_breaker {
	enum ux_breaker_state state;
	unsigned failures; /* in a row */
	int64_t open_ms;   /* length of the last open period */
	int64_t until;     /* end of the open period, for OPEN */
};

/*
 * Tests whether a request may be sent. The first true after the open period allows the one probe;
 * the caller must report its outcome.
 */
bool ux_breaker_allows(struct ux_breaker *b, int64_t now) ux_must;

/*
 * The earliest time at which ux_breaker_allows() can return true; INT64_MAX while a probe is
 * running.
 */
int64_t ux_breaker_next_time(const struct ux_breaker *b, int64_t now);

/* The upstream answered, with any status. */
void ux_breaker_succeeded(struct ux_breaker *b);

/*
 * Counts a failure: the upstream did not answer. at_least: ms from its Retry-After; 0: it sent
 * none.
 */
void ux_breaker_failed(struct ux_breaker *b, int64_t now, int64_t at_least);

/* The request was cancelled, so its outcome is unknown. */
void ux_breaker_unknown(struct ux_breaker *b, int64_t now);

/* "closed", "open", "probed". */
const char *ux_breaker_state_name(enum ux_breaker_state state);

/* --- hops: the servers that a request has passed through, to detect loops --------------------- */

#define UX_HOPS_HEADER "X-Unhex-Via"

enum {
	UX_HOPS_MAX = 8,      /* servers that one request may pass through */
	UX_SERVER_ID = 16 + 1 /* hex digits that identify a running server, and a NUL */
};

/* IDs of the servers that a request has passed through, oldest first. */
struct ux_hops {
	char via[UX_HOPS_MAX][UX_SERVER_ID];
	unsigned n;
	unsigned forwarded; /* number of hops in X-Forwarded-For */
};

/* Request headers that carry hops; empty when a header is absent. */
struct ux_hops_lines {
	struct ux_bytes via;       /* X-Unhex-Via: ID, ID */
	struct ux_bytes forwarded; /* X-Forwarded-For: debuginfod servers count its entries */
	struct ux_bytes agent;     /* User-Agent: debuginfod servers forward the client's */
};

/*
 * Returns false when the request has passed this server before, has passed too many servers, or has
 * a malformed list. Then the request is answered from this server's own store and no upstream is
 * queried. own: this server's ID.
 */
bool ux_hops_read(const struct ux_hops_lines *lines, const char *own, struct ux_hops *ret) ux_must;

enum {
	UX_HOPS_TEXT = 256 /* bytes of each header below */
};

/*
 * Headers that this server sends: "X-Unhex-Via: ...", "X-Forwarded-For: unknown, ..." (client
 * addresses are not disclosed), and "unhex/VERSION (via ID)" as User-Agent.
 */
struct ux_hops_sent {
	char via[UX_HOPS_TEXT];
	char forwarded[UX_HOPS_TEXT];
	char agent[UX_HOPS_TEXT];
};

void ux_hops_write(const struct ux_hops *hops, const char *own, struct ux_hops_sent *ret);

/* --- one request to one upstream -------------------------------------------------------------- */

enum {
	UX_UPSTREAM_CONNECT_MS = 2000,
	/* longest ms without a byte; checked once a second, so it is noticed within 5 s */
	UX_UPSTREAM_SILENCE_MS = 3000,
	UX_UPSTREAM_MAX_MS = 600000, /* longest ms for the transfer of one file */
	UX_UPSTREAM_SLOW = 4096,     /* lowest accepted rate in bytes a second */
	UX_UPSTREAM_SLOW_S = 4,      /* seconds over which the rate is averaged */
	UX_UPSTREAM_REDIRECTS = 4,
};

struct ux_upstream_limits {
	uint64_t bytes; /* size limit of one file */
	int64_t max_ms;
	int64_t silence_ms;
};

struct ux_upstream_request {
	const struct ux_upstream *up;
	struct ux_http_client *client; /* client of this upstream; NULL for a folder */
	const struct ux_upstream_paths *paths;
	const struct ux_hops_sent *hops;
	const struct ux_upstream_limits *limits;
	ux_http_sink_fn *sink; /* receives the bytes */
	/*
	 * Called before the first byte. Returns true when another upstream is already sending the
	 * file.
	 */
	bool (*first)(void *ctx);
	bool (*cancelled)(void *ctx); /* polled about once a second */
	void *ctx;
};

#define UX_WAITS_FOR "waits for " /* before the list of servers in the message of a 503 */

enum {
	UX_WAITS_FOR_TEXT = 96 /* bytes of such a list, with its NUL */
};

struct ux_upstream_answer {
	enum ux_fetch_outcome outcome;
	bool cancelled; /* cancelled: the outcome is unknown */
	/* the upstream is itself fetching the file: repeat the request after retry_s */
	bool later;
	char waits_for[UX_WAITS_FOR_TEXT]; /* servers that it waits for meanwhile; "": unknown */
	bool reachable;   /* the upstream answered, so the breaker counts no failure */
	unsigned status;  /* HTTP status; 0: none */
	size_t path;      /* index of the path that got this answer */
	unsigned retry_s; /* seconds, from its Retry-After header; 0: none */
	char reason[UX_ERROR_TEXT];
};

/*
 * Sends a request. Never fails: errors are reported in the answer. After FOUND the sink has
 * received all bytes, not verified.
 */
void ux_upstream_request(const struct ux_upstream_request *request, struct ux_upstream_answer *ret);

/* Creates the HTTP client of one upstream. Not for a folder. */
enum ux_code ux_upstream_client(const struct ux_upstream *up, const char *agent,
				struct ux_http_client **ret, struct ux_error *err) ux_must;

/* --- fetches ---------------------------------------------------------------------------------- */

enum {
	UX_FETCH_SOURCE_MAX = 64 << 20, /* size limit of a source file, as in a bundle */
	UX_FETCHES_MAX = 1024,          /* fetches queued or running at most */
	UX_FETCHERS = 16,               /* concurrent requests */
	UX_FETCHERS_UPSTREAM = 6,       /* concurrent requests to one upstream */
	/* ms after which the next upstream is queried in parallel */
	UX_FETCH_HEAD_START_MS = 800
};

/* How long answers are valid, in seconds. */
struct ux_fetch_times {
	int64_t absent; /* the upstream does not have the artifact */
	int64_t failed; /* no answer, or an unusable one; both are asked again soon */
	int64_t found;  /* the upstream sent something, and would send the same again */
};

#define UX_FETCH_TIMES_DEFAULT  \
	{                       \
		3600, 60, 86400 \
	}

/* Returns the time at which an answer with that outcome, received now, expires. */
ux_time ux_fetch_expires(const struct ux_fetch_times *times, enum ux_fetch_outcome outcome,
			 ux_time now);

/* The kind of artifact that is fetched. */
enum ux_fetch_kind {
	UX_FETCH_SYMBOLS, /* a GSYM, or an ELF file to extract one from */
	/* like UX_FETCH_SYMBOLS, but no executable: its symbols are there already */
	UX_FETCH_BETTER,
	UX_FETCH_DEBUGINFO,
	UX_FETCH_EXECUTABLE,
	UX_FETCH_SOURCE,
};

struct ux_fetch_request {
	const char *ns;
	const char *id; /* canonical */
	enum ux_fetch_kind want;
	const char *source; /* canonical path, for UX_FETCH_SOURCE; otherwise NULL */
	struct ux_hops hops;
};

/* A file that an upstream sent. Its bytes are in a part, which the receiver commits or leaves. */
struct ux_arrived {
	const char *ns;
	const char *id;
	const char *upstream;
	enum ux_artifact artifact;
	const char *source; /* path of a source file; otherwise NULL */
	const char *file;   /* its path, if the upstream names it; "": unknown */
	struct ux_provenance provenance;
	struct ux_blob_part *part;
	struct ux_bytes bytes; /* the whole part; not verified */
	struct ux_blob_hash hash;
};

/*
 * Makes a candidate of the file, with the upstream as its origin. A callback, because only the
 * layers above may read uploaded files and know how. Any code but UX_OK means that the file is
 * unusable; err says why.
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
	const struct ux_upstream *upstreams; /* copied; the names are unique */
	size_t n;
	struct ux_fetch_times times;      /* zeroed: UX_FETCH_TIMES_DEFAULT applies */
	struct ux_upstream_limits limits; /* zeroed fields default to 4 GiB, 10 minutes, 3 s */
	/* called before any file is stored; any code but UX_OK refuses the file. NULL: no check */
	ux_arrived_fn *make_room;
	ux_arrived_fn *arrived; /* not called for source files, which are stored with the answer */
	/* called before a source file is stored; any code but UX_OK refuses it. NULL: no check */
	ux_arrived_fn *source_arrived;
	void (*log)(void *ctx, const struct ux_fetch_event *event); /* NULL: none */
	void *ctx;
};

struct ux_fetcher;

/*
 * Checks a list of upstreams. UX_EINVAL: two upstreams have the same name, or there are too many.
 */
enum ux_code ux_fetcher_check(const struct ux_upstream *upstreams, size_t n, struct ux_error *err)
	ux_must;

/* Starts the fetcher's threads. The store must outlive it. Codes: see ux_fetcher_check(). */
enum ux_code ux_fetcher_open(struct ux_fetcher **ret, struct ux_store *store,
			     const struct ux_fetcher_options *options, struct ux_error *err)
	ux_must;

/* Cancels running fetches and wakes all waiters. Nothing is fetched afterwards. NULL is allowed. */
void ux_fetcher_stop(struct ux_fetcher *f);

/* Stops the fetcher and frees it together with the fetchers that it replaced. NULL is allowed. */
void ux_fetcher_close(struct ux_fetcher *f);

/* Makes f the successor of old, which has been stopped and is closed together with f. */
void ux_fetcher_replace(struct ux_fetcher *f, struct ux_fetcher *old);

/* The random server ID of this process, in hex. */
const char *ux_fetcher_own_id(const struct ux_fetcher *f);

/*
 * A waiter is woken when a fetch ends. wake() is called once, with locks held, so it must not call
 * the fetcher.
 */
struct ux_fetch_waiter {
	void (*wake)(void *ctx);
	void *ctx;
	struct ux_fetch_waiter *next; /* used by the fetcher */
	struct ux_fetch_waiter **back;
};

enum ux_fetching {
	UX_FETCHING_NONE,      /* no upstream has it: all that can have it said so recently */
	UX_FETCHING_AWAY,      /* an upstream that may have it does not answer: retry later */
	UX_FETCHING_QUEUED,    /* the fetch is queued, or requests are running */
	UX_FETCHING_RECEIVING, /* an upstream is sending it */
	UX_FETCHING_BUSY,      /* the queue is full */
};

/*
 * Starts a fetch, or joins the running one. After UX_FETCHING_QUEUED and UX_FETCHING_RECEIVING the
 * waiter (if any) belongs to the fetcher until it is woken or ux_fetcher_leave() is called. Fetched
 * files are in the store. Any thread.
 */
enum ux_fetching ux_fetcher_begin(struct ux_fetcher *f, const struct ux_fetch_request *request,
				  struct ux_fetch_waiter *waiter);

/*
 * Returns in how many seconds the upstreams are asked again for an artifact, because one that may
 * have it does not answer. 0: that is not so, as far as is known in memory. Any thread.
 */
unsigned ux_fetcher_away_s(struct ux_fetcher *f, const struct ux_fetch_request *request) ux_must;

/*
 * Writes the ID of this server, and the IDs of the servers on whose answers alone a running fetch
 * still depends. A server that finds itself in the list of one that it waits for knows that both
 * wait for each other.
 */
void ux_fetcher_waits_for(struct ux_fetcher *f, const struct ux_fetch_request *request,
			  char ret[UX_WAITS_FOR_TEXT]);

/* Tests whether a fetch of the same artifact is queued or running; starts none. Any thread. */
bool ux_fetcher_is_running(struct ux_fetcher *f, const struct ux_fetch_request *request) ux_must;

/*
 * Removes a waiter, so that it is not woken afterwards. A waiter that has been woken, or that was
 * zeroed and never passed to the fetcher, is allowed.
 */
void ux_fetcher_leave(struct ux_fetcher *f, struct ux_fetch_waiter *waiter);

/*
 * Records that a file from an upstream is unusable: the upstream counts as not having it, so that
 * the next fetch queries the others.
 */
void ux_fetcher_reject(struct ux_fetcher *f, const char *ns, const char *id,
		       enum ux_artifact artifact, const char *upstream, const char *reason);

/* The state of one upstream. */
struct ux_upstream_status {
	const struct ux_upstream *upstream;
	enum ux_breaker_state breaker;
	int64_t open_ms;                /* ms until requests may be sent again */
	uint64_t found, absent, failed; /* numbers of answers since the start; failed: or of none */
	/* requests that were not sent because the breaker was open */
	uint64_t refused;
	uint64_t bytes;
	uint64_t took_ms;
	unsigned running;
};

size_t ux_fetcher_count(const struct ux_fetcher *f);
struct ux_upstream_status ux_fetcher_status(struct ux_fetcher *f, size_t i);

/*
 * Returns how many fetches are queued or running, and how many were refused because the queue was
 * full.
 */
void ux_fetcher_load(struct ux_fetcher *f, uint64_t *ret_now, uint64_t *ret_refused);

/*
 * Tests whether the namespace setting `upstreams` (list) selects the upstream. *ret_rank: its
 * position in the list.
 */
bool ux_upstream_is_selected(const char *list, const char *name, size_t i, size_t *ret_rank);

#endif
