/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a push as text and as JSON, for push and agent. */
#ifndef UX_PUSH_OUT_H
#define UX_PUSH_OUT_H

#include "out.h"
#include "push_run.h"

/* Appends the result as one line: for people, or one object. */
void ux_push_result_text(struct ux_out *out, const struct ux_push_result *r);
void ux_push_result_json(struct ux_out *out, const struct ux_push_result *r);

/* Appends a line with the number of files by status. */
void ux_push_summary_write(struct ux_out *out, const struct ux_push_summary *s, bool dry_run);

#endif
