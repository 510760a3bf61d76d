/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the records of jobs at their offsets. */
#include "record_writer.h"

void ux_record_writer_init(struct ux_record_writer *w, ux_gsym_write_at_fn *place, void *ctx)
{
	*w = (struct ux_record_writer){.place = place,
				       .ctx = ctx,
				       .lock = PTHREAD_MUTEX_INITIALIZER,
				       .advanced = PTHREAD_COND_INITIALIZER};
}

void ux_record_writer_deinit(struct ux_record_writer *w)
{
	for (size_t i = 0; i < w->n_waiting; i++)
		ux_out_deinit(&w->waiting[i].bytes);
	for (size_t i = 0; i < w->n_spare; i++)
		ux_out_deinit(&w->spare[i]);
	pthread_cond_destroy(&w->advanced);
	pthread_mutex_destroy(&w->lock);
}

bool ux_record_writer_take(struct ux_record_writer *w, size_t job, uint64_t size, uint64_t *ret)
{
	pthread_mutex_lock(&w->lock);
	assert(job >= w->next);
	while (w->next != job && !w->failed)
		pthread_cond_wait(&w->advanced, &w->lock);
	bool ok = !w->failed;
	if (ok) {
		*ret = w->end;
		w->end += size;
		w->next++;
		pthread_cond_broadcast(&w->advanced);
	}
	pthread_mutex_unlock(&w->lock);
	return ok;
}

void ux_record_writer_fail(struct ux_record_writer *w)
{
	pthread_mutex_lock(&w->lock);
	w->failed = true;
	pthread_cond_broadcast(&w->advanced);
	pthread_mutex_unlock(&w->lock);
}

/*
 * Leaves the buffer to the thread that writes; false when no thread writes, or too many buffers
 * wait.
 */
static bool records_leave(struct ux_record_writer *w, uint64_t off, struct ux_out *out)
{
	if (!w->writing || w->n_waiting == UX_RECORDS_WAITING)
		return false;
	w->waiting[w->n_waiting++] = (struct ux_records){off, *out};
	*out = w->n_spare > 0 ? w->spare[--w->n_spare] : (struct ux_out){.swap = out->swap};
	return true;
}

/* Takes the next waiting buffer; `written` is a buffer to reuse. When none waits, the calling
 * thread stops writing. */
static bool records_next(struct ux_record_writer *w, struct ux_out *written, struct ux_records *ret)
{
	pthread_mutex_lock(&w->lock);
	if (written->data && w->n_spare < UX_RECORDS_WAITING) {
		w->spare[w->n_spare++] = *written;
		*written = (struct ux_out){0};
	}
	assert(w->writing);
	bool any = w->n_waiting > 0;
	if (any) {
		*ret = w->waiting[0];
		w->n_waiting--;
		memmove(w->waiting, w->waiting + 1, w->n_waiting * sizeof(w->waiting[0]));
	}
	w->writing = any;
	pthread_mutex_unlock(&w->lock);
	return any;
}

static enum ux_code records_write(const struct ux_record_writer *w, uint64_t off,
				  const struct ux_out *out, struct ux_error *err)
{
	return w->place(w->ctx, w->data_off + off, ux_out_bytes(out), err);
}

enum ux_code ux_record_writer_put(struct ux_record_writer *w, uint64_t off, struct ux_out *out,
				  struct ux_error *err)
{
	struct ux_out written = {0};
	struct ux_records next;
	pthread_mutex_lock(&w->lock);
	bool left = records_leave(w, off, out);
	bool writes = !left && !w->writing;
	w->writing |= writes;
	pthread_mutex_unlock(&w->lock);
	if (left)
		return UX_OK;
	enum ux_code code = records_write(w, off, out, err);
	while (writes && records_next(w, &written, &next)) {
		if (code == UX_OK)
			code = records_write(w, next.off, &next.bytes, err);
		ux_out_deinit(&written); /* there are enough spare buffers */
		written = next.bytes;
	}
	ux_out_deinit(&written);
	return code;
}
