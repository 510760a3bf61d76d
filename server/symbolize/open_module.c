/* SPDX-License-Identifier: Apache-2.0 */
/* An open module: its candidates, the frame caches and the names of functions. */
#include "open_module.h"

#include "clock.h"
#include "frame_filler.h"
#include "gsym_segments.h"
#include "open_candidate.h"

#include <stdatomic.h>

enum {
	POOR_S = 60, /* seconds between two searches for better symbols of one module */
	/*
	 * most different addresses for which parts of a file are fetched; more would need much of
	 * the file
	 */
	PARTS_MAX = 1000,
	/*
	 * A frame cache is filled after FILL_MIN addresses were added to it, and one more for each
	 * FILL_BYTES_EACH bytes of the best candidate's file. Filling takes as long as some 100,000
	 * addresses of a file of 20 MB, but in the background; after thousands of different
	 * addresses of a module more are likely to follow. FILL_AGAIN multiplies the number each
	 * time that there was no room.
	 */
	FILL_MIN = 2048,
	FILL_BYTES_EACH = 4096,
	FILL_AGAIN = 8,
	FILL_HALVES = 5,     /* a filled cache needs at least 5/2 of the file's size */
	FILLED_QUARTERS = 3, /* the limit of a filled cache is 3/4 of the memory of all caches */
};

/* Whether a module has a filled frame cache of a demangling mode. */
enum fill_state {
	FILL_NOT_YET,
	FILL_QUEUED,
	FILL_DONE,
};

/* When the frame cache of a demangling mode is filled. */
struct module_fill {
	atomic_size_t added; /* addresses added since the cache was empty */
	/* number of added addresses at which the cache is filled; 0: not known yet */
	atomic_size_t min;
	atomic_int state;
};

struct ux_open_module {
	/* acquire-release, so that the last holder frees the module after all reads */
	atomic_uint refs;
	int64_t number; /* number of the module in the index */
	/*
	 * Monotonic second at which the last use was noted. No memory order is needed, since noting
	 * a use twice is harmless.
	 */
	_Atomic int64_t noted;
	/* monotonic second until which no better symbols are searched for */
	_Atomic int64_t poor_until;
	/*
	 * only parts of some candidate are on the disk; cleared with release, after its gsym was
	 * set
	 */
	atomic_bool in_parts;
	bool had_parts; /* a candidate has a view */
	bool partial;   /* a candidate was unavailable, so the module is not kept open */
	size_t n;
	struct ux_open_candidate candidates[UX_MODULE_CANDIDATES_MAX];
	pthread_mutex_t lock;        /* guards the names of the candidates */
	pthread_mutex_t whole_lock;  /* held while the candidates are opened as whole files */
	pthread_mutex_t frames_lock; /* guards frames; held only briefly, never while waiting */
	struct ux_frame_cache *frames[UX_FRAME_CACHE_MODES];
	struct module_fill fills[UX_FRAME_CACHE_MODES];
	/*
	 * bytes of the candidates' indexes that were added to the sum; no memory order is needed
	 * for that
	 */
	atomic_size_t index_bytes;
	struct ux_module_memory *memory; /* the accounts of the cache */
	struct ux_blobs *blobs;
};

size_t ux_open_module_count(const struct ux_open_module *m)
{
	return m->n;
}

const struct ux_gsym *ux_open_module_gsym(const struct ux_open_module *m, size_t i)
{
	assert(i < m->n);
	return ux_open_candidate_gsym(&m->candidates[i]);
}

enum ux_quality ux_open_module_quality(const struct ux_open_module *m)
{
	assert(m->n > 0);
	return m->candidates[0].quality;
}

enum ux_trust ux_open_module_trust(const struct ux_open_module *m)
{
	return m->candidates[0].trust;
}

enum ux_code ux_open_module_image_start(const struct ux_open_module *m, uint64_t *ret,
					struct ux_error *err)
{
	for (size_t i = 0; i < m->n; i++)
		if (ux_gsym_image_start(ux_open_module_gsym(m, i), ret))
			return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND,
			    "its symbols do not record where the file's image begins");
}

/* The share of one module's frame cache, and of one index, in the memory of all. */
enum {
	FRAMES_SHARE = 2,
	INDEX_SHARE = 4,
};

size_t ux_module_memory_share(const struct ux_module_memory *memory, size_t share)
{
	return atomic_load_explicit(&memory->max, memory_order_relaxed) / share;
}

