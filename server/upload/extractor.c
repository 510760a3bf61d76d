/* SPDX-License-Identifier: Apache-2.0 */
/* The extractor's threads and their queue. */
#include "clock.h"
#include "extract_job.h"

#include "condition.h"
#include "event_log.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum {
	IDLE_MAX_S = 60, /* longest time between two checks of the queue */
	/*
	 * threads of each worker: one takes a job and reads files, the others wait for the disk or
	 * their turn
	 */
	THREADS = 4,
};

/*
 * Runs one child at a time, by the thread that has the turn. The thread passes the turn on when it
 * commits the result, so that the next file is read while the commit waits for the disk.
 */
struct worker {
	struct ux_extractor *x;
	bool express;         /* takes no slow jobs */
	pthread_mutex_t turn; /* guards the rest */
	bool slow_first; /* changes with each job, so that no lane has to wait for the other one */
	uint64_t seen;   /* value of ux_extractor.wakes when last read */
};

struct worker_thread {
	struct worker *worker;
	pthread_t id;
	int output; /* see struct ux_extract_env, as for the next two */
	char owner[UX_NODE_NAME + 24];
	bool doubt;
	bool has_turn;
};

struct ux_extractor {
	struct ux_store *store;
	struct ux_module_cache *cache;
	struct ux_extractor_options options;
	struct ux_extract_turns turns;
	struct ux_fork_server *forks;
	struct worker *workers;
	struct worker_thread *threads; /* THREADS for each worker */
	unsigned n_started;            /* number of started threads */
	pthread_mutex_t lock;          /* guards `wakes` and `stopping` */
	pthread_cond_t changed;
	uint64_t wakes; /* how often jobs were queued */
	bool stopping;
	int stop_fd; /* an eventfd that stops the running children */
};

static bool extractor_is_stopping(struct ux_extractor *x)
{
	pthread_mutex_lock(&x->lock);
	bool stopping = x->stopping;
	pthread_mutex_unlock(&x->lock);
	return stopping;
}

static bool thread_is_stopping(void *ctx)
{
	struct worker_thread *t = ctx;
	return extractor_is_stopping(t->worker->x);
}

static void thread_pass_turn(void *ctx)
{
	struct worker_thread *t = ctx;
	if (t->has_turn)
		pthread_mutex_unlock(&t->worker->turn);
	t->has_turn = false;
}

/* Runs one job. Called with the turn, which it may pass on. */
static bool thread_step(struct worker_thread *t)
{
	static const enum ux_job_lane lanes[] = {UX_JOB_SLOW, UX_JOB_QUICK, UX_JOB_SLOW};
	struct worker *w = t->worker;
	struct ux_extractor *x = w->x;
	const struct ux_extract_env env = {
		.store = x->store,
		.cache = x->cache,
		.options = &x->options,
		.turns = &x->turns,
		.forks = x->forks,
		.owner = t->owner,
		.doubt = &t->doubt,
		.lanes = lanes + (w->express || !w->slow_first),
		.n_lanes = w->express ? 1 : 2,
		.output = &t->output,
		.is_stopping = thread_is_stopping,
		.committing = thread_pass_turn,
		.ctx = t,
	};
	w->slow_first = !w->slow_first;
	return ux_extract_job_step(&env);
}

/*
 * Sets the name under which a thread leases: its node and its own number, so that it can recognize
 * its leftover leases.
 */
static void thread_name(struct worker_thread *t, const struct ux_extractor *x, unsigned number)
{
	snprintf(t->owner, sizeof(t->owner), "%s#%u", x->store->node, number);
}

static void thread_close_output(struct worker_thread *t)
{
	if (t->output >= 0)
		close(t->output);
}

bool ux_extractor_step(struct ux_extractor *x)
{
	struct worker w = {.x = x};
	struct worker_thread t = {.worker = &w, .output = -1};
	thread_name(&t, x, THREADS * x->options.workers);
	bool worked = thread_step(&t);
	thread_close_output(&t);
	return worked;
}

/* Returns the seconds until the next job is due. */
static int64_t extractor_idle_seconds(struct ux_extractor *x)
{
	struct ux_index *ix = x->store->index;
	ux_time due = INT64_MAX, now = ux_store_now(x->store);
	if (ix->jobs.next_due(ix, UX_JOB_EXTRACT, &due, NULL) != UX_OK || due > now + IDLE_MAX_S)
		return IDLE_MAX_S;
	return ux_max(due - now, (int64_t)1);
}

/* Waits for a job. */
static void worker_wait(struct worker *w)
{
	struct ux_extractor *x = w->x;
	int64_t seconds = extractor_idle_seconds(x);
	const int64_t until_ms = ux_clock_ms() + seconds * 1000;
	pthread_mutex_lock(&x->lock);
	while (x->wakes == w->seen && !x->stopping &&
	       ux_condition_wait(&x->changed, &x->lock, until_ms))
		;
	w->seen = x->wakes;
	pthread_mutex_unlock(&x->lock);
}

static void *thread_run(void *ctx)
{
	struct worker_thread *t = ctx;
	while (!thread_is_stopping(t)) {
		pthread_mutex_lock(&t->worker->turn);
		t->has_turn = true;
		if (!thread_is_stopping(t) && !thread_step(t))
			worker_wait(t->worker);
		thread_pass_turn(t);
	}
	thread_close_output(t);
	return NULL;
}

