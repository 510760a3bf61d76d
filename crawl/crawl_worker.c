/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of a worker, each with one package at a time. */
#include "crawl_work.h"
#include "pool.h"
#include "push_archive.h"

#include <pthread.h>

enum {
	TIMEOUT_MS = 1800000,
	/* A package whose extraction takes long is received slowly, and may break off late. */
	FETCH_MS = 6 * 3600 * 1000,
};

#define MEMORY (UINT64_C(160) << 20)

struct crawl_work {
	const struct ux_crawl_work_options *o;
	struct ux_crawl_work_summary *ret;
	struct ux_polite *mirrors;
	struct ux_crawl_leases *jobs; /* NULL: none are taken */
	pthread_mutex_t lock;         /* of what follows, of *ret, and of the caller's function */
	size_t next;                  /* of the list */
};

/* A thread's connection, children and options. */
struct crawl_thread {
	struct crawl_work *c;
	struct ux_push_options options;
	struct ux_push_work work;
	struct ux_push_summary none; /* counts of no package */
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
}

static enum ux_code crawl_thread_init(struct crawl_thread *t, struct ux_error *err)
{
	const struct ux_crawl_work_options *o = t->c->o;
	t->options = (struct ux_push_options){
		.url = o->url,
		.token = o->token,
		.cacert = o->cacert,
		.proxy = o->proxy,
		.force = o->force,
		.no_gpu = true, /* distributions have none worth a further look at each file */
		.names_at_least = true,
		.timeout_ms = o->timeout_ms > 0 ? o->timeout_ms : TIMEOUT_MS,
		.retries = o->retries,
		.memory = o->memory > 0 ? o->memory : MEMORY,
		.threads = 1,
		.result = crawl_on_module,
		.ctx = t,
	};
	t->work = (struct ux_push_work){.o = &t->options, .summary = &t->none, .scratch = -1};
	UX_TRY(ux_push_client_open(&t->work.client, &t->options, err));
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
	s->bytes_fetched += result->bytes_fetched;
	s->bytes_unpacked += result->bytes_unpacked;
	s->bytes_stored += result->bytes_stored;
	if (c->o->ended)
		c->o->ended(c->o->ctx, package, result);
	pthread_mutex_unlock(&c->lock);
}

/* The next package of the list; NULL when there are no more. */
static const struct ux_package *crawl_next(struct crawl_work *c)
{
	pthread_mutex_lock(&c->lock);
	const struct ux_package *package =
		c->next < c->o->n_packages ? &c->o->packages[c->next++] : NULL;
	pthread_mutex_unlock(&c->lock);
	return package;
}

static void crawl_package(struct crawl_thread *t, const struct ux_package *package,
			  struct ux_crawl_result *ret)
{
	struct ux_push_summary *none = t->work.summary;
	ux_package_symbols(&t->work, package, t->c->mirrors, ret);
	t->work.summary = none;
	crawl_count(t->c, package, ret);
}

/* The server cannot be used: there is no sense in the next package. */
static enum ux_code crawl_server_failed(const struct ux_crawl_result *result, struct ux_error *err)
{
	if (result->outcome != UX_CRAWL_LATER || strcmp(result->cause, "server") != 0)
		return UX_OK;
	*err = err->code == UX_OK ? result->why : *err;
	return result->why.code;
}

static enum ux_code crawl_work_list(struct crawl_thread *t, struct ux_error *err)
{
	const struct ux_package *package = NULL;
	while (!crawl_is_cancelled(t->c) && (package = crawl_next(t->c)) != NULL) {
		struct ux_crawl_result result;
		crawl_package(t, package, &result);
		UX_TRY(crawl_server_failed(&result, err));
	}
	return UX_OK;
}

static enum ux_code crawl_work_jobs(struct crawl_thread *t, unsigned number, struct ux_error *err)
{
	struct crawl_work *c = t->c;
	while (!crawl_is_cancelled(c)) {
		ux_cleanup(ux_crawl_lease_free) struct ux_crawl_lease job = {0};
		struct ux_crawl_result result;
		bool more = false;
		UX_TRY(ux_crawl_leases_take(c->jobs, number, &job, &more, err));
		if (!more)
			return UX_OK;
		if (!job.doc) /* none is due now */
			continue;
		crawl_package(t, &job.package, &result);
		UX_TRY(ux_crawl_leases_end(c->jobs, number, &job, &result, err));
		UX_TRY(crawl_server_failed(&result, err));
	}
	return UX_OK;
}

static enum ux_code crawl_run(void *ctx, size_t number, unsigned worker, struct ux_error *err)
{
	ux_cleanup(crawl_thread_deinit) struct crawl_thread t = {.c = ctx};
	(void)worker;
	UX_TRY(crawl_thread_init(&t, err));
	UX_TRY(crawl_work_list(&t, err));
	return t.c->jobs ? crawl_work_jobs(&t, (unsigned)number, err) : UX_OK;
}

static enum ux_code crawl_open(struct crawl_work *c, unsigned jobs, struct ux_error *err)
{
	const struct ux_crawl_work_options *o = c->o;
	const struct ux_polite_options polite = {.contact = o->contact,
						 .parallel = o->parallel,
						 .cacert = o->cacert,
						 .proxy = o->proxy,
						 .wait_most_ms = FETCH_MS,
						 .cancelled = o->cancelled,
						 .cancelled_ctx = o->ctx};
	UX_TRY(ux_polite_open(&c->mirrors, &polite, err));
	return o->takes ? ux_crawl_leases_open(&c->jobs, o, jobs, err) : UX_OK;
}

enum ux_code ux_crawl_work(const struct ux_crawl_work_options *options,
			   struct ux_crawl_work_summary *ret, struct ux_error *err)
{
	unsigned jobs = ux_min(options->jobs > 0 ? options->jobs : ux_pool_cpus(),
			       (unsigned)UX_CRAWL_JOBS_MOST);
	struct crawl_work c = {.o = options, .ret = ret, .lock = PTHREAD_MUTEX_INITIALIZER};
	*ret = (struct ux_crawl_work_summary){0};
	enum ux_code code = crawl_open(&c, jobs, err);
	if (code == UX_OK)
		code = ux_pool_run(jobs, jobs, crawl_run, &c, err);
	ux_crawl_leases_close(c.jobs);
	if (c.mirrors)
		ux_polite_close(c.mirrors);
	pthread_mutex_destroy(&c.lock);
	if (code == UX_OK && crawl_is_cancelled(&c))
		code = ux_error_set(err, UX_EUNAVAILABLE, "the work was ended");
	return code;
}
