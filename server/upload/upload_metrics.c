/* SPDX-License-Identifier: Apache-2.0 */
/* Durations of the stages of uploads, for Prometheus. */
#include "metric_text.h"
#include "upload.h"

#define NAME "unhex_upload_stage_duration_seconds"

static uint64_t upload_stage_get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

static void upload_stage_put(const struct ux_stage_times *t, enum ux_stage stage,
			     struct ux_out *out)
{
	const char *name = ux_stage_name(stage);
	uint64_t sum = 0;
	for (size_t i = 0; i < UX_STAGE_BOUNDS; i++) {
		sum += upload_stage_get(&t->stages[stage].buckets[i]);
		ux_out_fmt(out, NAME "_bucket{stage=\"%s\",le=\"%g\"} %" PRIu64 "\n", name,
			   (double)ux_stage_bounds[i] / 1e6, sum);
	}
	sum += upload_stage_get(&t->stages[stage].buckets[UX_STAGE_BOUNDS]);
	ux_out_fmt(out, NAME "_bucket{stage=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, sum);
	ux_out_fmt(out, NAME "_sum{stage=\"%s\"} %.6f\n", name,
		   (double)upload_stage_get(&t->stages[stage].us) / 1e6);
	ux_out_fmt(out, NAME "_count{stage=\"%s\"} %" PRIu64 "\n", name, sum);
}

void ux_upload_metrics(struct ux_server *s, struct ux_out *out)
{
	ux_metric_head(out, NAME, "histogram",
		       "Stages of uploads, from the announcement to the answer to the finish.");
	for (int i = 0; i < UX_STAGE_COUNT; i++)
		upload_stage_put(&s->store->stages, (enum ux_stage)i, out);
}
