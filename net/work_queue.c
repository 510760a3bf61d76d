/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of work, fair between clients. */
#include "work_queue.h"

#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * A client with jobs. It is in the ring if it may start one: some of its jobs wait, and fewer than
 * its share run.
 */
struct ux_work_client {
	uint64_t number;
	struct ux_work_client *next, **back; /* all clients */
	struct ux_work_client *later;        /* the ring */
	struct ux_work_job *first, **last;   /* jobs that wait */
	unsigned waiting, running;
	bool in_ring;
};

struct work_thread {
	struct ux_work_queue *queue;
	pthread_t thread;
	_Atomic int64_t since_ms; /* start of the job that it runs; 0: none. A hint: relaxed */
};

struct ux_work_queue {
	struct ux_work_limits limits;
	pthread_mutex_t lock; /* guards the fields below, up to threads */
	pthread_cond_t changed;
	struct ux_work_client *clients;
	struct ux_work_client *turn, **turn_last; /* the ring, from the client whose turn is next */
	struct ux_work_counts counts;
	bool stopping;
	unsigned n_threads;
	unsigned n_watched; /* threads that were started */
	struct work_thread threads[];
};

/* --- clients, with the lock held -------------------------------------------------------------- */

/*
 * Finds a client by a search among the clients that have jobs now; there are at most as many as
 * connections.
 */
static struct ux_work_client *work_client_find(struct ux_work_queue *q, uint64_t number)
{
	struct ux_work_client *c = q->clients;
	while (c && c->number != number)
		c = c->next;
	return c;
}

static struct ux_work_client *work_client_add(struct ux_work_queue *q, uint64_t number)
{
	struct ux_work_client *c = calloc(1, sizeof(*c));
	if (!c)
		return NULL;
	c->number = number;
	c->last = &c->first;
	c->next = q->clients;
	c->back = &q->clients;
	if (c->next)
		c->next->back = &c->next;
	q->clients = c;
	return c;
}

static void work_client_drop_idle(struct ux_work_client *c)
{
	if (c->waiting > 0 || c->running > 0)
		return;
	*c->back = c->next;
	if (c->next)
		c->next->back = c->back;
	free(c);
}

/* Puts the client at the end of the ring if it may start a job. */
static void work_client_line_up(struct ux_work_queue *q, struct ux_work_client *c)
{
	if (c->in_ring || c->waiting == 0 || c->running >= q->limits.share)
		return;
	c->in_ring = true;
	c->later = NULL;
	*q->turn_last = c;
	q->turn_last = &c->later;
	pthread_cond_signal(&q->changed);
}

/* Takes the next job of the next client. */
static struct ux_work_job *work_queue_take(struct ux_work_queue *q, struct ux_work_client **ret)
{
	assert(q->turn && q->turn->in_ring && q->turn->waiting > 0);
	struct ux_work_client *c = q->turn;
	struct ux_work_job *job = c->first;
	q->turn = c->later;
	if (!q->turn)
		q->turn_last = &q->turn;
	c->in_ring = false;
	c->first = job->next;
	if (!c->first)
		c->last = &c->first;
	c->waiting--;
	assert(c->running < q->limits.share);
	c->running++;
	q->counts.waiting--;
	q->counts.running++;
	work_client_line_up(q, c);
	*ret = c;
	return job;
}

