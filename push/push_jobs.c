/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes the modules of a push on several threads. Each thread extracts and sends one module at
 * a time over its own connection. Results are reported in the order of the modules. There are more
 * threads than processors, because most threads wait for the server; few extract at the same time.
 */
#include "push_work.h"

#include "kept_results.h"
#include "pool.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	/* An extraction takes up to about twice the size of its files, and at least a minimum. */
	WEIGHT_FACTOR = 2,
	WEIGHT_MIN = 16 << 20,
	MEMORY_SHARE = 2, /* without --memory: 1/2 of the machine's memory */
	JOBS_MAX = 64,
	/* Modules that are sent while others are extracted: a server that is 100 ms away answers
	 * the three requests of a small module in 0.3 s. */
	SENDERS = 64,
	/* With --memory: bytes for everything except extractions, and the minimum for one
	 * extraction. If the limit is too small for that, fewer jobs run at the same time. */
	REST_MEMORY = 16 << 20,
	SHARE_MIN = 24 << 20,
};

struct job {
	struct ux_kept_results results;
	uint64_t weight; /* bytes of memory that the job is expected to take */
	bool done;
};

struct job_pool;

/* A thread's own view of the push. */
struct job_worker {
	struct ux_push_work work;
	struct ux_push_options options;
	struct ux_push_summary summary; /* not used: the results are counted in their order */
	struct job_pool *pool;
	struct job *job;
};

struct job_pool {
	struct ux_push_work *p;
	const struct ux_push_answer *answers;
	struct job *jobs;
	struct job_worker *workers;
	unsigned n_workers;
	unsigned n_extractors; /* number of threads that extract at the same time */
	size_t n;
	size_t first;         /* index of this round's first job */
	pthread_mutex_t lock; /* guards the fields below, the jobs' results, and reporting */
	pthread_cond_t freed; /* signaled when memory or a processor was given back */
	unsigned extracting;
	uint64_t memory, used; /* bytes, of extractions */
	uint64_t share;        /* bytes of memory for one extraction; 0: no limit */
	size_t next;           /* index of the job that is reported next */
	bool no_memory;
};

static void job_pool_deinit(struct job_pool *s)
{
	for (size_t i = 0; s->jobs && i < s->n; i++)
		ux_kept_results_free(&s->jobs[i].results);
	for (unsigned i = 0; s->workers && i < s->n_workers; i++)
		ux_push_client_close(&s->workers[i].work.client);
	free(s->jobs);
	free(s->workers);
	pthread_cond_destroy(&s->freed);
	pthread_mutex_destroy(&s->lock);
}

static pthread_mutex_t *job_pool_lock(struct job_pool *s)
{
	(void)pthread_mutex_lock(&s->lock);
	return &s->lock;
}

static void job_pool_unlock(pthread_mutex_t **lock)
{
	(void)pthread_mutex_unlock(*lock);
}

/* Called by a worker's thread: keeps the result until its module is reported. */
static void job_keep_result(void *ctx, const struct ux_push_result *r)
{
	struct job_worker *w = ctx;
	if (ux_kept_results_add(&w->job->results, r))
		return;
	ux_cleanup(job_pool_unlock) pthread_mutex_t *lock = job_pool_lock(w->pool);
	(void)lock;
	w->pool->no_memory = true;
}

static void job_on_reading(void *ctx, const char *path)
{
	struct job_worker *w = ctx;
	ux_cleanup(job_pool_unlock) pthread_mutex_t *lock = job_pool_lock(w->pool);
	(void)lock;
	w->pool->p->o->reading(w->pool->p->o->ctx, path);
}

static void job_on_retrying(void *ctx, const struct ux_error *why)
{
	struct job_worker *w = ctx;
	ux_cleanup(job_pool_unlock) pthread_mutex_t *lock = job_pool_lock(w->pool);
	(void)lock;
	w->pool->p->o->retrying(w->pool->p->o->ctx, why);
}

/* Called with the lock held. */
static void job_show_progress(struct ux_push_work *p)
{
	if (p->o->progress)
		p->o->progress(p->o->ctx, &p->progress);
}

static void job_on_sent(void *ctx, uint64_t bytes)
{
	struct job_worker *w = ctx;
	ux_cleanup(job_pool_unlock) pthread_mutex_t *lock = job_pool_lock(w->pool);
	(void)lock;
	w->pool->p->progress.bytes += bytes;
	job_show_progress(w->pool->p);
}

static void job_end(struct job_pool *s, struct job *job)
{
	ux_cleanup(job_pool_unlock) pthread_mutex_t *lock = job_pool_lock(s);
	(void)lock;
	assert(!job->done);
	job->done = true;
	s->p->progress.files++;
	s->p->progress.work += job->weight;
	for (; s->next < s->n && s->jobs[s->next].done; s->next++)
		ux_kept_results_report(&s->jobs[s->next].results, s->p);
	job_show_progress(s->p);
}

/* Returns the maximum memory of the job. With a limit that is its share, because the other data go
 * to disk. */
static uint64_t job_need(const struct job_pool *s, const struct job *job)
{
	return s->share > 0 ? ux_min(job->weight, s->share) : job->weight;
}

/*
 * Waits until a processor and memory are free for an extraction, or gives them back after it. An
 * extraction that needs more than all memory runs alone. Sending needs neither, because the symbols
 * are in a file.
 */
static void job_on_extracts(void *ctx, bool begins)
{
	struct job_worker *w = ctx;
	struct job_pool *s = w->pool;
	const uint64_t need = job_need(s, w->job);
	ux_cleanup(job_pool_unlock) pthread_mutex_t *lock = job_pool_lock(s);
	while (begins &&
	       (s->extracting == s->n_extractors || (s->used > 0 && s->used + need > s->memory)))
		(void)pthread_cond_wait(&s->freed, lock);
	if (begins) {
		s->extracting++;
		s->used += need;
		return;
	}
	assert(s->extracting > 0 && s->used >= need);
	s->extracting--;
	s->used -= need;
	(void)pthread_cond_broadcast(&s->freed);
}

