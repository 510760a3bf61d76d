/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that send symbols to the server, each over a connection of its own. */
#ifndef UX_AGENT_SENDERS_H
#define UX_AGENT_SENDERS_H

#include "error.h"
#include "kept_results.h"
#include "push_work.h"

#include <pthread.h>

struct ux_agent;
struct ux_agent_sender;

enum {
	/*
	 * Threads with a connection each. With a server 100 ms away, 10,000 small modules take 190
	 * s to send; extracting them takes 600 s of the default processor share.
	 */
	UX_AGENT_SENDERS_MAX = 16,
	/* Tasks that no thread has begun: two for each thread. */
	UX_AGENT_TASKS_WAITING_MAX = 32,
	/* Tasks whose results are not reported yet, for example because an earlier task takes
	 * minutes. */
	UX_AGENT_TASKS_MAX = 256,
	/* Bytes of unsent symbols. A single task may exceed it, and small tasks are always
	 * accepted, so that they do not wait for a large upload. */
	UX_AGENT_TASKS_BYTES_MAX = 32 << 20,
	UX_AGENT_TASK_SMALL = 256 << 10,
	UX_AGENT_ALONE_BYTES_MAX = 1 << 20, /* see ux_agent_senders_add() */
};

enum ux_agent_task_state {
	UX_AGENT_TASK_WAITS,
	UX_AGENT_TASK_BEGUN,
	UX_AGENT_TASK_DONE,
};

/* Symbols to send, or only results that wait for their turn. The owner embeds it in its own
 * struct. */
struct ux_agent_task {
	/*
	 * Sends over w->client and reports to w. Called once, by any thread. The data that it reads
	 * must not change before `end` is called. NULL: nothing to send. Codes of ux_push_upload().
	 */
	enum ux_code (*send)(struct ux_agent_task *t, struct ux_push_work *w, struct ux_error *err);
	/*
	 * Releases the task. The agent's thread calls it after all earlier tasks have ended and the
	 * results of this task were reported (a->failed: a result is a failure). sent: false after
	 * a connection error; then there are no results.
	 */
	void (*end)(struct ux_agent *a, struct ux_agent_task *t, bool sent);
	uint64_t bytes;                 /* of the symbols */
	int64_t left_ms;                /* ms that the task may take once a thread begins it */
	struct ux_kept_results results; /* so far */
	/* of the senders: */
	enum ux_agent_task_state state;
	enum ux_code code;
	struct ux_error why;
	struct ux_agent_task *next;
};

/* Only the agent's thread may call functions on it. */
struct ux_agent_senders {
	struct ux_agent_sender *threads[UX_AGENT_SENDERS_MAX];
	unsigned n;           /* threads that were started */
	pthread_mutex_t lock; /* guards the fields below and the states of tasks */
	pthread_cond_t added; /* signaled when a task was added, or `stops` was set */
	/* signaled when a task is done; uses the monotonic clock */
	pthread_cond_t done;
	struct ux_agent_task *first, *last; /* all tasks in order; NULL: none */
	struct ux_agent_task *fresh;        /* first task that no thread has begun; NULL: none */
	size_t waiting;                     /* tasks that no thread has begun */
	size_t size;                        /* tasks in all */
	uint64_t bytes;                     /* bytes of the tasks that are not done */
	bool failed;                        /* after a connection error: no task begins */
	bool stops;
};

void ux_agent_senders_init(struct ux_agent_senders *s);

/* Drops the tasks that no thread has begun, waits for the others, ends them, and stops the
 * threads. */
void ux_agent_senders_deinit(struct ux_agent *a);

/*
 * Takes over a task; its `end` is called in any case. Waits while there are too many tasks or
 * bytes, and meanwhile ends earlier tasks that are done. Starts another thread only if more tasks
 * wait than there are threads, because connecting costs processor time. If `alone`, no other task
 * follows soon: the calling thread sends a small task itself over its own connection. Codes of
 * ux_agent_senders_finish().
 */
enum ux_code ux_agent_senders_add(struct ux_agent *a, struct ux_agent_task *t, bool alone,
				  struct ux_error *err) ux_must;

/* Ends tasks that are done. Waits up to wait_ms for the first task. Codes of
 * ux_agent_senders_finish(). */
enum ux_code ux_agent_senders_report(struct ux_agent *a, int64_t wait_ms, struct ux_error *err)
	ux_must;

/*
 * Waits for all tasks and ends them. After a connection error no further task begins; tasks whose
 * upload succeeded end as usual. Returns the error of the first failed task. UX_ENOMEM, and the
 * codes of ux_push_upload().
 */
enum ux_code ux_agent_senders_finish(struct ux_agent *a, struct ux_error *err) ux_must;

/* Does the same, but drops the tasks that no thread has begun. */
void ux_agent_senders_drop(struct ux_agent *a);

/* Returns whether there are tasks that have not ended. */
bool ux_agent_senders_have_tasks(const struct ux_agent_senders *s);

/* Ends the threads and closes their connections. All tasks must have ended. */
void ux_agent_senders_stop(struct ux_agent *a);

#endif
