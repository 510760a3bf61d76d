/* SPDX-License-Identifier: Apache-2.0 */
/* Fills frame caches of modules in the background. */
#include "frame_filler.h"

#include "clock.h"
#include "open_module.h"
#include "work_queue.h"

#include <pthread.h>

enum {
	WAITING_MAX = 64, /* modules that wait at most */
};

struct ux_frame_filler {
	atomic_bool stop;     /* no memory order is needed: it is polled */
	pthread_mutex_t lock; /* guards the fields below */
	pthread_cond_t idle;
	struct ux_work_queue *queue; /* NULL until something is added */
	size_t pending;              /* jobs that wait or run */
	struct ux_frame_filler_counts counts;
};

/* A cache that is to be filled. */
struct fill_job {
	struct ux_work_job job; /* the first member */
	struct ux_frame_filler *filler;
	struct ux_open_module *module;
	enum ux_demangle_mode mode;
};

static void fill_job_run(struct ux_work_job *job, bool canceled)
{
	struct fill_job *j = (struct fill_job *)job;
	struct ux_frame_filler *f = j->filler;
	const int64_t began = ux_clock_read(CLOCK_THREAD_CPUTIME_ID);
	bool filled = !canceled && ux_open_module_fill(j->module, j->mode, &f->stop);
	const int64_t took = ux_clock_read(CLOCK_THREAD_CPUTIME_ID) - began;
	ux_open_module_unref(j->module);
	free(j);
	pthread_mutex_lock(&f->lock);
	f->counts.filled += filled;
	f->counts.refused += !filled;
	f->counts.cpu_ns += (uint64_t)took;
	assert(f->pending > 0);
	if (--f->pending == 0)
		pthread_cond_broadcast(&f->idle);
	pthread_mutex_unlock(&f->lock);
}

enum ux_code ux_frame_filler_create(struct ux_frame_filler **ret, struct ux_error *err)
{
	struct ux_frame_filler *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	atomic_init(&f->stop, false);
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->idle, NULL);
	*ret = f;
	return UX_OK;
}

void ux_frame_filler_destroy(struct ux_frame_filler *f)
{
	if (!f)
		return;
	atomic_store_explicit(&f->stop, true, memory_order_relaxed);
	ux_work_queue_close(f->queue);
	assert(f->pending == 0);
	pthread_cond_destroy(&f->idle);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Returns the queue, and makes it for the first job; the lock is held. NULL: memory is short. */
static struct ux_work_queue *frame_filler_queue(struct ux_frame_filler *f)
{
	const struct ux_work_limits limits = {.threads = 1,
					      .group_share = 1,
					      .share = 1,
					      .group_waiting = WAITING_MAX,
					      .waiting = WAITING_MAX,
					      .all = WAITING_MAX};
	if (!f->queue && ux_work_queue_open(&f->queue, &limits, NULL) != UX_OK)
		return NULL;
	return f->queue;
}

bool ux_frame_filler_add(struct ux_frame_filler *f, struct ux_open_module *m,
			 enum ux_demangle_mode mode)
{
	struct fill_job *job = calloc(1, sizeof(*job));
	if (!job)
		return false;
	*job = (struct fill_job){.job.run = fill_job_run, .filler = f, .module = m, .mode = mode};
	ux_open_module_ref(m);
	pthread_mutex_lock(&f->lock);
	struct ux_work_queue *queue = frame_filler_queue(f);
	bool added = queue && ux_work_queue_add(queue, &job->job) == UX_WORK_ADDED;
	f->pending += added;
	pthread_mutex_unlock(&f->lock);
	if (!added) {
		ux_open_module_unref(m);
		free(job);
	}
	return added;
}

void ux_frame_filler_wait(struct ux_frame_filler *f)
{
	pthread_mutex_lock(&f->lock);
	while (f->pending > 0)
		pthread_cond_wait(&f->idle, &f->lock);
	pthread_mutex_unlock(&f->lock);
}

struct ux_frame_filler_counts ux_frame_filler_count(struct ux_frame_filler *f)
{
	pthread_mutex_lock(&f->lock);
	struct ux_frame_filler_counts counts = f->counts;
	pthread_mutex_unlock(&f->lock);
	return counts;
}
