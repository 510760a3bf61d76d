/* SPDX-License-Identifier: Apache-2.0 */
/* A circuit breaker that allows one probe at a time. */
#include "fetcher.h"

bool ux_breaker_allows(struct ux_breaker *b, int64_t now)
{
	if (b->state == UX_BREAKER_OPEN && now >= b->until) {
		b->state = UX_BREAKER_PROBED;
		return true;
	}
	return b->state == UX_BREAKER_CLOSED;
}

int64_t ux_breaker_next_time(const struct ux_breaker *b, int64_t now)
{
	switch (b->state) {
	case UX_BREAKER_CLOSED:
		return now;
	case UX_BREAKER_OPEN:
		return ux_max(b->until, now);
	case UX_BREAKER_PROBED:
		break;
	}
	return INT64_MAX;
}

void ux_breaker_succeeded(struct ux_breaker *b)
{
	*b = (struct ux_breaker){0};
}

void ux_breaker_failed(struct ux_breaker *b, int64_t now, int64_t at_least)
{
	bool probe = b->state == UX_BREAKER_PROBED;
	if (b->state == UX_BREAKER_OPEN) /* the request was sent before the breaker opened */
		return;
	b->failures++;
	if (!probe && b->failures < UX_BREAKER_FAILURES && at_least == 0)
		return;
	b->open_ms = b->open_ms == 0 ? UX_BREAKER_OPEN_MS
				     : ux_min(b->open_ms * 2, (int64_t)UX_BREAKER_OPEN_MAX);
	b->until = now + ux_min(ux_max(b->open_ms, at_least), (int64_t)UX_BREAKER_OPEN_MAX);
	b->state = UX_BREAKER_OPEN;
}

void ux_breaker_unknown(struct ux_breaker *b, int64_t now)
{
	if (b->state != UX_BREAKER_PROBED)
		return;
	b->state = UX_BREAKER_OPEN;
	b->until = now;
}

const char *ux_breaker_state_name(enum ux_breaker_state state)
{
	static const char *const names[] = {"closed", "open", "probed"};
	return names[state];
}
