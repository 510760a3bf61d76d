/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads packages that were read, over several connections, while others are read. */
#include "crawl_work.h"

#include "clock.h"

#include <pthread.h>

struct upload_thread {
	struct ux_package_uploads *u;
	pthread_t id;
	struct ux_push_work work;
	struct ux_push_summary summary; /* result counts of one module */
	struct ux_package_delivery *d;  /* package of the module it sends; NULL: none */
	size_t number;                  /* index of that module */
};

struct ux_package_uploads {
	const struct ux_push_options *push;
	unsigned packages_max;
	void (*ended)(void *ctx, struct ux_package_delivery *d);
	void *ctx;
	struct upload_thread *threads;
	unsigned n_threads;
	pthread_mutex_t lock;    /* protects the fields below, and everything in the queue */
	pthread_cond_t changed;  /* there is more to send, or the end */
	pthread_cond_t has_room; /* a package has ended */
	struct ux_package_delivery *first, *last;
	unsigned n_packages; /* in the queue */
	bool closes;
};

struct ux_package_delivery *ux_package_delivery_new(void)
{
	struct ux_package_delivery *d = calloc(1, sizeof(*d));
	if (d) {
		d->symbols.file = -1;
		d->failed_at = SIZE_MAX;
	}
	return d;
}

void ux_package_delivery_free(struct ux_package_delivery *d)
{
	ux_package_symbols_deinit(&d->symbols);
	ux_crawl_lease_free(&d->job);
	free(d);
}

/* --- the queue; all of it with the lock ------------------------------------------------------- */

static void uploads_remove(struct ux_package_uploads *u, const struct ux_package_delivery *d)
{
	struct ux_package_delivery *before = NULL, *at = u->first;
	for (; at != d; at = at->behind)
		before = at;
	if (before)
		before->behind = d->behind;
	else
		u->first = d->behind;
	if (u->last == d)
		u->last = before;
	u->n_packages--;
}

static bool upload_ids_meet(const struct ux_id_set *a, const struct ux_id_set *b)
{
	for (size_t i = 0; i < a->size; i++)
		for (size_t k = 0; k < b->size; k++)
			if (ux_id_eq(&a->ids[i], &b->ids[k]))
				return true;
	return false;
}

/*
 * Returns whether a module with one of these IDs is being sent. Then the next one waits, so that
 * the server always has the first of a module's two files when the second comes.
 */
static bool upload_meets_another(const struct ux_package_uploads *u, const struct ux_id_set *ids)
{
	for (unsigned i = 0; i < u->n_threads; i++) {
		const struct upload_thread *t = &u->threads[i];
		if (t->d && upload_ids_meet(&t->d->symbols.kept.data[t->number].module.ids, ids))
			return true;
	}
	return false;
}

/* Gives the thread the next module that may be sent. False: none at the moment. */
static bool upload_find_next(struct upload_thread *t)
{
	for (struct ux_package_delivery *d = t->u->first; d; d = d->behind) {
		const struct ux_kept_list *kept = &d->symbols.kept;
		if (d->next == kept->size || d->failed_at != SIZE_MAX ||
		    upload_meets_another(t->u, &kept->data[d->next].module.ids))
			continue;
		t->d = d;
		t->number = d->next++;
		d->sending++;
		return true;
	}
	return false;
}

static void upload_count(struct upload_thread *t, enum ux_code code, const struct ux_error *why)
{
	struct ux_crawl_result *result = &t->d->symbols.result;
	for (int i = 0; i < UX_PUSH_STATUS_COUNT; i++)
		result->modules.counts[i] += t->summary.counts[i];
	if (t->summary.counts[UX_PUSH_DONE_UPLOADED] > 0)
		result->bytes_stored += t->d->symbols.kept.data[t->number].gsym.size;
	if (code == UX_OK || t->number > t->d->failed_at)
		return;
	/* of several failures, keep the first module's, so that the reason does not depend on
	 * timing */
	t->d->failed_at = t->number;
	result->outcome = UX_CRAWL_LATER;
	result->cause = code == UX_ENOMEM ? "memory" : "server";
	result->why = *why;
}

/* Notes the result of the module. True: it was the last of its package, which the caller takes. */
static bool upload_end_one(struct upload_thread *t, enum ux_code code, const struct ux_error *why)
{
	struct ux_package_delivery *d = t->d;
	upload_count(t, code, why);
	t->d = NULL;
	d->sending--;
	bool last =
		d->sending == 0 && (d->next == d->symbols.kept.size || d->failed_at != SIZE_MAX);
	if (last)
		uploads_remove(t->u, d);
	return last;
}

/* --- the threads ------------------------------------------------------------------------------ */