/* Adds to the sum by how much the indexes grew since the last call. */
static void module_charge_indexes(struct ux_open_module *m)
{
	size_t bytes = 0;
	for (size_t i = 0; i < m->n; i++)
		bytes += ux_gsym_index_bytes(ux_open_module_gsym(m, i));
	size_t before = atomic_exchange_explicit(&m->index_bytes, bytes, memory_order_relaxed);
	/* a negative difference wraps, and so does the sum */
	atomic_fetch_add_explicit(&m->memory->bytes, bytes - before, memory_order_relaxed);
}

void ux_open_module_ref(struct ux_open_module *m)
{
	assert(atomic_load_explicit(&m->refs, memory_order_relaxed) > 0);
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
}

/* Drops the names of functions, unless a request is using them. Returns their size. */
static size_t module_drop_names(struct ux_open_module *m)
{
	size_t bytes = 0;
	if (pthread_mutex_trylock(&m->lock) != 0)
		return 0;
	for (size_t i = 0; i < m->n; i++) {
		struct ux_gsym_names *names = &m->candidates[i].names;
		bytes += names->n * sizeof(*names->list);
		ux_gsym_names_deinit(names);
	}
	pthread_mutex_unlock(&m->lock);
	atomic_fetch_sub_explicit(&m->memory->bytes, bytes, memory_order_relaxed);
	return bytes;
}