static void work_queue_ended(struct ux_work_queue *q, struct ux_work_client *c)
{
	assert(c->running > 0 && q->counts.running > 0);
	c->running--;
	q->counts.running--;
	work_client_line_up(q, c);
	work_client_drop_idle(c);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *work_queue_thread(void *ctx)
{
	struct work_thread *self = ctx;
	struct ux_work_queue *q = self->queue;
	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!q->turn && !q->stopping)
			pthread_cond_wait(&q->changed, &q->lock);
		if (q->stopping)
			break;
		struct ux_work_client *c = NULL;
		struct ux_work_job *job = work_queue_take(q, &c);
		pthread_mutex_unlock(&q->lock);
		atomic_store_explicit(&self->since_ms, ux_clock_ms(), memory_order_relaxed);
		job->run(job, /* canceled= */ false);
		atomic_store_explicit(&self->since_ms, 0, memory_order_relaxed);
		pthread_mutex_lock(&q->lock);
		work_queue_ended(q, c);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static enum ux_code work_queue_start(struct ux_work_queue *q, struct ux_error *err)
{
	assert(q->n_threads == 0);
	int r = 0;
	while (q->n_threads < q->limits.threads && r == 0) {
		struct work_thread *t = &q->threads[q->n_threads];
		t->queue = q;
		r = pthread_create(&t->thread, NULL, work_queue_thread, t);
		q->n_threads += r == 0;
	}
	q->n_watched = q->n_threads;
	return r == 0 ? UX_OK : ux_error_os(err, r, "cannot start a thread");
}

enum ux_code ux_work_queue_open(struct ux_work_queue **ret, const struct ux_work_limits *limits,
				struct ux_error *err)
{
	assert(limits->threads > 0 && limits->share > 0);
	struct ux_work_queue *q = calloc(1, sizeof(*q) + limits->threads * sizeof(q->threads[0]));
	if (!q)
		return ux_error_nomem(err);
	q->limits = *limits;
	q->turn_last = &q->turn;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	enum ux_code code = work_queue_start(q, err);
	if (code == UX_OK)
		*ret = q;
	else
		ux_work_queue_close(q);
	return code;
}

enum ux_work_added ux_work_queue_add(struct ux_work_queue *q, struct ux_work_job *job)
{
	assert(job->run);
	enum ux_work_added added = UX_WORK_FULL;
	pthread_mutex_lock(&q->lock);
	struct ux_work_client *c = work_client_find(q, job->client);
	if (c && c->waiting >= q->limits.waiting) {
		added = UX_WORK_CLIENT_FULL;
	} else if (!q->stopping && q->counts.waiting < q->limits.all &&
		   (c || (c = work_client_add(q, job->client)))) {
		job->next = NULL;
		*c->last = job;
		c->last = &job->next;
		c->waiting++;
		q->counts.waiting++;
		work_client_line_up(q, c);
		added = UX_WORK_ADDED;
	}
	pthread_mutex_unlock(&q->lock);
	return added;
}

struct ux_work_counts ux_work_queue_count(struct ux_work_queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct ux_work_counts counts = q->counts;
	pthread_mutex_unlock(&q->lock);
	return counts;
}

/* Removes all waiting jobs, as a list. */
static struct ux_work_job *work_queue_empty(struct ux_work_queue *q)
{
	struct ux_work_job *all = NULL;
	for (struct ux_work_client *c = q->clients, *next = NULL; c; c = next) {
		next = c->next;
		*c->last = all;
		all = c->first;
		c->first = NULL;
		c->last = &c->first;
		c->waiting = 0;
		c->in_ring = false;
		work_client_drop_idle(c);
	}
	q->turn = NULL;
	q->turn_last = &q->turn;
	q->counts.waiting = 0;
	return all;
}

void ux_work_queue_stop(struct ux_work_queue *q)
{
	if (!q)
		return;
	pthread_mutex_lock(&q->lock);
	q->stopping = true;
	struct ux_work_job *job = work_queue_empty(q), *next = NULL;
	unsigned n = q->n_threads;
	q->n_threads = 0;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	for (; job; job = next) {
		next = job->next;
		job->run(job, /* canceled= */ true);
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(q->threads[i].thread, NULL);
}

int64_t ux_work_queue_busy_ms(const struct ux_work_queue *q)
{
	int64_t now = ux_clock_ms(), longest = 0;
	for (unsigned i = 0; i < q->n_watched; i++) {
		int64_t since = atomic_load_explicit(&q->threads[i].since_ms, memory_order_relaxed);
		if (since > 0)
			longest = ux_max(longest, now - since);
	}
	return longest;
}

void ux_work_queue_close(struct ux_work_queue *q)
{
	if (!q)
		return;
	ux_work_queue_stop(q);
	pthread_cond_destroy(&q->changed);
	pthread_mutex_destroy(&q->lock);
	free(q);
}
