/* SPDX-License-Identifier: Apache-2.0 */
/* Who does not answer is left alone for a while. */
#ifndef UX_BREAKER_H
#define UX_BREAKER_H

#include "base.h"

enum {
	UX_BREAKER_FAILURES = 3,       /* in a row, that open it */
	UX_BREAKER_OPEN_MS = 5000,     /* the first time; twice as long after each failed probe */
	UX_BREAKER_OPEN_MOST = 300000, /* ms */
};

enum ux_breaker_state {
	UX_BREAKER_CLOSED, /* asked as usual */
	UX_BREAKER_OPEN,   /* not asked until its time is over */
	UX_BREAKER_PROBED, /* one question is on its way; what comes of it decides */
};

/* Zeroed is closed. The times are the caller's clock's, which never goes back. Whoever shares it
 * locks. */
struct ux_breaker {
	enum ux_breaker_state state;
	unsigned failures; /* in a row */
	int64_t open_ms;   /* how long it was opened for the last time */
	int64_t until;     /* of OPEN */
};

/* May it be asked? A true after it was open is the one probe: its outcome must be reported. */
bool ux_breaker_may(struct ux_breaker *b, int64_t now) ux_must;

/* When ux_breaker_may() can be true: now, or later; INT64_MAX while it is probed. */
int64_t ux_breaker_when(const struct ux_breaker *b, int64_t now);

/* It answered, whatever it said. */
void ux_breaker_fine(struct ux_breaker *b);

/* It did not; it asked to be left alone for at_least ms (0: it did not say). */
void ux_breaker_failed(struct ux_breaker *b, int64_t now, int64_t at_least);

/* The question was taken back: nothing is known of it. */
void ux_breaker_unknown(struct ux_breaker *b, int64_t now);

/* "closed", "open", "probed". */
const char *ux_breaker_state_name(enum ux_breaker_state state);

#endif
