/* SPDX-License-Identifier: Apache-2.0 */
/* What a store lets go of, and when. */
#ifndef UX_RETENTION_H
#define UX_RETENTION_H

#include "store.h"

enum {
	/* Seconds after which a use is in the index at the latest; added to every retention. */
	UX_RETENTION_SLACK = 2 * UX_STORE_URGENT_S
};

struct ux_retention {
	int64_t default_s;    /* of namespaces that do not say; 0: for ever */
	int64_t grace_s;      /* between a module's mark and its end */
	uint64_t cache_bytes; /* of what can be had again; 0: no bound */
	bool dry_run;         /* tell, change nothing */
};

enum ux_retained {
	UX_RETAINED_IDLE,    /* marked, and its grace is not over */
	UX_RETAINED_MARKED,  /* now */
	UX_RETAINED_SWEPT,   /* a module is gone */
	UX_RETAINED_EVICTED, /* a candidate that can be had again is gone */
	UX_RETAINED_COUNT
};

/* One decision, after it was carried out; with dry_run, what it would be. */
struct ux_retained_one {
	enum ux_retained what;
	const char *ns;
	const char *id;
	const char *
		*ids; /* all of the module's, of SWEPT and EVICTED: who has it open forgets it */
	size_t n_ids;
	ux_time last_used;
	uint64_t bytes;
};
typedef void ux_retained_fn(void *ctx, const struct ux_retained_one *one);

struct ux_retained_sum {
	uint64_t n[UX_RETAINED_COUNT];
	uint64_t bytes[UX_RETAINED_COUNT];
};

/*
 * Modules that were not used for their namespace's retention are marked; those that were marked
 * grace_s ago and still not used are removed; pinned ones are left alone. Then, of what can be had
 * again, the least used goes until cache_bytes are kept. Times are the store's clock's. What was
 * noted in s->last_use is written first; when that fails, or uses were dropped, nothing is marked
 * or removed. Blobs stay until ux_store_sweep(). tell may be NULL. May run while others work.
 */
enum ux_code ux_store_retain(struct ux_store *s, const struct ux_retention *how,
			     ux_retained_fn *tell, void *ctx, struct ux_retained_sum *ret,
			     struct ux_error *err) ux_must;

/* "idle", "marked", "swept", "evicted". */
const char *ux_retained_name(enum ux_retained what);

#endif
