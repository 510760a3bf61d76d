/* SPDX-License-Identifier: Apache-2.0 */
/* Running numbered jobs on several threads. */
#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct run {
	ux_pool_fn *fn;
	void *ctx;
	size_t count;
	atomic_size_t next;   /* relaxed: numbers only have to be unique; joining the threads orders
				 their results */
	atomic_bool stop;     /* relaxed: stopping late only costs time */
	pthread_mutex_t lock; /* guards the three fields below */
	enum ux_code code;
	size_t failed_job;
	struct ux_error error;
};

struct worker {
	struct run *run;
	unsigned number;
	pthread_t thread;
};

unsigned ux_pool_cpus(void)
{
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	int n = CPU_COUNT(&set);
	return n < 1 ? 1 : ux_min((unsigned)n, (unsigned)UX_POOL_MAX);
}

static void pool_fail(struct run *run, size_t job, enum ux_code code, const struct ux_error *err)
{
	assert(code != UX_OK);
	pthread_mutex_lock(&run->lock);
	if (run->code == UX_OK || job < run->failed_job) {
		run->code = code;
		run->failed_job = job;
		run->error = *err;
	}
	pthread_mutex_unlock(&run->lock);
	atomic_store_explicit(&run->stop, true, memory_order_relaxed);
}

static void *pool_work(void *arg)
{
	struct worker *w = arg;
	struct run *run = w->run;
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed)) {
		size_t job = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
		if (job >= run->count)
			break;
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = run->fn(run->ctx, job, w->number, &err);
		if (code != UX_OK)
			pool_fail(run, job, code, &err);
	}
	return NULL;
}

enum ux_code ux_pool_run(unsigned threads, size_t count, ux_pool_fn *fn, void *ctx,
			 struct ux_error *err)
{
	struct run run = {.fn = fn, .ctx = ctx, .count = count};
	struct worker workers[UX_POOL_MAX];
	threads = ux_max(1u, ux_min(threads, (unsigned)UX_POOL_MAX));
	threads = (unsigned)ux_min((size_t)threads, ux_max(count, (size_t)1));
	pthread_mutex_init(&run.lock, NULL);
	unsigned started = 0;
	for (unsigned i = 1; i < threads; i++) {
		workers[i] = (struct worker){.run = &run, .number = i};
		if (pthread_create(&workers[i].thread, NULL, pool_work, &workers[i]) != 0)
			break; /* continue with fewer threads */
		started = i;
	}
	workers[0] = (struct worker){.run = &run, .number = 0};
	assert(started < threads);
	pool_work(&workers[0]);
	for (unsigned i = 1; i <= started; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_mutex_destroy(&run.lock);
	if (run.code != UX_OK && err && err->code == UX_OK)
		*err = run.error;
	return run.code;
}
