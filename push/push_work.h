/* SPDX-License-Identifier: Apache-2.0 */
/* One push at work, for the files that do parts of it. */
#ifndef UX_PUSH_WORK_H
#define UX_PUSH_WORK_H

#include "hash.h"
#include "map.h"
#include "push_module.h"
#include "push_run.h"
#include "push_scan.h"

static inline uint64_t ux_push_id_hash(struct ux_id id)
{
	return ux_hash_bytes(ux_bytes(id.bytes, id.size));
}

static inline bool ux_push_id_eq(struct ux_id a, struct ux_id b)
{
	return ux_id_eq(&a, &b);
}

/* The number of a module by each of its IDs. */
UX_MAP(ux_push_by_id, struct ux_id, size_t, ux_push_id_hash, ux_push_id_eq);

struct ux_push_work {
	const struct ux_push_options *o;
	struct ux_push_summary *summary;
	struct ux_scan scan;
	struct ux_push_modules modules;
	struct ux_push_by_id known;
	struct ux_push_client client;
};

/* Counts a result and tells it. */
void ux_push_tell(struct ux_push_work *p, const struct ux_push_result *r);

/* What a verdict comes to. */
enum ux_push_status ux_push_status_of(enum ux_push_verdict verdict);

/*
 * Sends the files of a module as they are, and tells what became of them. *ret_there: what the
 * server found in what it was sent; UX_QUALITY_COUNT when it was sent nothing, or did not say.
 */
enum ux_code ux_push_files(struct ux_push_work *p, const struct ux_push_module *m,
			   enum ux_quality *ret_there, struct ux_error *err) ux_must;

#endif
