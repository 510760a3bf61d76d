/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the activity of a server in the last day. */
#include "trends.h"

static uint64_t trends_read(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

static void trends_add_up(const struct ux_metrics *m, uint64_t totals[UX_TRENDS])
{
	for (size_t i = 0; i < ux_countof(m->routes); i++) {
		const struct ux_metrics_route *r = &m->routes[i];
		for (size_t k = 0; k < UX_METRICS_CLASSES; k++)
			totals[UX_TREND_REQUESTS] += trends_read(&r->requests[k]);
		totals[UX_TREND_ERRORS] += trends_read(&r->requests[UX_METRICS_CLASSES - 1]);
		totals[UX_TREND_SENT] += trends_read(&r->bytes_out);
	}
	totals[UX_TREND_EXTRACTED] = trends_read(&m->extracted);
}

/* Clears the steps after the last one, up to the current one. */
static void trends_advance(struct ux_trends *t, int64_t step)
{
	int64_t last = atomic_load_explicit(&t->step, memory_order_relaxed);
	int64_t from = ux_max(last + 1, step - UX_TREND_STEPS + 1);
	for (int64_t s = from; s <= step; s++)
		for (size_t i = 0; i < UX_TRENDS; i++)
			atomic_store_explicit(&t->counts[i][s % UX_TREND_STEPS], 0,
					      memory_order_relaxed);
	if (step > last)
		atomic_store_explicit(&t->step, step, memory_order_relaxed);
}

void ux_trends_note(struct ux_trends *t, const struct ux_metrics *m, int64_t now_s)
{
	uint64_t totals[UX_TRENDS] = {0};
	trends_add_up(m, totals);
	trends_advance(t, now_s / UX_TREND_STEP_S);
	int64_t at = atomic_load_explicit(&t->step, memory_order_relaxed) % UX_TREND_STEPS;
	for (size_t i = 0; i < UX_TRENDS; i++) {
		atomic_fetch_add_explicit(&t->counts[i][at], totals[i] - t->totals[i],
					  memory_order_relaxed);
		t->totals[i] = totals[i];
	}
}

void ux_trends_read(const struct ux_trends *t, enum ux_trend which, int64_t now_s,
		    uint64_t ret[UX_TREND_STEPS])
{
	assert(which < UX_TRENDS);
	int64_t last = atomic_load_explicit(&t->step, memory_order_relaxed);
	int64_t now = ux_max(now_s / UX_TREND_STEP_S, last);
	for (size_t i = 0; i < UX_TREND_STEPS; i++) {
		int64_t step = now - UX_TREND_STEPS + 1 + (int64_t)i;
		bool there = last > 0 && step <= last && step > last - UX_TREND_STEPS;
		ret[i] = there ? trends_read(&t->counts[which][step % UX_TREND_STEPS]) : 0;
	}
}
