/* SPDX-License-Identifier: Apache-2.0 */
/* A circuit breaker: an upstream that does not answer gets no requests for a while. */
#ifndef UX_BREAKER_H
#define UX_BREAKER_H

#include "base.h"

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

#endif
