/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content is a sparse, completely mapped file; frames are written into it as they arrive. A
 * frame is fetched once; its flag in `here` is set after its bytes are written.
 */
#include "blob_view.h"

#include "file.h"
#include "pool.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* compressed bytes of one request, unless a single frame has more */
	REQUEST_BYTES = 1 << 20,
	/* compressed bytes that are fetched although no one needs them, to save a request */
	GAP_BYTES = 64 << 10,
	PARALLEL = 16, /* requests for one view at the same time */
	/* compressed bytes that arrive in about the time that requests take to be answered */
	ROUND_BYTES = 256 << 10,
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
};

/* Frames that one request fetches. */
struct view_run {
	uint32_t first, end;
	uint32_t fetched; /* the first one that is not there */
	bool read;        /* the request succeeded */
};

UX_VEC(view_runs, struct view_run);

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

/* Unpacks a frame to its place; frame: room for it. */
static enum ux_code view_put(struct ux_blob_view *v, uint32_t i, struct ux_bytes packed,
			     uint8_t *frame, struct ux_error *err)
{
	assert(i < v->table.n);
	uint64_t off = v->table.content[i], n = v->table.content[i + 1] - off;
	UX_TRY(ux_seek_frame_unpack(packed, frame, (size_t)n, err));
	UX_TRY(ux_file_write_at(v->fd, off, ux_bytes(frame, (size_t)n), err));
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

/* The runs of one call, each a job. */
struct view_fetch {
	struct ux_blob_view *v;
	struct view_runs runs;
};

static enum ux_code view_fetch_run(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	const struct view_fetch *f = ctx;
	struct ux_blob_view *v = f->v;
	struct view_run *run = &f->runs.data[job];
	uint64_t off = v->table.packed[run->first];
	size_t size = (size_t)view_packed_size(v, run->first, run->end);
	(void)worker;
	ux_cleanup(ux_free_ptr) uint8_t *packed = malloc(size + 1);
	ux_cleanup(ux_free_ptr) uint8_t *frame = malloc(UX_SEEK_FRAME_MAX);
	if (!packed || !frame)
		return ux_error_nomem(err);
	UX_TRY(v->o.read(v->o.ctx, &v->o.hash, off, packed, size, err));
	run->read = true;
	for (; run->fetched < run->end; run->fetched++)
		UX_TRY(view_put(
			v, run->fetched,
			ux_bytes(packed + (v->table.packed[run->fetched] - off),
				 (size_t)view_packed_size(v, run->fetched, run->fetched + 1)),
			frame, err));
	return UX_OK;
}

/*
 * Returns whether the whole blob would be there sooner: it takes one request, whose bytes come
 * without a pause.
 */
static bool view_whole_is_cheaper(const struct ux_blob_view *v, size_t n_runs, uint64_t packed)
{
	uint64_t rounds = (n_runs + PARALLEL - 1) / PARALLEL;
	return n_runs > 1 && packed + rounds * ROUND_BYTES >= v->table.packed[v->table.n];
}

/* Fetches all runs, several at a time. Decides first, so that nothing is fetched in vain. */
static enum ux_code view_fetch(struct view_fetch *f, struct ux_error *err)
{
	struct ux_blob_view *v = f->v;
	const uint64_t *content = v->table.content;
	uint64_t packed = 0, bytes = 0, missing = 0;
	for (size_t i = 0; i < f->runs.size; i++) {
		const struct view_run *run = &f->runs.data[i];
		assert(run->first < run->end && run->end <= v->table.n);
		packed += view_packed_size(v, run->first, run->end);
		bytes += content[run->end] - content[run->first];
	}
	if (v->packed + packed > v->o.packed_max ||
	    view_whole_is_cheaper(v, f->runs.size, packed) || !view_reserve(v, bytes))
		return UX_ELIMIT;
	enum ux_code code = ux_pool_run(PARALLEL, f->runs.size, view_fetch_run, f, err);
	for (size_t i = 0; i < f->runs.size; i++) {
		const struct view_run *run = &f->runs.data[i];
		v->packed += run->read ? view_packed_size(v, run->first, run->end) : 0;
		missing += content[run->end] - content[run->fetched];
	}
	view_release(v, missing);
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

/* Tests whether a request for frames up to `end` should also fetch those up to `next`. */
static bool need_joins(const struct ux_blob_view *v, const struct view_run *run, uint32_t next)
{
	if (view_packed_size(v, run->end, next) > GAP_BYTES ||
	    view_packed_size(v, run->first, next + 1) > REQUEST_BYTES)
		return false;
	for (uint32_t i = run->end; i < next; i++)
		if (view_has(v, i))
			return false;
	return true;
}

/* Makes the runs of the sorted frames. False: no memory. */
static bool need_runs(const struct ux_blob_need *need, struct view_runs *runs)
{
	const struct ux_blob_view *v = need->view;
	for (size_t i = 0; i < need->frames.size; i++) {
		uint32_t frame = need->frames.data[i];
		struct view_run *last = runs->size > 0 ? &runs->data[runs->size - 1] : NULL;
		/* another thread fetched it, or it is listed twice */
		if (view_has(v, frame) || (last && frame < last->end))
			continue;
		if (last && need_joins(v, last, frame))
			last->end = frame + 1;
		else if (!view_runs_append(runs, (struct view_run){frame, frame + 1, frame, false}))
			return false;
	}
	return true;
}

enum ux_code ux_blob_need_bring(struct ux_blob_need *need, struct ux_error *err)
{
	struct view_fetch f = {.v = need->view};
	enum ux_code code = need->nomem ? ux_error_nomem(err) : UX_OK;
	if (need->frames.size == 0 || code != UX_OK)
		return code;
	qsort(need->frames.data, need->frames.size, sizeof(*need->frames.data), frame_order);
	pthread_mutex_lock(&f.v->lock);
	code = need_runs(need, &f.runs) ? UX_OK : ux_error_nomem(err);
	if (code == UX_OK && f.runs.size > 0)
		code = view_fetch(&f, err);
	pthread_mutex_unlock(&f.v->lock);
	view_runs_deinit(&f.runs);
	need->frames.size = 0;
	return code;
}
