/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a worker: each reads one package at a time, while others are being sent. */
#include "crawl_work.h"
#include "pool.h"
#include "push_archive.h"

#include <pthread.h>

enum {
	TIMEOUT_MS = 1800000,
	/*
	 * Connections that send symbols, for each package that is read: the server waits for its
	 * disk at the end of each upload, but only once for uploads that end together.
	 */
	SENDERS = 4,
	SENDERS_MAX = 32,
	/* A package whose extraction takes long is received slowly, and may break off late. */
	FETCH_MS = 6 * 3600 * 1000,
};

#define MEMORY (UINT64_C(160) << 20)

struct crawl_work {
	const struct ux_crawl_work_options *o;
	struct ux_push_options push; /* options shared by all threads */
	struct ux_crawl_work_summary *ret;
	struct ux_polite *mirrors;
	struct ux_package_uploads *uploads;
	struct ux_extraction_memory *memory; /* memory shared by all threads */
	struct ux_crawl_leases *jobs;        /* NULL: do not take packages from the server */
	pthread_mutex_t lock;   /* protects the fields below, *ret, and the caller's function */
	size_t next;            /* index in the list */
	struct ux_error failed; /* why the server cannot be used; code UX_OK: it can */
};

/* A thread's connection and children. */
struct crawl_thread {
	struct crawl_work *c;
	struct ux_push_work work;
	struct ux_push_reused reused;
	struct ux_push_summary none; /* counts that belong to no package */
};

static void crawl_on_module(void *ctx, const struct ux_push_result *result)
{
	(void)ctx;
	(void)result;
}

static void crawl_thread_deinit(struct crawl_thread *t)
{
	ux_push_client_close(&t->work.client);
	ux_push_archives_close(&t->work);
	ux_push_reused_close(&t->reused);
}

static struct ux_push_options crawl_push_options(const struct ux_crawl_work_options *o)
{
	return (struct ux_push_options){
		.url = o->url,
		.token = o->token,
		.cacert = o->cacert,
		.proxy = o->proxy,
		.force = o->force,
		.no_gpu =
			true, /* GPU code of distributions is not worth another look at each file */
		.names_at_least = true,
		.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS,
		.retries = o->retries,
		.memory = o->memory > 0 ? o->memory : MEMORY,
		.threads = 1,
		.result = crawl_on_module,
	};
}

static enum ux_code crawl_thread_init(struct crawl_thread *t, struct ux_error *err)
{
	const struct ux_push_options *push = &t->c->push;
	t->work = (struct ux_push_work){
		.o = push, .summary = &t->none, .scratch = -1, .reused = &t->reused};
	UX_TRY(ux_push_client_open(&t->work.client, push, err));
	UX_TRY(ux_push_reused_open(&t->reused, err));
	return ux_archive_begin(&t->work, err);
}

static bool crawl_is_cancelled(const struct crawl_work *c)
{
	return c->o->cancelled && c->o->cancelled(c->o->ctx);
}

