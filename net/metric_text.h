/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text exposition format 0.0.4. */
#ifndef UX_METRIC_TEXT_H
#define UX_METRIC_TEXT_H

#include "out.h"

/* Content type of such a text. */
#define UX_METRIC_TEXT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* Writes HELP and TYPE of a metric ("counter", "gauge", "histogram"). */
void ux_metric_head(struct ux_out *out, const char *name, const char *type, const char *help);

/* Writes HELP and TYPE, and one value without labels. */
void ux_metric_one(struct ux_out *out, const char *name, const char *type, const char *help,
		   uint64_t value);

#endif
