/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of work, fair between groups of clients, and in a group between clients. */
#include "work_queue.h"

#include "clock.h"

#include <pthread.h>
#include <stdatomic.h>

/*
 * A party with jobs: all clients together, a group of clients, or a client. It is in the ring of
 * its parent if it may start a job: some of its jobs wait, and fewer than its share run.
 */
struct work_party {
	uint64_t number;
	unsigned share, waiting_max;
	struct work_party *parent;            /* NULL: all clients */
	struct work_party *next, **back;      /* parties of the same parent */
	struct work_party *later;             /* the ring of the parent */
	struct work_party *parts;             /* groups, or clients of a group */
	struct work_party *turn, **turn_last; /* ring of parts, from the one whose turn is next */
	struct ux_work_job *first, **last;    /* jobs of a client that wait */
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
	struct work_party all;
	bool stopping;
	unsigned n_threads;
	unsigned n_watched; /* threads that were started */
	struct work_thread threads[];
};

/* --- parties, with the lock held -------------------------------------------------------------- */

static void work_party_init(struct work_party *p, uint64_t number, unsigned share, unsigned waiting)
{
	*p = (struct work_party){.number = number, .share = share, .waiting_max = waiting};
	p->turn_last = &p->turn;
	p->last = &p->first;
}

/*
 * Finds a part by a search among the parts that have jobs now; there are at most as many as
 * connections.
 */
static struct work_party *work_party_find(const struct work_party *of, uint64_t number)
{
	struct work_party *p = of->parts;
	while (p && p->number != number)
		p = p->next;
	return p;
}

/* Returns the part with this number, which may be new; NULL: memory is short. */
static struct work_party *work_party_get(struct work_party *of, uint64_t number, unsigned share,
					 unsigned waiting)
{
	struct work_party *p = work_party_find(of, number);
	if (p)
		return p;
	p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	work_party_init(p, number, share, waiting);
	p->parent = of;
	p->next = of->parts;
	p->back = &of->parts;
	if (p->next)
		p->next->back = &p->next;
	of->parts = p;
	return p;
}

/* Frees a party without jobs, and its parents likewise. */
static void work_party_drop_idle(struct work_party *p)
{
	while (p->parent && p->waiting == 0 && p->running == 0 && !p->parts) {
		struct work_party *parent = p->parent;
		assert(!p->in_ring);
		*p->back = p->next;
		if (p->next)
			p->next->back = p->back;
		free(p);
		p = parent;
	}
}

/* Puts a client that may start a job at the end of its ring, and its group likewise. */
static void work_queue_line_up(struct ux_work_queue *q, struct work_party *p)
{
	for (; p->parent; p = p->parent) {
		struct work_party *of = p->parent;
		if (p->in_ring || (!p->first && !p->turn) || p->running >= p->share)
			continue;
		p->in_ring = true;
		p->later = NULL;
		*of->turn_last = p;
		of->turn_last = &p->later;
		if (!of->parent)
			pthread_cond_signal(&q->changed);
	}
}

/*
 * Takes the part with the fewest running jobs out of the ring; of equal ones the first. So parts
 * with work hold equally many threads, however long their jobs take.
 */
static struct work_party *work_party_choose(struct work_party *of)
{
	struct work_party **best = &of->turn;
	for (struct work_party **p = &of->turn; *p; p = &(*p)->later)
		if ((*p)->running < (*best)->running)
			best = p;
	struct work_party *chosen = *best;
	assert(chosen && chosen->in_ring && chosen->waiting > 0);
	*best = chosen->later;
	if (!chosen->later)
		of->turn_last = best;
	chosen->in_ring = false;
	return chosen;
}

/* Takes the next job of a client. */
static struct ux_work_job *work_queue_take(struct ux_work_queue *q, struct work_party **ret)
{
	struct work_party *c = work_party_choose(work_party_choose(&q->all));
	struct ux_work_job *job = c->first;
	c->first = job->next;
	if (!c->first)
		c->last = &c->first;
	for (struct work_party *p = c; p; p = p->parent) {
		p->waiting--;
		assert(p->running < p->share);
		p->running++;
	}
	work_queue_line_up(q, c);
	*ret = c;
	return job;
}

