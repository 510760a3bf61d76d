/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of uploads to finish, and its threads. */
#include "finish_queue.h"

#include "clock.h"

#include <pthread.h>

enum {
	LARGE = 256 << 20, /* bytes from which on an upload takes seconds */
};

struct entry {
	struct entry *next;
	char *ns;
	char *uid;
	char *key_id;
	char *from;
	uint64_t size;
	int64_t queued_ns;
	bool running;
	struct ux_finish_waiter *waiters;
};

struct ux_finisher {
	ux_finish_fn *run;
	void *ctx;
	pthread_mutex_t lock; /* guards all below, and the waiters */
	pthread_cond_t changed;
	struct entry *entries; /* the newest first */
	size_t n_entries;
	unsigned threads_max; /* threads that may finish uploads that are not small */
	unsigned n_others;    /* uploads being finished that are not small */
	unsigned n_large;     /* large uploads among them */
	char *last_ns;        /* namespace of the last started upload; NULL: none */
	bool stopping;
	pthread_t *threads;
	unsigned n_threads; /* started threads */
};

static void entry_free(struct entry *e)
{
	if (!e)
		return;
	free(e->ns);
	free(e->uid);
	free(e->key_id);
	free(e->from);
	free(e);
}

static struct entry *entry_make(const struct ux_finish_request *what)
{
	struct entry *e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->ns = strdup(what->ns);
	e->uid = strdup(what->uid);
	e->key_id = strdup(what->who.key_id);
	e->from = strdup(what->who.from);
	e->size = what->size;
	e->queued_ns = ux_clock_ns();
	if (e->ns && e->uid && e->key_id && e->from)
		return e;
	entry_free(e);
	return NULL;
}

/*
 * Tests whether a comes before b. Namespaces take turns in the order of their names, after the last
 * one, and wrap around.
 */
static bool entry_is_before(const struct entry *a, const struct entry *b, const char *last_ns)
{
	bool a_wraps = last_ns && strcmp(a->ns, last_ns) <= 0;
	bool b_wraps = last_ns && strcmp(b->ns, last_ns) <= 0;
	int order = strcmp(a->ns, b->ns);
	if (a_wraps != b_wraps)
		return b_wraps;
	if (order != 0)
		return order < 0;
	return a->size <= b->size; /* the list has the newest first */
}

/*
 * Tests whether an upload of this size may start now. Large ones leave one of several threads free.
 */
static bool finisher_may(const struct ux_finisher *f, uint64_t size)
{
	if (size <= UX_FINISH_SMALL)
		return true;
	if (f->n_others >= f->threads_max)
		return false;
	return size <= LARGE || f->n_large == 0 || f->n_large + 1 < f->threads_max;
}

/* Returns the next entry to run; NULL: none. */
static struct entry *finisher_choose(const struct ux_finisher *f)
{
	struct entry *best = NULL;
	for (struct entry *e = f->entries; e; e = e->next)
		if (!e->running && finisher_may(f, e->size) &&
		    (!best || entry_is_before(e, best, f->last_ns)))
			best = e;
	return best;
}

static void finisher_unlink(struct ux_finisher *f, struct entry *gone)
{
	assert(f->n_entries > 0);
	struct entry **at = &f->entries;
	while (*at != gone)
		at = &(*at)->next;
	*at = gone->next;
	f->n_entries--;
}

/* Runs one entry. Called with the lock held, which it releases while it runs. */
static void finisher_run(struct ux_finisher *f, struct entry *e)
{
	assert(!e->running);
	struct ux_finish_outcome outcome = {.err = UX_ERROR_INIT};
	const struct ux_finish_request what = {.ns = e->ns,
					       .uid = e->uid,
					       .size = e->size,
					       .who = {.key_id = e->key_id, .from = e->from},
					       .queued_ns = e->queued_ns};
	char *ns = strdup(e->ns);
	free(f->last_ns);
	f->last_ns = ns;
	e->running = true;
	f->n_others += e->size > UX_FINISH_SMALL;
	f->n_large += e->size > LARGE;
	pthread_mutex_unlock(&f->lock);
	f->run(f->ctx, &what, &outcome);
	pthread_mutex_lock(&f->lock);
	f->n_others -= e->size > UX_FINISH_SMALL;
	f->n_large -= e->size > LARGE;
	finisher_unlink(f, e);
	for (struct ux_finish_waiter *w = e->waiters, *next; w; w = next) {
		next = w->next;
		assert(w->waits);
		w->waits = false;
		w->done = true;
		w->outcome = outcome;
		w->wake(w->ctx);
	}
	pthread_cond_signal(&f->changed); /* a large one may have waited for this one */
}

