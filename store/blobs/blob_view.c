/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content is a sparse, completely mapped file; frames are written into it as they arrive. A
 * frame is fetched once; its flag in `here` is set after its bytes are written.
 */
#include "blob_view.h"

#include "file.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* compressed bytes of one request, unless a single frame has more */
	REQUEST_BYTES = 1 << 20,
};

struct ux_blob_view {
	struct ux_blob_views *views;
	struct ux_blob_view *next; /* next one in `views` */
	unsigned users;
	struct ux_blob_view_options o;
	struct ux_seek_table table;
	struct ux_bytes bytes;
	int fd;
	/* whether each frame is present; set with release, so that its bytes are read after it */
	atomic_bool *here;
	/* unpacked bytes that were fetched; a count, so no memory order is needed */
	_Atomic uint64_t brought;
	pthread_mutex_t lock; /* guards the rest, and fetching */
	uint64_t packed;      /* compressed bytes that were fetched */
	uint8_t frame[UX_SEEK_FRAME_MAX];
};

/* --- opening ---------------------------------------------------------------------------------- */

static enum ux_code view_open_file(struct ux_blob_view *v, struct ux_error *err)
{
	UX_TRY(ux_file_temporary_in(v->o.dir, &v->fd, err));
	if (ftruncate(v->fd, (off_t)v->o.size) != 0)
		return ux_error_os(err, errno, "cannot create a file of %" PRIu64 " bytes",
				   v->o.size);
	void *at = mmap(NULL, (size_t)v->o.size, PROT_READ, MAP_SHARED, v->fd, 0);
	if (at == MAP_FAILED)
		return ux_error_os(err, errno, "cannot map %" PRIu64 " bytes", v->o.size);
	v->bytes = ux_bytes(at, (size_t)v->o.size);
	return UX_OK;
}

static enum ux_code view_open(struct ux_blob_view *v, struct ux_error *err)
{
	if (v->o.size == 0 || v->table.content[v->table.n] != v->o.size)
		return ux_error_set(err, UX_ECORRUPT,
				    "the frames have %" PRIu64 " bytes; expected %" PRIu64,
				    v->table.content[v->table.n], v->o.size);
	v->here = calloc(v->table.n, sizeof(*v->here));
	return v->here ? view_open_file(v, err) : ux_error_nomem(err);
}

static void view_free(struct ux_blob_view *v)
{
	assert(v->users == 0);
	atomic_fetch_sub_explicit(&v->views->bytes, ux_blob_view_brought(v), memory_order_relaxed);
	if (v->bytes.data)
		munmap((void *)(uintptr_t)v->bytes.data, v->bytes.size);
	if (v->fd >= 0)
		close(v->fd);
	pthread_mutex_destroy(&v->lock);
	ux_seek_table_deinit(&v->table);
	free(v->here);
	free(v);
}

void ux_blob_views_init(struct ux_blob_views *views)
{
	*views = (struct ux_blob_views){0};
	pthread_mutex_init(&views->lock, NULL);
}

void ux_blob_views_deinit(struct ux_blob_views *views)
{
	assert(!views->first);
	pthread_mutex_destroy(&views->lock);
}

/* Finds a view. Called with the lock held. */
static struct ux_blob_view *views_find(struct ux_blob_views *views, const struct ux_blob_hash *hash)
{
	struct ux_blob_view *v = views->first;
	while (v && memcmp(&v->o.hash, hash, sizeof(*hash)) != 0)
		v = v->next;
	if (v)
		v->users++;
	return v;
}

struct ux_blob_view *ux_blob_views_find(struct ux_blob_views *views,
					const struct ux_blob_hash *hash)
{
	pthread_mutex_lock(&views->lock);
	struct ux_blob_view *v = views_find(views, hash);
	pthread_mutex_unlock(&views->lock);
	return v;
}

/* Adds a view, or returns the one that another thread added earlier. */
static struct ux_blob_view *views_add(struct ux_blob_views *views, struct ux_blob_view *v)
{
	pthread_mutex_lock(&views->lock);
	struct ux_blob_view *other = views_find(views, &v->o.hash);
	if (!other) {
		v->users = 1;
		v->next = views->first;
		views->first = v;
	}
	pthread_mutex_unlock(&views->lock);
	return other ? other : v;
}

enum ux_code ux_blob_view_open(struct ux_blob_views *views, struct ux_blob_view **ret,
			       const struct ux_blob_view_options *options,
			       struct ux_seek_table *table, struct ux_error *err)
{
	struct ux_blob_view *v = calloc(1, sizeof(*v));
	if (!v) {
		ux_seek_table_deinit(table);
		return ux_error_nomem(err);
	}
	v->views = views;
	v->o = *options;
	v->table = *table;
	v->fd = -1;
	*table = (struct ux_seek_table){0};
	pthread_mutex_init(&v->lock, NULL);
	enum ux_code code = view_open(v, err);
	if (code == UX_OK)
		*ret = views_add(views, v);
	if (code != UX_OK || *ret != v)
		view_free(v);
	return code;
}

void ux_blob_view_close(struct ux_blob_view *v)
{
	if (!v)
		return;
	pthread_mutex_lock(&v->views->lock);
	assert(v->users > 0);
	bool last = --v->users == 0;
	struct ux_blob_view **at = &v->views->first;
	while (last && *at != v)
		at = &(*at)->next;
	if (last)
		*at = v->next;
	pthread_mutex_unlock(&v->views->lock);
	if (last)
		view_free(v);
}

uint64_t ux_blob_view_brought(const struct ux_blob_view *v)
{
	return atomic_load_explicit(&v->brought, memory_order_relaxed);
}

struct ux_bytes ux_blob_view_bytes(const struct ux_blob_view *v)
{
	return v->bytes;
}