static enum ux_code job_run(void *ctx, size_t number, unsigned worker, struct ux_error *err)
{
	struct job_pool *s = ctx;
	struct job_worker *w = &s->workers[worker];
	struct job *job = &s->jobs[s->first + number];
	w->job = job;
	if (!w->work.client.http)
		UX_TRY(ux_push_client_share(&w->work.client, &w->options, &s->p->client, err));
	w->work.client.sent = job_on_sent;
	w->work.client.sent_ctx = w;
	UX_TRY(ux_push_module_send(&w->work, &s->p->modules.data[s->first + number],
				   &s->answers[s->first + number], err));
	job_end(s, job);
	return s->no_memory ? ux_error_nomem(err) : UX_OK;
}

static uint64_t job_file_size(const char *path, const struct ux_sandbox_part *part)
{
	struct stat st;
	if (part->size > 0)
		return part->size;
	return path && stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void job_weigh(struct job *job, const struct ux_push_module *m,
		      const struct ux_push_answer *answer)
{
	bool wanted = answer->verdict == UX_PUSH_WANTED;
	uint64_t size = job_file_size(m->path, &m->part) + job_file_size(m->debug, &m->debug_part);
	job->weight = wanted ? size * WEIGHT_FACTOR + WEIGHT_MIN : WEIGHT_MIN;
}

/* Returns the memory that all jobs may take together. */
static uint64_t job_memory(const struct ux_push_options *o)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	return o->memory != 0 ? o->memory : (uint64_t)pages * (uint64_t)size / MEMORY_SHARE;
}

/* Divides the memory limit among as many jobs as can work with their share. */
static void job_pool_share(struct job_pool *s, const struct ux_push_options *o)
{
	if (o->memory == 0)
		return;
	s->memory = o->memory > REST_MEMORY ? o->memory - REST_MEMORY : 1;
	uint64_t max = ux_max(s->memory / SHARE_MIN, UINT64_C(1));
	s->n_extractors = (unsigned)ux_min((uint64_t)s->n_extractors, max);
	s->share = s->memory / s->n_extractors;
}

static enum ux_code job_pool_init(struct job_pool *s, struct ux_error *err)
{
	const struct ux_push_options *o = s->p->o;
	size_t n = s->p->modules.size;
	unsigned cpus = ux_pool_cpus(), jobs = o->jobs != 0 ? o->jobs : cpus;
	s->n_extractors = (unsigned)ux_min((size_t)ux_min(jobs, (unsigned)JOBS_MAX), n);
	s->n_workers = s->n_extractors;
	if (o->jobs == 0 && !o->sources) /* a bundle of sources is in memory while it is sent */
		s->n_workers = (unsigned)ux_min(n, (size_t)SENDERS);
	s->memory = job_memory(o);
	job_pool_share(s, o);
	s->jobs = calloc(n, sizeof(*s->jobs));
	s->workers = calloc(s->n_workers, sizeof(*s->workers));
	if (!s->jobs || !s->workers)
		return ux_error_nomem(err);
	s->n = n;
	for (size_t i = 0; i < n; i++) {
		job_weigh(&s->jobs[i], &s->p->modules.data[i], &s->answers[i]);
		s->p->progress.work_total += s->jobs[i].weight;
	}
	for (unsigned i = 0; i < s->n_workers; i++) {
		struct job_worker *w = &s->workers[i];
		w->pool = s;
		w->options = *o;
		w->options.result = job_keep_result;
		w->options.reading = o->reading ? job_on_reading : NULL;
		w->options.retrying = o->retrying ? job_on_retrying : NULL;
		w->options.progress = NULL;
		w->options.ctx = w;
		w->options.threads = ux_max(cpus / s->n_extractors, 1U);
		w->options.memory = s->share;
		w->work = *s->p;
		w->work.o = &w->options;
		w->work.summary = &w->summary;
		w->work.client = (struct ux_push_client){0};
		w->work.extracts = job_on_extracts;
		w->work.extracts_ctx = w;
	}
	return UX_OK;
}

/* Reports the results in order, and the given error for modules without a result. */
static void job_report_rest(struct job_pool *s, const struct ux_error *err)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	const char *reason = ux_error_format(err, text, sizeof(text));
	for (size_t i = s->next; i < s->n; i++) {
		const struct ux_push_module *m = &s->p->modules.data[i];
		ux_kept_results_report(&s->jobs[i].results, s->p);
		if (!s->jobs[i].done)
			ux_push_report(s->p, &(struct ux_push_result){.path = m->path,
								      .gpu = m->gpu,
								      .id = &m->ids.ids[0],
								      .status = UX_PUSH_DONE_FAILED,
								      .reason = reason,
								      .unreached = true});
	}
}

enum ux_code ux_push_jobs_run(struct ux_push_work *p, const struct ux_push_answer *answers,
			      size_t front, struct ux_error *err)
{
	ux_cleanup(job_pool_deinit) struct job_pool s = {.p = p,
							 .answers = answers,
							 .lock = PTHREAD_MUTEX_INITIALIZER,
							 .freed = PTHREAD_COND_INITIALIZER};
	UX_TRY(job_pool_init(&s, err));
	enum ux_code code = ux_pool_run(1, front, job_run, &s, err);
	s.first = front;
	if (code == UX_OK)
		code = ux_pool_run(s.n_workers, s.n - front, job_run, &s, err);
	if (code != UX_OK)
		job_report_rest(&s, err);
	return code;
}
