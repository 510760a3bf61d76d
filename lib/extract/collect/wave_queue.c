/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of the first phase in waves. */
#include "wave_queue.h"

#include "order.h"

void ux_wave_queue_init(struct ux_wave_queue *q, unsigned threads)
{
	assert(threads > 0);
	*q = (struct ux_wave_queue){
		.threads = threads,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.advanced = PTHREAD_COND_INITIALIZER,
		.failed_at = UINT64_MAX,
		.error = UX_ERROR_INIT,
	};
}

void ux_wave_queue_deinit(struct ux_wave_queue *q)
{
	ux_wave_batch_vec_deinit(&q->batches);
	ux_wave_vec_deinit(&q->waves);
	pthread_cond_destroy(&q->advanced);
	pthread_mutex_destroy(&q->lock);
}

void ux_wave_queue_clear(struct ux_wave_queue *q)
{
	assert(!q->feeding);
	q->batches.size = q->waves.size = 0;
	q->next = q->done = 0;
	q->unread = 0;
	q->complete = false;
}

static int wave_batch_compare(const void *a, const void *b)
{
	const struct ux_wave_batch *x = a, *y = b;
	UX_ORDER(y->early, x->early);
	if (!x->early)
		UX_ORDER(x->wave, y->wave);
	UX_ORDER(y->bytes, x->bytes);
	UX_ORDER(x->first, y->first);
	return 0;
}

static void wave_batches_sort(struct ux_wave_batch *batches, size_t n)
{
	if (n > 1)
		qsort(batches, n, sizeof(*batches), wave_batch_compare);
}

enum ux_code ux_wave_queue_add(struct ux_wave_queue *q, struct ux_wave_batch *batches, size_t n,
			       struct ux_error *err)
{
	if (n == 0)
		return UX_OK;
	struct ux_wave wave = {.first = batches[0].first, .left = n};
	for (size_t i = 0; i < n; i++) {
		assert(batches[i].count > 0);
		wave.n_units += batches[i].count;
		wave.bytes += batches[i].bytes;
		batches[i].wave = (uint32_t)q->waves.size;
	}
	wave_batches_sort(batches, n);
	pthread_mutex_lock(&q->lock);
	assert(!q->complete);
	bool ok = ux_wave_batch_vec_reserve(&q->batches, q->batches.size + n) &&
		  ux_wave_vec_append(&q->waves, wave);
	if (ok) {
		memcpy(q->batches.data + q->batches.size, batches, n * sizeof(*batches));
		q->batches.size += n;
		q->unread += wave.bytes;
	}
	pthread_mutex_unlock(&q->lock);
	return ok ? UX_OK : ux_error_nomem(err);
}

void ux_wave_queue_complete(struct ux_wave_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->complete = true;
	pthread_mutex_unlock(&q->lock);
}

void ux_wave_queue_order(struct ux_wave_queue *q)
{
	wave_batches_sort(q->batches.data, q->batches.size);
}

/*
 * Returns true when the next batch may start: all waves before its own are done, except the one
 * just before it.
 */
static bool wave_batch_is_ready(const struct ux_wave_queue *q)
{
	if (q->next == q->batches.size)
		return false;
	const struct ux_wave_batch *b = &q->batches.data[q->next];
	return b->early || b->wave <= q->done + 1;
}

/* Sets *ret to the job that should start now; false: none can start yet. */
static bool wave_queue_choose(const struct ux_wave_queue *q, struct ux_wave_job *ret)
{
	bool ready = wave_batch_is_ready(q);
	bool may_feed = !q->complete && !q->feeding;
	*ret = (struct ux_wave_job){.kind = UX_WAVE_JOB_NONE};
	if (q->failed_at != UINT64_MAX)
		return true;
	/* With one thread, it reads each wave right after making it, while the data is in the CPU's
	 * cache. */
	if (may_feed && (q->threads > 1 ? q->unread < UX_WAVES_AHEAD || !ready : !ready)) {
		ret->kind = UX_WAVE_JOB_FEED;
		return true;
	}
	if (ready)
		ret->kind = UX_WAVE_JOB_READ;
	return ready || (q->complete && q->next == q->batches.size);
}

/* Returns the number of the first unit of wave `i`, or the end of the last wave. */
static uint32_t wave_begin(const struct ux_wave_queue *q, size_t i)
{
	if (i < q->waves.size)
		return q->waves.data[i].first;
	const struct ux_wave *last = i > 0 ? &q->waves.data[q->waves.size - 1] : NULL;
	return last ? last->first + last->n_units : 0;
}

void ux_wave_queue_take(struct ux_wave_queue *q, struct ux_wave_job *ret)
{
	pthread_mutex_lock(&q->lock);
	while (!wave_queue_choose(q, ret))
		pthread_cond_wait(&q->advanced, &q->lock);
	if (ret->kind == UX_WAVE_JOB_FEED) {
		q->feeding = true;
		ret->n_read = wave_begin(q, q->done);
		ret->position = (uint64_t)q->batches.size << 32;
	} else if (ret->kind == UX_WAVE_JOB_READ) {
		ret->batch = q->batches.data[q->next];
		ret->position = (uint64_t)q->next++ << 32;
		if (!ret->batch.early && ret->batch.wave > 0)
			ret->claimants = q->waves.data[ret->batch.wave - 1].first;
	}
	pthread_mutex_unlock(&q->lock);
}

/* Counts a batch of its wave as read. */
static void wave_batch_end(struct ux_wave_queue *q, const struct ux_wave_batch *batch)
{
	assert(batch->wave < q->waves.size && q->waves.data[batch->wave].left > 0);
	struct ux_wave *wave = &q->waves.data[batch->wave];
	if (--wave->left == 0)
		q->unread -= wave->bytes;
	while (q->done < q->waves.size && q->waves.data[q->done].left == 0)
		q->done++;
}

void ux_wave_queue_done(struct ux_wave_queue *q, const struct ux_wave_job *job, enum ux_code code,
			const struct ux_error *error)
{
	assert(job->kind != UX_WAVE_JOB_NONE);
	pthread_mutex_lock(&q->lock);
	if (job->kind == UX_WAVE_JOB_FEED)
		q->feeding = false;
	else
		wave_batch_end(q, &job->batch);
	if (code != UX_OK && job->position < q->failed_at) {
		q->failed_at = job->position;
		q->error = *error;
	}
	pthread_cond_broadcast(&q->advanced);
	pthread_mutex_unlock(&q->lock);
}

enum ux_code ux_wave_queue_status(const struct ux_wave_queue *q, struct ux_error *err)
{
	if (q->failed_at == UINT64_MAX)
		return UX_OK;
	if (err && err->code == UX_OK)
		*err = q->error;
	return q->error.code;
}