/* --- frames ----------------------------------------------------------------------------------- */

static bool view_has(const struct ux_blob_view *v, uint32_t i)
{
	return atomic_load_explicit(&v->here[i], memory_order_acquire);
}

static uint64_t view_packed_size(const struct ux_blob_view *v, uint32_t first, uint32_t end)
{
	return v->table.packed[end] - v->table.packed[first];
}

/* Unpacks a frame to its place. */
static enum ux_code view_put(struct ux_blob_view *v, uint32_t i, struct ux_bytes packed,
			     struct ux_error *err)
{
	assert(i < v->table.n);
	uint64_t off = v->table.content[i], n = v->table.content[i + 1] - off;
	UX_TRY(ux_seek_frame_unpack(packed, v->frame, (size_t)n, err));
	UX_TRY(ux_file_write_at(v->fd, off, ux_bytes(v->frame, (size_t)n), err));
	atomic_store_explicit(&v->here[i], true, memory_order_release);
	return UX_OK;
}

/* Counts bytes before they are written. False: all views together would exceed the limit. */
static bool view_reserve(struct ux_blob_view *v, uint64_t n)
{
	struct ux_blob_views *views = v->views;
	uint64_t before = atomic_fetch_add_explicit(&views->bytes, n, memory_order_relaxed);
	if (views->bytes_max > 0 && before + n > views->bytes_max) {
		atomic_fetch_sub_explicit(&views->bytes, n, memory_order_relaxed);
		return false;
	}
	atomic_fetch_add_explicit(&v->brought, n, memory_order_relaxed);
	if (views->grown)
		views->grown(views->ctx);
	return true;
}

/* Subtracts bytes that view_reserve() counted. */
static void view_release(struct ux_blob_view *v, uint64_t n)
{
	atomic_fetch_sub_explicit(&v->brought, n, memory_order_relaxed);
	atomic_fetch_sub_explicit(&v->views->bytes, n, memory_order_relaxed);
}

/* Fetches frames from `first` to before `end`; *ret_end is the first frame not fetched. */
static enum ux_code view_fetch_counted(struct ux_blob_view *v, uint32_t first, uint32_t end,
				       uint32_t *ret_end, struct ux_error *err)
{
	uint64_t off = v->table.packed[first];
	size_t size = (size_t)view_packed_size(v, first, end);
	*ret_end = first;
	ux_cleanup(ux_free_ptr) uint8_t *packed = malloc(size + 1);
	if (!packed)
		return ux_error_nomem(err);
	UX_TRY(v->o.read(v->o.ctx, &v->o.hash, off, packed, size, err));
	v->packed += size;
	for (; *ret_end < end; ++*ret_end)
		UX_TRY(view_put(v, *ret_end,
				ux_bytes(packed + (v->table.packed[*ret_end] - off),
					 (size_t)view_packed_size(v, *ret_end, *ret_end + 1)),
				err));
	return UX_OK;
}

static enum ux_code view_fetch(struct ux_blob_view *v, uint32_t first, uint32_t end,
			       struct ux_error *err)
{
	assert(first < end && end <= v->table.n);
	const uint64_t *content = v->table.content;
	uint32_t fetched = first;
	if (v->packed + view_packed_size(v, first, end) > v->o.packed_max ||
	    !view_reserve(v, content[end] - content[first]))
		return UX_ELIMIT;
	enum ux_code code = view_fetch_counted(v, first, end, &fetched, err);
	view_release(v, content[end] - content[fetched]);
	return code;
}

/* --- the frames that a thread needs ----------------------------------------------------------- */

void ux_blob_need_deinit(struct ux_blob_need *need)
{
	ux_blob_frames_deinit(&need->frames);
}

void ux_blob_need(struct ux_blob_need *need, uint64_t off, uint64_t n)
{
	const struct ux_blob_view *v = need->view;
	if (n == 0 || off >= v->bytes.size)
		return;
	uint64_t last = off + ux_min(n, v->bytes.size - off) - 1;
	for (uint32_t i = ux_seek_table_find(&v->table, off);
	     i < v->table.n && v->table.content[i] <= last; i++)
		if (!view_has(v, i) && !ux_blob_frames_append(&need->frames, i))
			need->nomem = true;
}

static int frame_order(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Returns the end of the sorted frames from the i-th on that one request can fetch. */
static size_t need_run(const struct ux_blob_need *need, size_t i)
{
	assert(i < need->frames.size);
	const struct ux_blob_view *v = need->view;
	const uint32_t *frames = need->frames.data;
	size_t end = i + 1;
	while (end < need->frames.size && frames[end] <= frames[end - 1] + 1 &&
	       !view_has(v, frames[end]) &&
	       view_packed_size(v, frames[i], frames[end] + 1) <= REQUEST_BYTES)
		end++;
	return end;
}

enum ux_code ux_blob_need_bring(struct ux_blob_need *need, struct ux_error *err)
{
	struct ux_blob_view *v = need->view;
	uint32_t *frames = need->frames.data;
	enum ux_code code = need->nomem ? ux_error_nomem(err) : UX_OK;
	if (need->frames.size == 0 || code != UX_OK)
		return code;
	qsort(frames, need->frames.size, sizeof(*frames), frame_order);
	pthread_mutex_lock(&v->lock);
	for (size_t i = 0, end = 0; i < need->frames.size && code == UX_OK; i = end) {
		end = i + 1;
		if (view_has(v, frames[i])) /* another thread fetched it, or it is listed twice */
			continue;
		end = need_run(need, i);
		code = view_fetch(v, frames[i], frames[end - 1] + 1, err);
	}
	pthread_mutex_unlock(&v->lock);
	need->frames.size = 0;
	return code;
}