static enum ux_code upload_send(struct upload_thread *t, struct ux_error *err)
{
	const struct ux_kept_symbols *k = &t->d->symbols.kept.data[t->number];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_push_gsym gsym = {0};
	UX_TRY(ux_push_map_part(k->module.path, &k->gsym, &file, &gsym.file.bytes, err));
	t->summary = (struct ux_push_summary){0};
	t->work.o = &t->d->symbols.options;
	t->work.summary = &t->summary;
	t->work.client.deadline_ms = ux_clock_ms() + t->work.o->timeout_ms;
	return ux_push_gsym_send(&t->work, &k->module, &gsym, &k->stats, err);
}

static void *upload_run(void *ctx)
{
	struct upload_thread *t = ctx;
	struct ux_package_uploads *u = t->u;
	pthread_mutex_lock(&u->lock);
	for (;;) {
		if (!upload_find_next(t)) {
			if (u->closes && !u->first)
				break;
			pthread_cond_wait(&u->changed, &u->lock);
			continue;
		}
		struct ux_package_delivery *d = t->d;
		struct ux_error why = UX_ERROR_INIT;
		pthread_mutex_unlock(&u->lock);
		enum ux_code code = upload_send(t, &why);
		pthread_mutex_lock(&u->lock);
		bool last = upload_end_one(t, code, &why);
		pthread_cond_broadcast(&u->changed);
		if (!last)
			continue;
		pthread_cond_signal(&u->has_room);
		pthread_mutex_unlock(&u->lock);
		u->ended(u->ctx, d);
		pthread_mutex_lock(&u->lock);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

void ux_package_uploads_put(struct ux_package_uploads *u, struct ux_package_delivery *d)
{
	if (d->symbols.kept.size == 0) {
		u->ended(u->ctx, d);
		return;
	}
	pthread_mutex_lock(&u->lock);
	while (u->n_packages >= u->packages_max)
		pthread_cond_wait(&u->has_room, &u->lock);
	if (u->last)
		u->last->behind = d;
	else
		u->first = d;
	u->last = d;
	u->n_packages++;
	pthread_cond_broadcast(&u->changed);
	pthread_mutex_unlock(&u->lock);
}

/* --- opening ---------------------------------------------------------------------------------- */

void ux_package_uploads_close(struct ux_package_uploads *u)
{
	if (!u)
		return;
	pthread_mutex_lock(&u->lock);
	u->closes = true;
	pthread_cond_broadcast(&u->changed);
	pthread_mutex_unlock(&u->lock);
	for (unsigned i = 0; i < u->n_threads; i++) {
		(void)pthread_join(u->threads[i].id, NULL);
		ux_push_client_close(&u->threads[i].work.client);
	}
	pthread_cond_destroy(&u->changed);
	pthread_cond_destroy(&u->has_room);
	pthread_mutex_destroy(&u->lock);
	free(u->threads);
	free(u);
}

static enum ux_code upload_thread_start(struct ux_package_uploads *u, struct upload_thread *t,
					struct ux_error *err)
{
	*t = (struct upload_thread){.u = u, .work = {.o = u->push, .scratch = -1}};
	UX_TRY(ux_push_client_open(&t->work.client, u->push, err));
	int r = pthread_create(&t->id, NULL, upload_run, t);
	if (r == 0)
		return UX_OK;
	ux_push_client_close(&t->work.client);
	return ux_error_os(err, r, "cannot start a thread");
}

enum ux_code ux_package_uploads_open(struct ux_package_uploads **ret,
				     const struct ux_push_options *push, unsigned threads,
				     unsigned packages,
				     void (*ended)(void *ctx, struct ux_package_delivery *d),
				     void *ctx, struct ux_error *err)
{
	struct ux_package_uploads *u = calloc(1, sizeof(*u));
	if (!u)
		return ux_error_nomem(err);
	*u = (struct ux_package_uploads){.push = push,
					 .packages_max = packages,
					 .ended = ended,
					 .ctx = ctx,
					 .threads = calloc(threads, sizeof(*u->threads))};
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->changed, NULL);
	pthread_cond_init(&u->has_room, NULL);
	enum ux_code code = u->threads ? UX_OK : ux_error_nomem(err);
	while (code == UX_OK && u->n_threads < threads) {
		code = upload_thread_start(u, &u->threads[u->n_threads], err);
		pthread_mutex_lock(&u->lock); /* threads look through the other packages */
		u->n_threads += code == UX_OK;
		pthread_mutex_unlock(&u->lock);
	}
	if (code == UX_OK)
		*ret = u;
	else
		ux_package_uploads_close(u);
	return code;
}