static void crawl_count(struct crawl_work *c, const struct ux_package *package,
			const struct ux_crawl_result *result)
{
	struct ux_crawl_work_summary *s = c->ret;
	pthread_mutex_lock(&c->lock);
	s->outcomes[result->outcome]++;
	for (int i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		s->modules.counts[i] += result->modules.counts[i];
	s->bad += result->bad;
	for (int i = 0; i < UX_PASSED_COUNT; i++)
		s->passed[i] += result->passed[i];
	s->bytes_fetched += result->bytes_fetched;
	s->bytes_unpacked += result->bytes_unpacked;
	s->bytes_stored += result->bytes_stored;
	if (c->o->ended)
		c->o->ended(c->o->ctx, package, result);
	pthread_mutex_unlock(&c->lock);
}

/* Notes that the server cannot be used: further packages would be pointless. Keeps the first
 * reason. */
static void crawl_server_failed(struct crawl_work *c, const struct ux_error *why)
{
	pthread_mutex_lock(&c->lock);
	if (c->failed.code == UX_OK)
		c->failed = *why;
	pthread_mutex_unlock(&c->lock);
}

/* Counts a package that is finished, and ends its job. */
static void crawl_package_ended(void *ctx, struct ux_package_delivery *d)
{
	struct crawl_work *c = ctx;
	const struct ux_crawl_result *result = &d->symbols.result;
	struct ux_error why = UX_ERROR_INIT;
	crawl_count(c, d->package, result);
	if (result->outcome == UX_CRAWL_LATER && strcmp(result->cause, "server") == 0)
		crawl_server_failed(c, &result->why);
	if (d->job.doc && ux_crawl_leases_end(c->jobs, &d->job, result, &why) != UX_OK)
		crawl_server_failed(c, &why);
	ux_package_delivery_free(d);
}

/* Returns the next package of the list; NULL: no more. */
static const struct ux_package *crawl_next(struct crawl_work *c)
{
	pthread_mutex_lock(&c->lock);
	const struct ux_package *package =
		c->next < c->o->n_packages ? &c->o->packages[c->next++] : NULL;
	pthread_mutex_unlock(&c->lock);
	return package;
}

/* Returns whether to go on with the next package. *err has the reason if not. */
static bool crawl_goes_on(struct crawl_work *c, struct ux_error *err)
{
	pthread_mutex_lock(&c->lock);
	bool failed = c->failed.code != UX_OK;
	if (failed)
		*err = err->code == UX_OK ? c->failed : *err;
	pthread_mutex_unlock(&c->lock);
	return !failed && !crawl_is_cancelled(c);
}

/* The lease of a package that is being read. */
struct crawl_reading {
	struct ux_crawl_leases *jobs;
	const struct ux_crawl_lease *job;
};

static bool crawl_reading_is_lost(void *ctx)
{
	const struct crawl_reading *r = ctx;
	return ux_crawl_leases_lost(r->jobs, r->job);
}

/* Reads a package, which is taken, and hands its symbols to the uploads. */
static void crawl_package(struct crawl_thread *t, struct ux_package_delivery *d)
{
	struct crawl_work *c = t->c;
	struct crawl_reading leased = {c->jobs, &d->job};
	const struct ux_package_reading reading = {.mirrors = c->mirrors,
						   .stopped = d->job.doc ? crawl_reading_is_lost
									 : NULL,
						   .ctx = &leased};
	ux_package_symbols_read(&t->work, d->package, &reading, c->memory, &d->symbols);
	if (d->symbols.result.outcome != UX_CRAWL_DONE)
		ux_package_symbols_deinit(&d->symbols);
	else if (d->job.doc && d->symbols.kept.size > 0)
		ux_crawl_leases_received(c->jobs, &d->job);
	ux_package_uploads_put(c->uploads, d);
}

static enum ux_code crawl_work_list(struct crawl_thread *t, struct ux_error *err)
{
	const struct ux_package *package = NULL;
	while (crawl_goes_on(t->c, err) && (package = crawl_next(t->c)) != NULL) {
		struct ux_package_delivery *d = ux_package_delivery_new();
		if (!d)
			return ux_error_nomem(err);
		d->package = package;
		crawl_package(t, d);
	}
	return UX_OK;
}

static enum ux_code crawl_work_jobs(struct crawl_thread *t, struct ux_error *err)
{
	struct crawl_work *c = t->c;
	while (crawl_goes_on(c, err)) {
		bool more = false;
		struct ux_package_delivery *d = ux_package_delivery_new();
		if (!d)
			return ux_error_nomem(err);
		enum ux_code code = ux_crawl_leases_take(c->jobs, &d->job, &more, err);
		if (d->job.doc) {
			d->package = &d->job.package;
			crawl_package(t, d);
			continue;
		}
		ux_package_delivery_free(d); /* none is due now */
		if (code != UX_OK || !more)
			return code;
	}
	return UX_OK;
}

static enum ux_code crawl_run(void *ctx, size_t number, unsigned worker, struct ux_error *err)
{
	ux_cleanup(crawl_thread_deinit) struct crawl_thread t = {.c = ctx, .reused = {-1, -1}};
	(void)number;
	(void)worker;
	UX_TRY(crawl_thread_init(&t, err));
	UX_TRY(crawl_work_list(&t, err));
	return t.c->jobs ? crawl_work_jobs(&t, err) : UX_OK;
}

static enum ux_code crawl_open(struct crawl_work *c, unsigned jobs, struct ux_error *err)
{
	const struct ux_crawl_work_options *o = c->o;
	const struct ux_polite_options polite = {.contact = o->contact,
						 .parallel = o->parallel,
						 .cacert = o->cacert,
						 .proxy = o->proxy,
						 .wait_max_ms = FETCH_MS,
						 .cancelled = o->cancelled,
						 .cancelled_ctx = o->ctx,
						 .mirrors = o->takes ? &o->mirrors : NULL};
	const unsigned senders = ux_min(SENDERS * jobs, (unsigned)SENDERS_MAX);
	if (o->takes && o->mirrors.n == 0)
		return ux_error_set(err, UX_EINVAL, "a worker needs mirrors to take packages");
	c->push = crawl_push_options(o);
	c->memory = ux_extraction_memory_new(c->push.memory);
	if (!c->memory)
		return ux_error_nomem(err);
	UX_TRY(ux_polite_open(&c->mirrors, &polite, err));
	/* Each thread reads a package, as many wait for their uploads, and some are being ended. */
	UX_TRY(ux_package_uploads_open(&c->uploads, &c->push, senders, jobs, crawl_package_ended, c,
				       err));
	return o->takes ? ux_crawl_leases_open(&c->jobs, o, 2 * jobs + senders, err) : UX_OK;
}

enum ux_code ux_crawl_work(const struct ux_crawl_work_options *options,
			   struct ux_crawl_work_summary *ret, struct ux_error *err)
{
	unsigned jobs = ux_min(options->jobs > 0 ? options->jobs : ux_pool_cpus(),
			       (unsigned)UX_CRAWL_JOBS_MAX);
	struct crawl_work c = {.o = options,
			       .ret = ret,
			       .lock = PTHREAD_MUTEX_INITIALIZER,
			       .failed = UX_ERROR_INIT};
	*ret = (struct ux_crawl_work_summary){0};
	enum ux_code code = crawl_open(&c, jobs, err);
	if (code == UX_OK)
		code = ux_pool_run(jobs, jobs, crawl_run, &c, err);
	ux_package_uploads_close(c.uploads);
	ux_crawl_leases_close(c.jobs);
	if (c.mirrors)
		ux_polite_close(c.mirrors);
	ux_extraction_memory_free(c.memory);
	pthread_mutex_destroy(&c.lock);
	if (code == UX_OK && c.failed.code != UX_OK) {
		*err = c.failed;
		code = c.failed.code;
	}
	if (code == UX_OK && crawl_is_cancelled(&c))
		code = ux_error_set(err, UX_EUNAVAILABLE, "the work was stopped");
	return code;
}
