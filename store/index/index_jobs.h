/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the index about jobs: work that survives a crash, leased to one worker. */
#ifndef UX_INDEX_JOBS_H
#define UX_INDEX_JOBS_H

#include "arena.h"
#include "error.h"
#include "index_access.h"

struct ux_index;

/* Built-in kinds of jobs. There is at most one job for each kind and non-empty subject. */
#define UX_JOB_EXTRACT "extract" /* for a candidate; created by modules.add */
/* payload of an extraction that is repeated because the module has more files now */
#define UX_JOB_AGAIN "again"
#define UX_JOB_FETCH "fetch"
/* work that only one of several nodes does: removing, merging, expiring; the node claims it */
#define UX_JOB_MAINTENANCE "maintenance"

struct ux_job {
	int64_t number;
	const char *kind;
	const char *subject;
	const char *ns;
	int64_t candidate;   /* 0: none; the job is removed together with the candidate */
	const char *payload; /* JSON, or "" */
	unsigned attempts;   /* including the current one */
	bool failed;         /* permanently: it is never leased again */
	bool slow;           /* it is in the slow lane */
	ux_time next;        /* earliest time to run */
	ux_time lease_until; /* 0: not leased */
	const char *reason;  /* for the last failure */
	ux_time created;
};

/*
 * Lanes of jobs. Jobs that are expected to take long, because their file exceeds 64 MiB or they
 * already took long, wait in a lane of their own.
 */
enum ux_job_lane {
	UX_JOB_QUICK,
	UX_JOB_SLOW
};

/* The job that a worker wants: see take_turn(). */
struct ux_job_turn {
	const char *kind;
	const char *owner;
	enum ux_job_lane lane;
	const char *after; /* namespace of the last job of this lane; "": none yet */
};

struct ux_job_list {
	struct ux_job *jobs;
	size_t n;
};

struct ux_job_counts {
	uint64_t waiting;
	uint64_t running;
	uint64_t failed;
	ux_time oldest; /* creation time of the oldest waiting job; 0: none */
};

/*
 * Part of struct ux_index; see there for general rules. A lease expires by itself, so long work
 * must renew it. done, retry, give_up and renew return UX_ECONFLICT after the lease was lost.
 */
struct ux_index_jobs {
	/*
	 * Adds a job from the fields kind, subject, ns, candidate, payload and next of spec. If one
	 * of the same kind and subject exists, that job is kept: it becomes due at the earlier of
	 * the two times, and is no longer failed. *ret: its number.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_job *spec, ux_time now,
			    int64_t *ret, struct ux_error *err);
	/*
	 * Leases the job of the kind that has been due for longest, for lease_s seconds.
	 * UX_ENOTFOUND: no job is due.
	 */
	enum ux_code (*take)(struct ux_index *ix, const char *kind, const char *owner, ux_time now,
			     int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
			     struct ux_error *err);
	/*
	 * Leases the next job by turns, so that no namespace waits for the jobs of another one: the
	 * first due job of the namespace that follows turn->after in the order of their names; the
	 * first name follows the last one. In a namespace, a job comes before jobs that are due
	 * later than it by more than a second for each MiB of its file. Of each module only one job
	 * is leased at a time, because a job reads the files of the others. UX_ENOTFOUND: no job of
	 * this lane is due.
	 */
	enum ux_code (*take_turn)(struct ux_index *ix, const struct ux_job_turn *turn, ux_time now,
				  int64_t lease_s, struct ux_arena *arena, struct ux_job *ret,
				  struct ux_error *err);
	/*
	 * Makes the job due again immediately, in the slow lane, because it exceeded the time of a
	 * quick one. The attempt does not count.
	 */
	enum ux_code (*slow_down)(struct ux_index *ix, int64_t number, const char *owner,
				  struct ux_error *err);
	enum ux_code (*renew)(struct ux_index *ix, int64_t number, const char *owner, ux_time now,
			      int64_t lease_s, struct ux_error *err);
	/* Removes the finished job. */
	enum ux_code (*done)(struct ux_index *ix, int64_t number, const char *owner,
			     struct ux_error *err);
	/* Makes the job due again at `next`. */
	enum ux_code (*retry)(struct ux_index *ix, int64_t number, const char *owner, ux_time next,
			      const char *reason, struct ux_error *err);
	/*
	 * Like retry(), but the attempt does not count: something that the job needs is
	 * unavailable.
	 */
	enum ux_code (*postpone)(struct ux_index *ix, int64_t number, const char *owner,
				 ux_time next, const char *reason, struct ux_error *err);
	enum ux_code (*give_up)(struct ux_index *ix, int64_t number, const char *owner,
				const char *reason, struct ux_error *err);
	/*
	 * Leases work that has no row of its own: makes a job of this kind and subject that `owner`
	 * has for lease_s seconds, or renews the owner's lease. *ret: the owner has the lease;
	 * false: another one has it.
	 */
	enum ux_code (*claim)(struct ux_index *ix, const struct ux_job *spec, const char *owner,
			      ux_time now, int64_t lease_s, bool *ret, struct ux_error *err);
	/* Removes a claimed job, if the owner still has it. */
	enum ux_code (*unclaim)(struct ux_index *ix, const char *kind, const char *subject,
				const char *owner, struct ux_error *err);
	/*
	 * Releases all leases of an owner: one that is ending, whose attempts do not count, or one
	 * that has ended, when its server starts again. NULL: any owner. "NODE" includes
	 * "NODE#...".
	 */
	enum ux_code (*release)(struct ux_index *ix, const char *owner, bool has_ended,
				struct ux_error *err);
	/* Lists up to limit jobs, oldest first; ns NULL: all namespaces, kind NULL: any kind. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, const char *kind, size_t limit,
			     struct ux_arena *arena, struct ux_job_list *ret, struct ux_error *err);
	/* Counts the jobs of a kind; the time does not depend on their number. */
	enum ux_code (*counts)(struct ux_index *ix, const char *kind, ux_time now,
			       struct ux_job_counts *ret, struct ux_error *err);
	/*
	 * Gets the time at which the next job of the kind is due or its lease ends; INT64_MAX:
	 * none.
	 */
	enum ux_code (*next_due)(struct ux_index *ix, const char *kind, ux_time *ret,
				 struct ux_error *err);
};

#endif
