/* SPDX-License-Identifier: Apache-2.0 */
/* One question to one upstream, and the bytes that come of it. */
#ifndef UX_UPSTREAM_ASK_H
#define UX_UPSTREAM_ASK_H

#include "hops.h"
#include "http_client.h"
#include "index.h"
#include "upstream.h"

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

struct ux_upstream_ask {
	const struct ux_upstream *up;
	struct ux_http_client *client; /* of it; NULL for a folder */
	const struct ux_places *places;
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
	bool later;       /* it is fetching it itself: ask again in retry_s */
	bool reachable;   /* it answered, so the breaker has nothing against it */
	unsigned status;  /* of HTTP; 0: none */
	unsigned retry_s; /* that it asked for; 0: it did not */
	char reason[UX_ERROR_TEXT];
};

/* Never fails: what goes wrong is the answer. FOUND: the sink has all bytes, which nobody has
 * looked at. */
void ux_upstream_ask(const struct ux_upstream_ask *ask, struct ux_upstream_answer *ret);

/* A client for one upstream; not for a folder. */
enum ux_code ux_upstream_client(const struct ux_upstream *up, const char *agent,
				struct ux_http_client **ret, struct ux_error *err) ux_must;

#endif
