/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver: maps addresses of one module to frames in its frame cache. */
#include "resolve.h"

#include "gsym_reader.h"
#include "order.h"

enum {
	SORTED = 64,  /* number of addresses from which on they are sorted */
	FEW = 8,      /* number of addresses below which single lookups are faster than a batch */
	FRAMES = 8,   /* initial room for frames of one address; the mean in real programs is 3 */
	LOCKED = 256, /* addresses added before the lock is released for readers */
	TRIES = 4,    /* other threads may fill a new cache immediately, even several times */
};

/* Addresses that are not cached, and their frames from the module's files. */
struct misses {
	size_t n;
	uint32_t *at; /* index in the caller's array */
	uint64_t *pcs;
	struct ux_frame_span *spans;
	uint32_t *todo; /* addresses to look up in the next candidate */
	uint64_t *todo_pcs;
	struct ux_frame_span *todo_spans;
	struct ux_frame *frames;
	size_t n_frames, max;
};

static void misses_deinit(struct misses *m)
{
	free(m->at);
	free(m->pcs);
	free(m->spans);
	free(m->todo);
	free(m->todo_pcs);
	free(m->todo_spans);
	free(m->frames);
}

void ux_resolver_deinit(struct ux_resolver *r)
{
	ux_frame_cache_unref(r->cache);
	r->cache = NULL;
}

/*
 * Sorts the addresses, so that consecutive lookups need memory that is close together. If memory is
 * short they stay unsorted.
 */
static void misses_sort(struct misses *m)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	ux_cleanup(ux_free_ptr) uint32_t *at = NULL;
	uint64_t bits = 0;
	for (size_t i = 0; i < m->n; i++)
		bits |= m->pcs[i];
	if (m->n < SORTED || !ux_order_init(&order, m->n + 1) || bits > ux_order_limit(&order) ||
	    !(at = calloc(m->n, sizeof(*at))))
		return;
	for (size_t i = 0; i < m->n; i++)
		ux_order_add(&order, m->pcs[i], i);
	if (!ux_order_sort(&order))
		return;
	for (size_t i = 0; i < m->n; i++) {
		m->pcs[i] = ux_order_address(&order, i);
		at[i] = m->at[ux_order_place(&order, i)];
	}
	free(m->at);
	m->at = ux_take(&at);
}

static bool misses_init(struct misses *m, const struct ux_resolver *r, const uint64_t *pcs,
			size_t n, const uint32_t *found, size_t unknown)
{
	size_t lists = unknown + 1;
	m->at = calloc(lists, sizeof(*m->at));
	m->pcs = calloc(lists, sizeof(*m->pcs));
	if (!m->at || !m->pcs)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (found[i] != UX_FRAME_UNKNOWN)
			continue;
		m->at[m->n] = (uint32_t)i;
		m->pcs[m->n++] = pcs[i] - r->back;
	}
	if (!r->unsorted)
		misses_sort(m);
	return true;
}

/* Allocates the arrays that lookups in the files need, for the addresses that remain. */
static bool misses_make_room(struct misses *m)
{
	size_t lists = m->n + 1;
	m->spans = calloc(lists, sizeof(*m->spans));
	m->todo = calloc(lists, sizeof(*m->todo));
	m->todo_pcs = calloc(lists, sizeof(*m->todo_pcs));
	m->todo_spans = calloc(lists, sizeof(*m->todo_spans));
	/* There must be room for the frames of at least one address from all candidates. */
	m->max = FRAMES * m->n + UX_MODULE_CANDIDATES_MAX * UX_FRAMES_MAX;
	m->frames = malloc(m->max * sizeof(*m->frames));
	return m->spans && m->todo && m->todo_pcs && m->todo_spans && m->frames;
}

/* --- lookups in the files --------------------------------------------------------------------- */

/* Looks up n addresses one by one; frames are written from m->frames[m->n_frames] on. */
static enum ux_code misses_look_up_few(struct misses *m, const struct ux_gsym *g,
				       struct ux_work *work, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t found = 0;
		if (m->max - m->n_frames < UX_FRAMES_MAX)
			return UX_ELIMIT;
		enum ux_code code =
			ux_gsym_lookup_within(g, m->todo_pcs[i], work, m->frames + m->n_frames,
					      UX_FRAMES_MAX, &found, NULL);
		if (code == UX_EUNAVAILABLE)
			return code;
		if (code != UX_OK) /* no function there, or its record is damaged */
			found = 0;
		m->todo_spans[i] = (struct ux_frame_span){(uint32_t)m->n_frames, (uint32_t)found};
		m->n_frames += found;
	}
	return UX_OK;
}

