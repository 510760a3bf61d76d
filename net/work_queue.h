/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that run jobs, and a queue that is fair between groups of clients, and between clients.
 */
#ifndef UX_WORK_QUEUE_H
#define UX_WORK_QUEUE_H

#include "error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Groups take turns, and in each group its clients: a free thread takes a job of the group with the
 * fewest running jobs, and in it of the client with the fewest; of equal ones, of the next in the
 * ring. So however many clients a group has, it gets as much as another one. A group has at most
 * `group_share` jobs running, and a client `share`, so that neither holds all threads; and at most
 * `group_waiting` and `waiting` jobs in the queue.
 */
struct ux_work_queue;

struct ux_work_limits {
	unsigned threads; /* number of threads, at least 1 */
	/* threads that jobs of one group, of one client may hold at the same time, at least 1 */
	unsigned group_share, share;
	unsigned group_waiting, waiting; /* waiting jobs of one group, of one client */
	unsigned all;                    /* waiting jobs of all clients */
};

/*
 * One job, embedded in the struct that it works on. Set `group`, `client` and `run`, and zero the
 * rest. It must not be added again before run() was called.
 */
struct ux_work_job {
	uint64_t group;  /* clients with the same number belong to one group */
	uint64_t client; /* jobs of a group with the same number belong to one client */
	/*
	 * Called once, on a thread of the queue, or on the thread of ux_work_queue_stop() with
	 * `canceled` set. The job's memory may be freed, or the job added again, before it returns.
	 */
	void (*run)(struct ux_work_job *job, bool canceled);
	struct ux_work_job *next;
};

enum ux_work_added {
	UX_WORK_ADDED,
	UX_WORK_CLIENT_FULL, /* this client, or its group, has too many waiting jobs */
	/* all clients together have too many, or memory is short, or it is stopping */
	UX_WORK_FULL,
};

enum ux_code ux_work_queue_open(struct ux_work_queue **ret, const struct ux_work_limits *limits,
				struct ux_error *err) ux_must;

/* Adds a job; on failure nothing is kept. Any thread. */
enum ux_work_added ux_work_queue_add(struct ux_work_queue *q, struct ux_work_job *job) ux_must;

/* Waiting and running jobs. Any thread. */
struct ux_work_counts {
	unsigned waiting;
	unsigned running;
};
struct ux_work_counts ux_work_queue_count(struct ux_work_queue *q);

/*
 * Accepts no more jobs, cancels the waiting ones, and returns when the running ones have ended.
 * NULL is allowed, and so is calling it twice.
 */
void ux_work_queue_stop(struct ux_work_queue *q);

/* Stops and frees the queue. NULL is allowed. */
void ux_work_queue_close(struct ux_work_queue *q);

/*
 * Returns the milliseconds for which a job has been running: the longest of all; 0: none runs. Any
 * thread.
 */
int64_t ux_work_queue_busy_ms(const struct ux_work_queue *q);

#endif
