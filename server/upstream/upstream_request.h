/* SPDX-License-Identifier: Apache-2.0 */
/* One request to one upstream: the servers it has passed, its limits, its answer. */
#ifndef UX_UPSTREAM_REQUEST_H
#define UX_UPSTREAM_REQUEST_H

#include "http_client.h"
#include "index.h"
#include "upstream.h"

/* --- servers that a request has passed, so that it comes to none twice -------------------------
 */

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

/* --- the request -------------------------------------------------------------------------------
 */

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

#endif