static enum ux_code misses_look_up_batch(struct misses *m, const struct ux_gsym *g,
					 struct ux_work *work, size_t n)
{
	struct ux_gsym_batch b = {.pcs = m->todo_pcs,
				  .n = n,
				  .work = work,
				  .frames = m->frames + m->n_frames,
				  .max = m->max - m->n_frames,
				  .spans = m->todo_spans};
	enum ux_code code = ux_gsym_batch(g, &b, NULL);
	if (code == UX_ENOMEM || code == UX_ELIMIT || code == UX_EUNAVAILABLE)
		return code;
	/* Otherwise a record may be damaged; the other results are valid. */
	for (size_t i = 0; i < n; i++)
		m->todo_spans[i].first += (uint32_t)m->n_frames;
	m->n_frames += b.n_frames;
	return UX_OK;
}

static bool misses_has_name(const struct misses *m, struct ux_frame_span s)
{
	return s.n > 0 && strcmp(m->frames[s.first + s.n - 1].function, UX_NO_NAME) != 0;
}

/*
 * Merges the results of the last candidate. Addresses that still have no name stay in todo; returns
 * how many there are.
 */
static size_t misses_merge(struct misses *m, size_t n)
{
	size_t left = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t k = m->todo[i];
		if (m->spans[k].n == 0 || misses_has_name(m, m->todo_spans[i]))
			m->spans[k] = m->todo_spans[i];
		if (!misses_has_name(m, m->spans[k]))
			m->todo[left++] = k;
	}
	return left;
}

/*
 * Looks up the addresses in all candidates. UX_ELIMIT: frames has no room for all results.
 * UX_EUNAVAILABLE: the work was refused.
 */
static enum ux_code misses_look_up(struct misses *m, const struct ux_open_module *module,
				   struct ux_work *work)
{
	size_t left = m->n;
	for (size_t i = 0; i < m->n; i++)
		m->todo[i] = (uint32_t)i;
	for (size_t c = 0; c < ux_open_module_count(module) && left > 0; c++) {
		const struct ux_gsym *g = ux_open_module_gsym(module, c);
		for (size_t i = 0; i < left; i++)
			m->todo_pcs[i] = m->pcs[m->todo[i]];
		/*
		 * A batch reads more of the tables than single lookups, and those parts may not be
		 * on the disk.
		 */
		bool few = left < FEW || !g->index;
		UX_TRY(few ? misses_look_up_few(m, g, work, left)
			   : misses_look_up_batch(m, g, work, left));
		left = misses_merge(m, left);
	}
	return UX_OK;
}

/* --- adding to the cache ---------------------------------------------------------------------- */

/*
 * Returns the lowest index in the caller's array among the misses from the i-th on; n: no misses
 * left.
 */
static size_t misses_first(const struct misses *m, size_t i, size_t all, size_t n)
{
	for (; i < all; i++)
		n = ux_min(n, (size_t)m->at[i]);
	return n;
}

/*
 * Adds the frames to the cache. There were `all` misses, and the first m->n of them were looked up.
 * Returns how many of the caller's addresses come before the first one without a frame number.
 */
static size_t misses_add(struct ux_resolver *r, const struct misses *m, size_t all, size_t n,
			 uint32_t *ret_frames)
{
	assert(m->n <= all && all <= n);
	for (size_t i = 0; i < m->n;) {
		bool good = true;
		ux_frame_cache_lock(r->cache);
		for (size_t end = ux_min(i + LOCKED, m->n); i < end && good; i += good) {
			const struct ux_frame *frames = m->frames + m->spans[i].first;
			size_t k = m->at[i], depth = m->spans[i].n;
			good = ux_frame_cache_add(r->cache, m->pcs[i], frames, depth,
						  &ret_frames[k]);
			if (r->offsets && good)
				r->offsets[k] = depth > 0 ? frames[depth - 1].offset : 0;
		}
		ux_frame_cache_unlock(r->cache);
		if (!good)
			return misses_first(m, i, all, n);
	}
	return misses_first(m, m->n, all, n);
}

static enum ux_code resolve_misses(struct ux_resolver *r, const uint64_t *pcs, size_t n,
				   size_t unknown, uint32_t *ret_frames, size_t *ret_done,
				   struct ux_error *err)
{
	assert(unknown > 0 && unknown <= n);
	ux_cleanup(misses_deinit) struct misses m = {0};
	if (!misses_init(&m, r, pcs, n, ret_frames, unknown))
		return ux_error_nomem(err);
	if (!r->brought)
		UX_TRY(ux_open_module_bring(r->module, m.pcs, m.n, /* back= */ 0, err));
	ux_open_module_note_added(r->module, r->mode, m.n);
	if (!misses_make_room(&m))
		return ux_error_nomem(err);
	enum ux_code code = UX_OK;
	size_t all = m.n;
	while ((code = misses_look_up(&m, r->module, r->work)) == UX_ELIMIT) {
		m.n /= 2; /* never reaches 0, since there is room for one address */
		assert(m.n > 0);
		m.n_frames = 0;
		memset(m.spans, 0, all * sizeof(*m.spans));
	}
	if (code == UX_EUNAVAILABLE)
		return ux_request_work_code(r->work, err);
	if (code != UX_OK)
		return ux_error_nomem(err);
	if (r->work)
		UX_TRY(ux_request_work_charge(r->work, UX_WORK_FRAME * (uint64_t)m.n_frames, err));
	*ret_done = misses_add(r, &m, all, n, ret_frames);
	return UX_OK;
}

