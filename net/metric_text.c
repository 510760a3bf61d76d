/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text exposition format 0.0.4. */
#include "metric_text.h"

void ux_metric_head(struct ux_out *out, const char *name, const char *type, const char *help)
{
	ux_out_fmt(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void ux_metric_one(struct ux_out *out, const char *name, const char *type, const char *help,
		   uint64_t value)
{
	ux_metric_head(out, name, type, help);
	ux_out_fmt(out, "%s %" PRIu64 "\n", name, value);
}
