/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a module that wait until the module is reported. */
#ifndef UX_KEPT_RESULTS_H
#define UX_KEPT_RESULTS_H

#include "push_run.h"
#include "vec.h"

/* A result with copies of its texts. */
struct ux_kept_result {
	struct ux_push_result r;
	struct ux_id id;
	char *path, *debug, *reason; /* malloc'ed */
};

UX_VEC(ux_kept_results, struct ux_kept_result);

struct ux_push_work;

/* Appends a copy of a result. False: memory is short, and nothing was appended. */
bool ux_kept_results_add(struct ux_kept_results *v, const struct ux_push_result *r) ux_must;

/* Counts and reports the results in their order, as ux_push_report() does, and empties *v. */
void ux_kept_results_report(struct ux_kept_results *v, struct ux_push_work *p);

/* Drops the results. */
void ux_kept_results_free(struct ux_kept_results *v);

#endif