static enum ux_code resolver_get_cache(struct ux_resolver *r, struct ux_error *err)
{
	r->fresh |= !r->cache || r->full;
	if (r->full || !r->cache)
		r->cache = ux_open_module_frames(r->module, r->mode, ux_take(&r->cache));
	r->full = false;
	return r->cache ? UX_OK : ux_error_nomem(err);
}

static enum ux_code resolve_cached(struct ux_resolver *r, const uint64_t *pcs, size_t n,
				   uint32_t *ret_frames, size_t *ret_done, struct ux_error *err)
{
	UX_TRY(resolver_get_cache(r, err));
	if (!ux_frame_cache_try_find(r->cache, pcs, n, r->back, ret_frames))
		return UX_EUNAVAILABLE;
	*ret_done = n;
	return UX_OK;
}

static ux_cold enum ux_code resolve_too_much(uint64_t pc, struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT, "0x%" PRIx64 " has too many frames", pc);
}

/* Begins a call: charges its addresses, and keeps the cache of the previous call for now. */
static enum ux_code resolve_begin(struct ux_resolver *r, size_t n, struct ux_error *err)
{
	r->fresh = false;
	return r->work ? ux_request_work_charge(r->work, n, err) : UX_OK;
}

/* Does the work of ux_resolve() after resolve_begin(). */
static enum ux_code resolve_frames(struct ux_resolver *r, const uint64_t *pcs, size_t n,
				   uint32_t *ret_frames, size_t *ret_done, struct ux_error *err)
{
	*ret_done = 0;
	for (unsigned i = 0; i < TRIES && *ret_done == 0; i++) {
		UX_TRY(resolver_get_cache(r, err));
		size_t unknown =
			ux_frame_cache_find(r->cache, pcs, n, r->back, ret_frames, r->offsets);
		if (unknown == 0)
			*ret_done = n;
		else
			UX_TRY(resolve_misses(r, pcs, n, unknown, ret_frames, ret_done, err));
		r->full = *ret_done < n;
		r->unsorted |= r->full;
	}
	return *ret_done > 0 ? UX_OK : resolve_too_much(pcs[0], err);
}

enum ux_code ux_resolve(struct ux_resolver *r, const uint64_t *pcs, size_t n, uint32_t *ret_frames,
			size_t *ret_done, struct ux_error *err)
{
	assert(n > 0);
	n = ux_min(n, (size_t)UX_RESOLVE_MAX);
	*ret_done = 0;
	UX_TRY(resolve_begin(r, n, err));
	return r->cached_only ? resolve_cached(r, pcs, n, ret_frames, ret_done, err)
			      : resolve_frames(r, pcs, n, ret_frames, ret_done, err);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* Finds the stacks by their frames. */
static enum ux_code resolve_make_stacks(struct ux_resolver *r, const uint64_t *pcs, size_t n,
					struct ux_resolved_stacks *ret, struct ux_error *err)
{
	size_t found = 0;
	UX_TRY(resolve_frames(r, pcs, n, ret->frames, &found, err));
	const size_t missing =
		ux_frame_cache_find_stacks(r->cache, ret->frames, found, ret->stacks);
	ret->n = missing == 0
			 ? found
			 : ux_frame_cache_make_stacks(r->cache, ret->frames, found, ret->stacks);
	r->full |= ret->n < found;
	return UX_OK;
}

enum ux_code ux_resolve_stacks(struct ux_resolver *r, const uint64_t *pcs, size_t n,
			       struct ux_resolved_stacks *ret, struct ux_error *err)
{
	assert(r->back == 0 && !r->offsets && !r->cached_only);
	assert(n > 0 && r->back == 0 && !r->offsets && !r->cached_only);
	n = ux_min(n, (size_t)UX_RESOLVE_MAX);
	ret->n = 0;
	UX_TRY(resolve_begin(r, n, err));
	for (unsigned i = 0; i < TRIES && ret->n == 0; i++) {
		UX_TRY(resolver_get_cache(r, err));
		UX_TRY(resolve_make_stacks(r, pcs, n, ret, err));
	}
	return ret->n > 0 ? UX_OK : resolve_too_much(pcs[0], err);
}
