/* SPDX-License-Identifier: Apache-2.0 */
/* One job of the extractor. */
#ifndef UX_EXTRACT_JOB_H
#define UX_EXTRACT_JOB_H

#include "extractor.h"

/* What a job works with. */
struct ux_extract_place {
	struct ux_store *store;
	struct ux_module_cache *cache;
	const struct ux_extractor_options *options;
	const char *owner;              /* of jobs that are taken */
	bool (*is_stopping)(void *ctx); /* a job that fails then is put back */
	void *ctx;
};

/* Takes one job that is due and does it. False: none is. */
bool ux_extract_job_step(const struct ux_extract_place *place);

#endif
