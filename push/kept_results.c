/* SPDX-License-Identifier: Apache-2.0 */
/* Results of a module that wait until the module is reported. */
#include "kept_results.h"

#include "push_work.h"

static void kept_result_deinit(struct ux_kept_result *kept)
{
	free(kept->path);
	free(kept->debug);
	free(kept->reason);
}

static char *kept_copy_text(const char *text, bool *failed)
{
	char *copy = text ? strdup(text) : NULL;
	*failed = *failed || (text && !copy);
	return copy;
}

bool ux_kept_results_add(struct ux_kept_results *v, const struct ux_push_result *r)
{
	bool failed = false;
	struct ux_kept_result kept = {
		.r = *r,
		.path = kept_copy_text(r->path, &failed),
		.debug = kept_copy_text(r->debug, &failed),
		.reason = kept_copy_text(r->reason, &failed),
	};
	if (r->id)
		kept.id = *r->id;
	if (!failed && ux_kept_results_append(v, kept))
		return true;
	kept_result_deinit(&kept);
	return false;
}

void ux_kept_results_report(struct ux_kept_results *v, struct ux_push_work *p)
{
	for (size_t i = 0; i < v->size; i++) {
		struct ux_kept_result *kept = &v->data[i];
		kept->r.path = kept->path;
		kept->r.debug = kept->debug;
		kept->r.reason = kept->reason;
		kept->r.id = kept->r.id ? &kept->id : NULL;
		ux_push_report(p, &kept->r);
	}
	ux_kept_results_free(v);
}

void ux_kept_results_free(struct ux_kept_results *v)
{
	for (size_t i = 0; i < v->size; i++)
		kept_result_deinit(&v->data[i]);
	ux_kept_results_deinit(v);
}