void ux_open_module_unref(struct ux_open_module *m)
{
	if (!m)
		return;
	module_charge_indexes(m);
	if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
		return;
	atomic_fetch_sub_explicit(&m->memory->bytes,
				  atomic_load_explicit(&m->index_bytes, memory_order_relaxed),
				  memory_order_relaxed);
	(void)module_drop_names(m);
	for (size_t i = 0; i < m->n; i++)
		ux_open_candidate_close(&m->candidates[i]);
	for (size_t i = 0; i < UX_FRAME_CACHE_MODES; i++)
		ux_frame_cache_unref(m->frames[i]);
	pthread_mutex_destroy(&m->frames_lock);
	pthread_mutex_destroy(&m->whole_lock);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/*
 * Resets the state after the frame cache of a mode became empty: it is filled after as many
 * addresses as the first time, or after more if there was no room.
 */
static void module_fill_reset(struct module_fill *f, bool no_room)
{
	const size_t min = atomic_load_explicit(&f->min, memory_order_relaxed);
	if (no_room && min <= SIZE_MAX / FILL_AGAIN)
		atomic_store_explicit(&f->min, min * FILL_AGAIN, memory_order_relaxed);
	atomic_store_explicit(&f->added, 0, memory_order_relaxed);
	atomic_store_explicit(&f->state, FILL_NOT_YET, memory_order_relaxed);
}

struct ux_frame_cache *ux_open_module_frames(struct ux_open_module *m, enum ux_demangle_mode mode,
					     struct ux_frame_cache *full)
{
	assert((unsigned)mode < UX_FRAME_CACHE_MODES);
	struct ux_frame_cache *old = NULL, *cache = NULL;
	pthread_mutex_lock(&m->frames_lock);
	if (full && m->frames[mode] == full)
		old = ux_take(&m->frames[mode]);
	if (old && ux_frame_cache_is_filled(old))
		module_fill_reset(&m->fills[mode], /* no_room= */ true);
	if (!m->frames[mode]) {
		m->frames[mode] = ux_frame_cache_create(mode, &m->memory->bytes);
		if (m->frames[mode])
			ux_frame_cache_limit(m->frames[mode],
					     ux_module_memory_share(m->memory, FRAMES_SHARE));
	}
	if (m->frames[mode])
		cache = ux_frame_cache_ref(m->frames[mode]);
	pthread_mutex_unlock(&m->frames_lock);
	ux_frame_cache_unref(old);
	ux_frame_cache_unref(full);
	return cache;
}

void ux_open_module_note_added(struct ux_open_module *m, enum ux_demangle_mode mode, size_t n)
{
	assert((unsigned)mode < UX_FRAME_CACHE_MODES);
	struct module_fill *f = &m->fills[mode];
	size_t added = n + atomic_fetch_add_explicit(&f->added, n, memory_order_relaxed);
	size_t min = atomic_load_explicit(&f->min, memory_order_relaxed);
	if (added < FILL_MIN ||
	    atomic_load_explicit(&f->state, memory_order_relaxed) != FILL_NOT_YET ||
	    atomic_load_explicit(&m->in_parts, memory_order_acquire))
		return;
	if (min == 0) {
		min = ux_max(ux_open_module_gsym(m, 0)->file.size / FILL_BYTES_EACH,
			     (size_t)FILL_MIN);
		atomic_store_explicit(&f->min, min, memory_order_relaxed);
	}
	int before = FILL_NOT_YET;
	if (added < min ||
	    !atomic_compare_exchange_strong_explicit(&f->state, &before, FILL_QUEUED,
						     memory_order_relaxed, memory_order_relaxed))
		return;
	if (!ux_frame_filler_add(m->memory->filler, m, mode))
		module_fill_reset(f, /* no_room= */ false);
}

static size_t module_filled_limit(const struct ux_module_memory *memory)
{
	return ux_module_memory_share(memory, 4) * FILLED_QUARTERS;
}

/* Returns the bytes that are left for a filled cache: no other cache is evicted for it. */
static size_t module_fill_room(const struct ux_module_memory *memory)
{
	const size_t max = ux_module_memory_share(memory, 1),
		     used = atomic_load_explicit(&memory->bytes, memory_order_relaxed);
	return ux_min(module_filled_limit(memory), max - ux_min(max, used));
}

/* Makes a filled cache of the module; NULL: not possible now. */
static struct ux_frame_cache *module_make_filled(struct ux_open_module *m,
						 enum ux_demangle_mode mode,
						 const atomic_bool *stop)
{
	const struct ux_gsym *g = ux_open_module_gsym(m, 0);
	const size_t room = module_fill_room(m->memory);
	if (g->file.size / 2 * FILL_HALVES > room) /* known before any work is done */
		return NULL;
	struct ux_frame_cache *cache = ux_frame_cache_create(mode, &m->memory->bytes);
	if (!cache)
		return NULL;
	ux_frame_cache_limit(cache, room);
	if (ux_frame_cache_fill(cache, g, stop) != UX_OK)
		ux_frame_cache_unref(ux_take(&cache));
	return cache;
}

bool ux_open_module_fill(struct ux_open_module *m, enum ux_demangle_mode mode,
			 const atomic_bool *stop)
{
	assert((unsigned)mode < UX_FRAME_CACHE_MODES);
	struct ux_frame_cache *cache = module_make_filled(m, mode, stop);
	if (!cache) {
		module_fill_reset(&m->fills[mode], /* no_room= */ true);
		return false;
	}
	ux_frame_cache_limit(cache, module_filled_limit(m->memory));
	pthread_mutex_lock(&m->frames_lock);
	struct ux_frame_cache *old = m->frames[mode];
	m->frames[mode] = cache;
	atomic_store_explicit(&m->fills[mode].state, FILL_DONE, memory_order_relaxed);
	pthread_mutex_unlock(&m->frames_lock);
	ux_frame_cache_unref(old);
	return true;
}

/*
 * Drops the names and the frame caches. Returns their size, including caches that requests still
 * hold.
 */
size_t ux_open_module_drop_frames(struct ux_open_module *m)
{
	size_t bytes = module_drop_names(m);
	for (size_t i = 0; i < UX_FRAME_CACHE_MODES; i++) {
		pthread_mutex_lock(&m->frames_lock);
		struct ux_frame_cache *cache = ux_take(&m->frames[i]);
		if (cache && ux_frame_cache_is_filled(cache))
			module_fill_reset(&m->fills[i], /* no_room= */ false);
		pthread_mutex_unlock(&m->frames_lock);
		bytes += cache ? ux_frame_cache_bytes(cache) : 0;
		ux_frame_cache_unref(cache);
	}
	return bytes;
}

/*
 * Replaces the indexes of a module by empty ones, unless a request uses it. The lock of the cache
 * must be held, so that no request can begin to use it. Returns their size.
 */
size_t ux_open_module_drop_indexes(struct ux_open_module *m)
{
	size_t before = atomic_load_explicit(&m->index_bytes, memory_order_relaxed);
	if (before == 0 || atomic_load_explicit(&m->refs, memory_order_acquire) > 1)
		return 0;
	for (size_t i = 0; i < m->n; i++) {
		struct ux_gsym *g = ux_open_candidate_gsym(&m->candidates[i]);
		if (!g->index)
			continue;
		ux_gsym_index_free(g);
		/* if memory is short it has no index */
		(void)!ux_gsym_index_open(g, ux_module_memory_share(m->memory, INDEX_SHARE), NULL);
	}
	module_charge_indexes(m);
	size_t after = atomic_load_explicit(&m->index_bytes, memory_order_relaxed);
	return before - ux_min(before, after);
}

/* --- parts of candidates -------------------------------------------------------------------- */

/*
 * A candidate that turns out to be damaged loses its functions. When all are damaged the module
 * cannot be read; the next request finds that by itself.
 */
static enum ux_code module_open_whole(struct ux_open_module *m, struct ux_error *err)
{
	size_t good = 0;
	struct ux_error why = UX_ERROR_INIT;
	for (size_t i = 0; i < m->n; i++) {
		struct ux_open_candidate *c = &m->candidates[i];
		if (!ux_open_candidate_is_in_parts(c)) {
			good++;
			continue;
		}
		enum ux_code code = ux_open_candidate_complete(
			c, m->blobs, ux_module_memory_share(m->memory, INDEX_SHARE), &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code == UX_EUNAVAILABLE)
			return ux_error_set(err, code, "%s", why.text);
		if (code != UX_OK)
			ux_open_candidate_set_damaged(c);
		good += code == UX_OK;
	}
	atomic_store_explicit(&m->in_parts, false, memory_order_release);
	return good > 0 ? UX_OK
			: ux_error_set(err, UX_ECORRUPT, "no candidate can be opened: %.60s",
				       why.text);
}

enum ux_code ux_open_module_complete(struct ux_open_module *m, struct ux_error *err)
{
	enum ux_code code = UX_OK;
	if (!atomic_load_explicit(&m->in_parts, memory_order_acquire))
		return UX_OK;
	pthread_mutex_lock(&m->whole_lock);
	if (atomic_load_explicit(&m->in_parts, memory_order_acquire))
		code = module_open_whole(m, err);
	pthread_mutex_unlock(&m->whole_lock);
	return code;
}

/*
 * Moves the addresses for which the candidate has no name to the front. Returns how many there are.
 */
static size_t module_keep_unnamed(const struct ux_gsym *g, uint64_t *pcs, size_t n)
{
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		size_t depth = 0;
		enum ux_code code = ux_gsym_lookup(g, pcs[i], frames, UX_FRAMES_MAX, &depth, NULL);
		if (code != UX_OK || depth == 0 ||
		    strcmp(frames[depth - 1].function, UX_NO_NAME) == 0)
			pcs[left++] = pcs[i];
	}
	return left;
}