/* Called by the store when a job was queued. Any thread. */
static void extractor_wake(void *ctx)
{
	struct ux_extractor *x = ctx;
	pthread_mutex_lock(&x->lock);
	x->wakes++;
	pthread_cond_broadcast(&x->changed);
	pthread_mutex_unlock(&x->lock);
}

/* Queues candidates that an older parser failed to read. */
static enum ux_code extractor_resume(struct ux_extractor *x, struct ux_error *err)
{
	struct ux_index *ix = x->store->index;
	ux_time now = ux_store_now(x->store);
	uint64_t n = 0;
	UX_TRY(ix->modules.requeue(ix, now, &n, err));
	UX_TRY(ix->packages.retry(ix, UX_EXTRACTOR_PARSER, now, &n, err));
	return ix->modules.retry_failed(ix, UX_EXTRACTOR_PARSER, now, &n, err);
}

static void extractor_init_locks(struct ux_extractor *x)
{
	ux_condition_init(&x->changed);
	pthread_mutex_init(&x->lock, NULL);
	pthread_mutex_init(&x->turns.lock, NULL);
}

static enum ux_code extractor_begin(struct ux_extractor *x, struct ux_error *err)
{
	x->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (x->stop_fd < 0)
		return ux_error_os(err, errno, "cannot create an eventfd");
	x->options.limits.stop = &x->stop_fd;
	x->options.workers = ux_max(x->options.workers, 1U);
	x->workers = calloc(x->options.workers, sizeof(*x->workers));
	x->threads = calloc((size_t)x->options.workers * THREADS, sizeof(*x->threads));
	if (!x->workers || !x->threads)
		return ux_error_nomem(err);
	for (unsigned i = 0; i < x->options.workers; i++) {
		x->workers[i] =
			(struct worker){.x = x, .express = i == 0 && x->options.workers > 1};
		pthread_mutex_init(&x->workers[i].turn, NULL);
	}
	/* a program other than this one may not be a fork server */
	if (!x->options.program)
		UX_TRY(ux_fork_server_start(&x->forks, NULL, err));
	return extractor_resume(x, err);
}

enum ux_code ux_extractor_open(struct ux_extractor **ret, struct ux_store *store,
			       struct ux_module_cache *cache,
			       const struct ux_extractor_options *options, struct ux_error *err)
{
	struct ux_extractor *x = calloc(1, sizeof(*x));
	if (!x)
		return ux_error_nomem(err);
	x->store = store;
	x->cache = cache;
	x->options = *options;
	extractor_init_locks(x);
	x->stop_fd = -1;
	enum ux_code code = extractor_begin(x, err);
	if (code != UX_OK) {
		ux_extractor_stop(x);
		return code;
	}
	ux_store_on_work(store, extractor_wake, x);
	*ret = x;
	return UX_OK;
}

enum ux_code ux_extractor_start(struct ux_extractor *x, struct ux_error *err)
{
	assert(x->n_started == 0);
	for (unsigned i = 0; i < x->options.workers * THREADS; i++) {
		struct worker_thread *t = &x->threads[i];
		*t = (struct worker_thread){.worker = &x->workers[i / THREADS], .output = -1};
		thread_name(t, x, i);
		int r = pthread_create(&t->id, NULL, thread_run, t);
		if (r != 0)
			return ux_error_os(err, r, "cannot start an extraction thread");
		x->n_started++;
	}
	return UX_OK;
}

void ux_extractor_report_sandbox(const struct ux_extractor *x)
{
	struct ux_error why = UX_ERROR_INIT;
	unsigned lacks = 0;
	char reason[300];
	if (ux_sandbox_layers(x->options.program, &lacks, &why) != UX_OK) {
		ux_log_line("error", "sandbox", "works=no reason=%s",
			    ux_log_quote(ux_bytes_cstr(why.text), reason, sizeof(reason)));
		return;
	}
	ux_log_line(lacks == 0 ? "info" : "warning", "sandbox",
		    "works=yes landlock=%s namespace=%s no_capabilities=%s",
		    (lacks & UX_SANDBOX_LACKS_LANDLOCK) == 0 ? "yes" : "no",
		    (lacks & UX_SANDBOX_LACKS_NAMESPACE) == 0 ? "yes" : "no",
		    (lacks & UX_SANDBOX_LACKS_CAPABILITIES) == 0 ? "yes" : "no");
}

void ux_extractor_interrupt(struct ux_extractor *x)
{
	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	x->stopping = true;
	pthread_cond_broadcast(&x->changed);
	pthread_mutex_unlock(&x->lock);
	if (x->stop_fd >= 0)
		(void)!eventfd_write(x->stop_fd, 1);
}

void ux_extractor_stop(struct ux_extractor *x)
{
	if (!x)
		return;
	ux_store_on_work(x->store, NULL, NULL);
	ux_extractor_interrupt(x);
	for (unsigned i = 0; i < x->n_started; i++)
		pthread_join(x->threads[i].id, NULL);
	ux_fork_server_stop(x->forks);
	pthread_mutex_destroy(&x->turns.lock);
	pthread_cond_destroy(&x->changed);
	pthread_mutex_destroy(&x->lock);
	if (x->stop_fd >= 0)
		close(x->stop_fd);
	for (unsigned i = 0; x->workers && x->threads && i < x->options.workers; i++)
		pthread_mutex_destroy(&x->workers[i].turn);
	free(x->threads);
	free(x->workers);
	free(x);
}
