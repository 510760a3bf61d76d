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
	 * Threads, each with a connection. With a server that is 100 ms away, 10,000 small modules
	 * take 190 s; extracting these takes 600 s of the default share of the processor.
	 */
	UX_AGENT_SENDERS_MAX = 16,
	/* Tasks that no thread has begun: the next one of each thread, and as many again. */
	UX_AGENT_TASKS_WAITING_MAX = 32,
	/* Tasks whose results are not reported, such as those after one that takes minutes. */
	UX_AGENT_TASKS_MAX = 256,
	/* bytes of symbols that are not sent yet; more of one task alone is allowed, and small
	 * tasks, so that these do not wait for a large upload */
	UX_AGENT_TASKS_BYTES_MAX = 32 << 20,
	UX_AGENT_TASK_SMALL = 256 << 10,
	UX_AGENT_ALONE_BYTES_MAX = 1 << 20, /* see ux_agent_senders_add() */
};

enum ux_agent_task_state {
	UX_AGENT_TASK_WAITS,
	UX_AGENT_TASK_BEGUN,
	UX_AGENT_TASK_DONE,
};

/* Symbols to send, or results alone that wait for their turn. Part of a struct of the owner. */
struct ux_agent_task {
	/*
	 * Sends over w->client and reports to w; called once, by any thread. What it needs must
	 * stay unchanged until `end` is called. NULL: there is nothing to send. Codes: as of
	 * ux_push_upload().
	 */
	enum ux_code (*send)(struct ux_agent_task *t, struct ux_push_work *w, struct ux_error *err);
	/*
	 * Called by the agent's thread after all earlier tasks have ended and the results of this
	 * one were reported (a->failed: one of them is a failure). Releases the task. sent: false
	 * after an error of the connection, then without results.
	 */
	void (*end)(struct ux_agent *a, struct ux_agent_task *t, bool sent);
	uint64_t bytes;                 /* of the symbols */
	int64_t left_ms;                /* from when a thread begins, until the deadline */
	struct ux_kept_results results; /* so far */
	/* of the senders: */
	enum ux_agent_task_state state;
	enum ux_code code;
	struct ux_error why;
	struct ux_agent_task *next;
};

/* All functions are for the agent's thread alone. */
struct ux_agent_senders {
	struct ux_agent_sender *threads[UX_AGENT_SENDERS_MAX];
	unsigned n;                         /* threads that were started */
	pthread_mutex_t lock;               /* of what follows, and of the states of tasks */
	pthread_cond_t added;               /* a task, or `stops` */
	pthread_cond_t done;                /* a task; by the monotonic clock */
	struct ux_agent_task *first, *last; /* all tasks, in their order; NULL: none */
	struct ux_agent_task *fresh;        /* the first one that no thread has begun; NULL: none */
	size_t waiting;                     /* tasks that no thread has begun */
	size_t size;                        /* tasks in all */
	uint64_t bytes;                     /* of the tasks that are not done */
	bool failed;                        /* after an error of the connection: no task begins */
	bool stops;
};

void ux_agent_senders_init(struct ux_agent_senders *s);

/* Drops what no thread has begun, waits for the rest, ends it, and ends the threads. */
void ux_agent_senders_deinit(struct ux_agent *a);

/*
 * Takes over a task, whose `end` is called in any case. Waits while there are too many tasks or
 * bytes, and ends earlier ones that are done. Starts a further thread if more tasks wait than there
 * are threads: to connect costs processor time. A task that is `alone`, with no other one to follow
 * soon, is sent by the calling thread if it is small, over the connection that is there. Codes: as
 * ux_agent_senders_finish().
 */
enum ux_code ux_agent_senders_add(struct ux_agent *a, struct ux_agent_task *t, bool alone,
				  struct ux_error *err) ux_must;

/* Ends tasks that are done. Waits up to wait_ms for the first one. Codes: as below. */
enum ux_code ux_agent_senders_report(struct ux_agent *a, int64_t wait_ms, struct ux_error *err)
	ux_must;

/*
 * Waits for all tasks and ends them. After an error of the connection no further task begins; tasks
 * whose upload went through end as usual. Returns the error of the first task that failed.
 * UX_ENOMEM, and the codes of ux_push_upload().
 */
enum ux_code ux_agent_senders_finish(struct ux_agent *a, struct ux_error *err) ux_must;

/* The same, but drops what no thread has begun. */
void ux_agent_senders_drop(struct ux_agent *a);

/* Are there tasks that have not ended? */
bool ux_agent_senders_have_tasks(const struct ux_agent_senders *s);

/* Ends the threads and closes their connections. All tasks must have ended. */
void ux_agent_senders_stop(struct ux_agent *a);

#endif