/* Tests for codes that do not mean a damaged file. */
static bool module_brings_no_more(enum ux_code code)
{
	return code == UX_EUNAVAILABLE || code == UX_ENOMEM;
}

/* Fetches the parts that the addresses need. UX_ELIMIT: the whole file is needed. */
static enum ux_code module_bring(struct ux_open_module *m, uint64_t *pcs, size_t n,
				 struct ux_error *err)
{
	for (size_t i = 0; i < m->n && n > 0; i++) {
		const struct ux_open_candidate *c = &m->candidates[i];
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_open_candidate_bring(c, pcs, n, &why);
		/* A frame that is damaged or cannot be written: read an intact copy of the file. */
		if (code != UX_OK && !module_brings_no_more(code))
			return UX_ELIMIT;
		if (code != UX_OK && err && err->code == UX_OK)
			*err = why;
		if (code != UX_OK)
			return code;
		if (i + 1 < m->n)
			n = module_keep_unnamed(ux_open_candidate_gsym(c), pcs, n);
	}
	return UX_OK;
}

static int module_pc_order(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Sorts addresses and moves the distinct ones to the front. Returns how many are distinct. */
static size_t module_sort_pcs(uint64_t *pcs, size_t n)
{
	size_t kept = 0;
	qsort(pcs, n, sizeof(*pcs), module_pc_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || pcs[kept - 1] != pcs[i])
			pcs[kept++] = pcs[i];
	return kept;
}

enum ux_code ux_open_module_bring(struct ux_open_module *m, const uint64_t *pcs, size_t n,
				  uint64_t back, struct ux_error *err)
{
	if (n == 0 || !atomic_load_explicit(&m->in_parts, memory_order_acquire))
		return UX_OK;
	ux_cleanup(ux_free_ptr) uint64_t *left = malloc(n * sizeof(*left));
	if (!left)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		left[i] = pcs[i] - back;
	n = module_sort_pcs(left, n);
	enum ux_code code = n > PARTS_MAX ? UX_ELIMIT : module_bring(m, left, n, err);
	return code == UX_ELIMIT ? ux_open_module_complete(m, err) : code;
}

enum ux_code ux_open_module_extent(struct ux_open_module *m, uint64_t pc, uint64_t *ret_start,
				   uint64_t *ret_size, struct ux_error *err)
{
	UX_TRY(ux_open_module_bring(m, &pc, 1, /* back= */ 0, err));
	for (size_t i = 0; i < m->n; i++)
		if (ux_gsym_extent(ux_open_module_gsym(m, i), pc, ret_start, ret_size, NULL) ==
		    UX_OK)
			return UX_OK;
	return ux_error_set(err, UX_ENOTFOUND, "no function at 0x%" PRIx64, pc);
}

enum ux_code ux_open_module_segments(struct ux_open_module *m, struct ux_gsym_segments *ret,
				     struct ux_error *err)
{
	for (size_t i = 0; i < m->n; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_open_candidate_bring_segments(&m->candidates[i], &why);
		if (module_brings_no_more(code))
			return ux_error_set(err, code, "%s", why.text);
		if (code != UX_OK)
			UX_TRY(ux_open_module_complete(m, err));
		if (ux_gsym_segments_read(ux_open_module_gsym(m, i)->file, ret) > 0)
			return UX_OK;
	}
	return UX_ENOTFOUND;
}

enum ux_code ux_open_module_file_pc(struct ux_open_module *m, uint64_t off, uint64_t *ret,
				    struct ux_error *err)
{
	struct ux_gsym_segments segments;
	UX_TRY(ux_open_module_segments(m, &segments, err));
	return ux_gsym_segments_pc(&segments, off, ret) ? UX_OK : UX_ENOTFOUND;
}

/* --- functions by name ------------------------------------------------------------------------ */

static enum ux_code module_read_names(struct ux_open_module *m, struct ux_open_candidate *c,
				      uint64_t *budget, struct ux_work *work, struct ux_error *err)
{
	if (c->names.list)
		return UX_OK;
	const struct ux_gsym *g = ux_open_candidate_gsym(c);
	uint64_t max = ux_gsym_names_max(g);
	if (max > *budget)
		return ux_error_set(
			err, UX_ELIMIT,
			"function names refer to too many large modules; request fewer");
	*budget -= max;
	enum ux_code code = ux_gsym_names_build(&c->names, g, work, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK)
		atomic_fetch_add_explicit(&m->memory->bytes, c->names.n * sizeof(*c->names.list),
					  memory_order_relaxed);
	/* If the names are damaged, the function counts as absent. */
	return code == UX_OK || code == UX_EUNAVAILABLE ? code : UX_ENOTFOUND;
}

enum ux_code ux_open_module_find(struct ux_open_module *m, struct ux_bytes name, uint64_t size,
				 uint64_t *budget, struct ux_work *work, uint64_t *ret,
				 struct ux_error *err)
{
	uint64_t starts[UX_GSYM_STARTS_MAX];
	size_t n = 0;
	bool more = false;
	UX_TRY(ux_open_module_find_all(m, name, budget, work, starts, UX_GSYM_STARTS_MAX, &n, &more,
				       err));
	for (size_t i = 0; i < m->n; i++)
		n = ux_gsym_starts_filter(ux_open_module_gsym(m, i), starts, n, size);
	if (n == 0)
		return UX_ENOTFOUND;
	*ret = starts[0];
	return UX_OK;
}

enum ux_code ux_open_module_find_all(struct ux_open_module *m, struct ux_bytes name,
				     uint64_t *budget, struct ux_work *work, uint64_t *starts,
				     size_t max, size_t *ret_n, bool *ret_more,
				     struct ux_error *err)
{
	enum ux_code code = UX_ENOTFOUND;
	*ret_n = 0;
	UX_TRY(ux_open_module_complete(m, err));
	pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n && code == UX_ENOTFOUND; i++) {
		struct ux_open_candidate *c = &m->candidates[i];
		code = module_read_names(m, c, budget, work, err);
		if (code != UX_OK)
			continue;
		*ret_n = ux_gsym_names_find_all(&c->names, ux_open_candidate_gsym(c), name, starts,
						max, ret_more);
		code = *ret_n > 0 ? UX_OK : UX_ENOTFOUND;
	}
	pthread_mutex_unlock(&m->lock);
	return code;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* A less trusted candidate than the best one gives no names, not even where that has none. */
static bool candidate_gives_names(const struct ux_candidate *c, const struct ux_candidate *best)
{
	return c->kind == UX_KIND_GSYM && c->state == UX_CANDIDATE_READY && best &&
	       c->trust == best->trust;
}

/* A candidate that cannot be opened is skipped if another one can, unless memory is short. */
static enum ux_code module_open_candidates(struct ux_open_module *m, const struct ux_module *row,
					   const char *id, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_candidate *best = ux_module_best(row, UX_KIND_GSYM);
	for (size_t i = 0; i < row->n_candidates && m->n < UX_MODULE_CANDIDATES_MAX; i++) {
		struct ux_open_candidate *c = &m->candidates[m->n];
		if (!candidate_gives_names(&row->candidates[i], best))
			continue;
		enum ux_code code = ux_open_candidate_open(
			c, m->blobs, &row->candidates[i],
			ux_module_memory_share(m->memory, INDEX_SHARE), &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		/*
		 * A better candidate will soon give other answers: do not answer from a poorer one
		 * now.
		 */
		if (code == UX_EUNAVAILABLE && m->n == 0)
			return ux_error_set(err, UX_EUNAVAILABLE, "%s", why.text);
		m->partial = m->partial || code == UX_EUNAVAILABLE;
		m->had_parts = m->had_parts || (code == UX_OK && c->view);
		m->n += code == UX_OK;
	}
	return m->n > 0 ? UX_OK
			: ux_error_set(err, UX_ECORRUPT,
				       "no candidate of %.80s can be opened: %.60s", id, why.text);
}

enum ux_code ux_open_module_open(struct ux_open_module **ret, struct ux_blobs *blobs,
				 struct ux_module_memory *memory, const struct ux_module *row,
				 const char *id, struct ux_error *err)
{
	struct ux_open_module *m = calloc(1, sizeof(*m));
	if (!m)
		return ux_error_nomem(err);
	atomic_init(&m->refs, 1);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->whole_lock, NULL);
	pthread_mutex_init(&m->frames_lock, NULL);
	m->memory = memory;
	m->blobs = blobs;
	enum ux_code code = module_open_candidates(m, row, id, err);
	if (code != UX_OK) {
		ux_open_module_unref(m);
		return code;
	}
	atomic_init(&m->in_parts, m->had_parts);
	m->number = row->number;
	atomic_init(&m->noted, ux_clock_coarse_ms() / 1000);
	*ret = m;
	return UX_OK;
}

/* --- for the cache of modules ----------------------------------------------------------------- */

int64_t ux_open_module_number(const struct ux_open_module *m)
{
	return m->number;
}

bool ux_open_module_is_partial(const struct ux_open_module *m)
{
	return m->partial;
}

bool ux_open_module_had_parts(const struct ux_open_module *m)
{
	return m->had_parts;
}

bool ux_open_module_is_double(const struct ux_open_module *m)
{
	return m->had_parts && !atomic_load_explicit(&m->in_parts, memory_order_relaxed);
}

uint64_t ux_open_module_parts_bytes(const struct ux_open_module *m)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < m->n; i++)
		bytes += ux_open_candidate_parts_bytes(&m->candidates[i]);
	return bytes;
}

bool ux_open_module_note_use(struct ux_open_module *m)
{
	int64_t now = ux_clock_coarse_ms() / 1000;
	if (now - atomic_load_explicit(&m->noted, memory_order_relaxed) < UX_STORE_USE_S)
		return false;
	atomic_store_explicit(&m->noted, now, memory_order_relaxed);
	return true;
}

bool ux_open_module_is_poor(struct ux_open_module *m)
{
	if (m->candidates[0].quality >= UX_QUALITY_SYMTAB)
		return false;
	const int64_t now = ux_clock_coarse_ms() / 1000;
	if (now < atomic_load_explicit(&m->poor_until, memory_order_relaxed))
		return false;
	atomic_store_explicit(&m->poor_until, now + POOR_S, memory_order_relaxed);
	return true;
}
