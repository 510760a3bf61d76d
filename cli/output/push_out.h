/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a push as text and as JSON, for push and agent. */
#ifndef UX_PUSH_OUT_H
#define UX_PUSH_OUT_H

#include "out.h"
#include "push_run.h"

/* Appends the result as one line: for people, or one object. */
void ux_push_result_text(struct ux_out *out, const struct ux_push_result *r);
void ux_push_result_json(struct ux_out *out, const struct ux_push_result *r);

enum {
	UX_PUSH_REASONS_MAX = 4, /* kept reasons; the rest is counted as others */
	UX_PUSH_REASON_SHORT = 80,
};

/* Files that were skipped without a line of their own, by reason. Zeroed is empty. */
struct ux_push_unlisted {
	struct {
		char reason[UX_PUSH_REASON_SHORT];
		uint64_t n;
	} of[UX_PUSH_REASONS_MAX];
	size_t n;
	uint64_t total, others;
};

void ux_push_unlisted_add(struct ux_push_unlisted *u, const char *reason);

/* Appends a line with their number by reason; nothing if there are none. */
void ux_push_unlisted_write(struct ux_out *out, const struct ux_push_unlisted *u);

/* Appends a line with the number of files by status. */
void ux_push_summary_write(struct ux_out *out, const struct ux_push_summary *s, bool dry_run);

#endif
