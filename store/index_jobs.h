/* SPDX-License-Identifier: Apache-2.0 */
/* The index: work that goes on after a crash. */
#ifndef UX_INDEX_JOBS_H
#define UX_INDEX_JOBS_H

#include "index_base.h"

/* Kinds of our own; a subject makes a job of a kind the only one. */
#define UX_JOB_EXTRACT "extract" /* candidate: what to extract; made by modules.add */
#define UX_JOB_FETCH   "fetch"
#define UX_JOB_SWEEP   "sweep"

struct ux_job {
	int64_t number;
	const char *kind;
	const char *subject;
	const char *ns;
	int64_t candidate;   /* 0: none; the job goes with it */
	const char *payload; /* JSON or "" */
	unsigned attempts;   /* counting the one that took it */
	bool failed;         /* for good: nobody takes it */
	ux_time next;        /* not before */
	ux_time lease_until; /* 0: nobody has it */
	const char *reason;  /* of the last failure */
	ux_time created;
};

struct ux_job_list {
	struct ux_job *jobs;
	size_t n;
};

struct ux_job_counts {
	uint64_t waiting;
	uint64_t running;
	uint64_t failed;
	ux_time oldest; /* created, of the waiting; 0: none */
};

/*
 * Part of struct ux_index, whose rules hold. A lease ends by itself: who works for long renews it.
 * done, retry, give_up and renew give UX_ECONFLICT to who has lost the lease.
 */
struct ux_index_jobs {
	/* Of spec, kind, subject, ns, candidate, payload and next count. One of that kind and
	 * subject that is there stays, comes at the earlier of the two times, and has its failure
	 * forgiven. *ret: its number. */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_job *spec, ux_time now,
			    int64_t *ret, struct ux_error *err);
	/* The job of the kind that has been due for longest, for lease_s. UX_ENOTFOUND: none is
	 * due. */
	enum ux_code (*take)(struct ux_index *ix, const char *kind, const char *owner, ux_time now,
			     int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
			     struct ux_error *err);
	enum ux_code (*renew)(struct ux_index *ix, int64_t number, const char *owner, ux_time now,
			      int64_t lease_s, struct ux_error *err);
	/* Forgets it. */
	enum ux_code (*done)(struct ux_index *ix, int64_t number, const char *owner,
			     struct ux_error *err);
	/* Again from `next` on. */
	enum ux_code (*retry)(struct ux_index *ix, int64_t number, const char *owner, ux_time next,
			      const char *reason, struct ux_error *err);
	enum ux_code (*give_up)(struct ux_index *ix, int64_t number, const char *owner,
				const char *reason, struct ux_error *err);
	/* All leases of an owner that is no more: what a server does when it starts. */
	enum ux_code (*release)(struct ux_index *ix, const char *owner, struct ux_error *err);
	/* Up to limit, oldest first; kind NULL: any. */
	enum ux_code (*list)(struct ux_index *ix, const char *kind, size_t limit,
			     struct ux_arena *arena, struct ux_job_list *ret, struct ux_error *err);
	enum ux_code (*counts)(struct ux_index *ix, const char *kind, ux_time now,
			       struct ux_job_counts *ret, struct ux_error *err);
	/* When the next one of the kind is due, or its lease ends; INT64_MAX: none. */
	enum ux_code (*next_due)(struct ux_index *ix, const char *kind, ux_time *ret,
				 struct ux_error *err);
};

#endif