static void *finisher_work(void *ctx)
{
	struct ux_finisher *f = ctx;
	pthread_mutex_lock(&f->lock);
	while (!f->stopping) {
		struct entry *e = finisher_choose(f);
		if (e) {
			finisher_run(f, e);
			entry_free(e);
		} else {
			pthread_cond_wait(&f->changed, &f->lock);
		}
	}
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

enum ux_code ux_finisher_open(struct ux_finisher **ret, unsigned threads, unsigned small_threads,
			      ux_finish_fn *run, void *ctx, struct ux_error *err)
{
	assert(threads > 0);
	const unsigned all = threads + small_threads;
	struct ux_finisher *f = calloc(1, sizeof(*f));
	if (!f)
		return ux_error_nomem(err);
	f->run = run;
	f->ctx = ctx;
	pthread_mutex_init(&f->lock, NULL);
	pthread_cond_init(&f->changed, NULL);
	f->threads_max = threads;
	f->threads = calloc(all, sizeof(*f->threads));
	enum ux_code code = f->threads ? UX_OK : ux_error_nomem(err);
	while (code == UX_OK && f->n_threads < all) {
		int r = pthread_create(&f->threads[f->n_threads], NULL, finisher_work, f);
		f->n_threads += r == 0;
		code = r == 0 ? UX_OK : ux_error_os(err, r, "cannot start a thread for uploads");
	}
	if (code == UX_OK)
		*ret = f;
	else
		ux_finisher_close(f);
	return code;
}

void ux_finisher_close(struct ux_finisher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->stopping = true;
	pthread_cond_broadcast(&f->changed);
	pthread_mutex_unlock(&f->lock);
	for (unsigned i = 0; i < f->n_threads; i++)
		pthread_join(f->threads[i], NULL);
	for (struct entry *e = f->entries, *next; e; e = next) {
		next = e->next;
		entry_free(e);
	}
	pthread_cond_destroy(&f->changed);
	pthread_mutex_destroy(&f->lock);
	free(f->last_ns);
	free(f->threads);
	free(f);
}

static struct entry *finisher_find(const struct ux_finisher *f, const char *uid)
{
	struct entry *e = f->entries;
	while (e && strcmp(e->uid, uid) != 0)
		e = e->next;
	return e;
}

/* Returns the entry of this upload, which may be new; NULL: no room. */
static struct entry *finisher_add(struct ux_finisher *f, const struct ux_finish_request *what)
{
	struct entry *e = finisher_find(f, what->uid);
	if (e)
		return e;
	if (f->n_entries == UX_FINISH_QUEUE_MAX || !(e = entry_make(what)))
		return NULL;
	e->next = f->entries;
	f->entries = e;
	f->n_entries++;
	pthread_cond_signal(&f->changed);
	return e;
}

enum ux_finish_state ux_finisher_join(struct ux_finisher *f, const struct ux_finish_request *what,
				      struct ux_finish_waiter *waiter)
{
	enum ux_finish_state state = UX_FINISH_WAITING;
	pthread_mutex_lock(&f->lock);
	struct entry *e = waiter->done || waiter->waits ? NULL : finisher_add(f, what);
	if (e) {
		waiter->waits = true;
		waiter->next = e->waiters;
		e->waiters = waiter;
	}
	if (waiter->done)
		state = UX_FINISH_DONE;
	else if (!waiter->waits)
		state = UX_FINISH_FULL;
	pthread_mutex_unlock(&f->lock);
	return state;
}

static bool entry_drop_waiter(struct entry *e, const struct ux_finish_waiter *waiter)
{
	struct ux_finish_waiter **at = &e->waiters;
	while (*at && *at != waiter)
		at = &(*at)->next;
	if (!*at)
		return false;
	*at = waiter->next;
	return true;
}

void ux_finisher_leave(struct ux_finisher *f, struct ux_finish_waiter *waiter)
{
	pthread_mutex_lock(&f->lock);
	bool found = !waiter->waits;
	for (struct entry *e = f->entries; e && !found; e = e->next)
		found = entry_drop_waiter(e, waiter);
	assert(found);
	waiter->waits = false;
	pthread_mutex_unlock(&f->lock);
}