static void work_queue_ended(struct ux_work_queue *q, struct work_party *c)
{
	for (struct work_party *p = c; p; p = p->parent) {
		assert(p->running > 0);
		p->running--;
	}
	work_queue_line_up(q, c);
	work_party_drop_idle(c);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *work_queue_thread(void *ctx)
{
	struct work_thread *self = ctx;
	struct ux_work_queue *q = self->queue;
	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!q->all.turn && !q->stopping)
			pthread_cond_wait(&q->changed, &q->lock);
		if (q->stopping)
			break;
		struct work_party *c = NULL;
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
	assert(limits->threads > 0 && limits->share > 0 && limits->group_share > 0);
	struct ux_work_queue *q = calloc(1, sizeof(*q) + limits->threads * sizeof(q->threads[0]));
	if (!q)
		return ux_error_nomem(err);
	q->limits = *limits;
	work_party_init(&q->all, 0, limits->threads, limits->all);
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	enum ux_code code = work_queue_start(q, err);
	if (code == UX_OK)
		*ret = q;
	else
		ux_work_queue_close(q);
	return code;
}

/* Finds or makes the client of a job. NULL: memory is short. */
static struct work_party *work_queue_client(struct ux_work_queue *q, const struct ux_work_job *job)
{
	const struct ux_work_limits *l = &q->limits;
	struct work_party *group =
		work_party_get(&q->all, job->group, l->group_share, l->group_waiting);
	if (!group)
		return NULL;
	struct work_party *c = work_party_get(group, job->client, l->share, l->waiting);
	if (!c)
		work_party_drop_idle(group);
	return c;
}

/* Adds a job of a client, if the queue has room for it. */
static enum ux_work_added work_client_add_job(struct ux_work_queue *q, struct work_party *c,
					      struct ux_work_job *job)
{
	for (struct work_party *p = c; p; p = p->parent)
		if (p->waiting >= p->waiting_max)
			return p->parent ? UX_WORK_CLIENT_FULL : UX_WORK_FULL;
	job->next = NULL;
	*c->last = job;
	c->last = &job->next;
	for (struct work_party *p = c; p; p = p->parent)
		p->waiting++;
	work_queue_line_up(q, c);
	return UX_WORK_ADDED;
}

enum ux_work_added ux_work_queue_add(struct ux_work_queue *q, struct ux_work_job *job)
{
	assert(job->run);
	enum ux_work_added added = UX_WORK_FULL;
	pthread_mutex_lock(&q->lock);
	struct work_party *c = q->stopping ? NULL : work_queue_client(q, job);
	if (c) {
		added = work_client_add_job(q, c, job);
		work_party_drop_idle(c);
	}
	pthread_mutex_unlock(&q->lock);
	return added;
}

struct ux_work_counts ux_work_queue_count(struct ux_work_queue *q)
{
	pthread_mutex_lock(&q->lock);
	struct ux_work_counts counts = {q->all.waiting, q->all.running};
	pthread_mutex_unlock(&q->lock);
	return counts;
}

static void work_party_empty(struct work_party *p)
{
	p->waiting = 0;
	p->in_ring = false;
	p->turn = NULL;
	p->turn_last = &p->turn;
	p->first = NULL;
	p->last = &p->first;
}

/* Removes all waiting jobs, as a list. */
static struct ux_work_job *work_queue_empty(struct ux_work_queue *q)
{
	struct ux_work_job *all = NULL;
	for (struct work_party *g = q->all.parts, *next_group = NULL; g; g = next_group) {
		next_group = g->next;
		work_party_empty(g);
		for (struct work_party *c = g->parts, *next = NULL; c; c = next) {
			next = c->next;
			*c->last = all;
			all = c->first;
			work_party_empty(c);
			work_party_drop_idle(c);
		}
	}
	work_party_empty(&q->all);
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
