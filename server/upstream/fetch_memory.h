/* SPDX-License-Identifier: Apache-2.0 */
/* What upstreams said, for as long as it holds: in the index, and close at hand. */
#ifndef UX_FETCH_MEMORY_H
#define UX_FETCH_MEMORY_H

#include "index.h"

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

/* The answer of an upstream about an artifact that still holds; NULL: it is to be asked. An answer
 * from the future, by a clock that was wrong, holds no longer than one of now would. */
const struct ux_fetched *ux_fetch_holds(const struct ux_fetched_list *answers, const char *artifact,
					const char *upstream, const struct ux_fetch_times *times,
					ux_time now);

enum {
	UX_QUIET_SLOTS = 1 << 14, /* a power of two */
	UX_QUIET_MOST_MS = 60000  /* then the index is looked at once more */
};

/*
 * Questions to which the index had nothing new lately: a request for 10,000 unknown modules costs
 * as many hashes, not as many queries. One that is forgotten is asked of the index again. Whoever
 * shares it locks.
 */
struct ux_quiet {
	struct {
		uint8_t key[16];
		int64_t until_ms;
	} slots[UX_QUIET_SLOTS];
};

/* Names one question; strings that are NULL are like "". */
void ux_quiet_key(const char *ns, const char *id, unsigned want, const char *path, uint8_t ret[16]);

void ux_quiet_put(struct ux_quiet *q, const uint8_t key[16], int64_t until_ms);

/* Until when; 0: not known, or over. */
int64_t ux_quiet_until(const struct ux_quiet *q, const uint8_t key[16], int64_t now_ms);

/* Forgets all. */
void ux_quiet_clear(struct ux_quiet *q);

#endif
