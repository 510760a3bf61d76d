/* SPDX-License-Identifier: Apache-2.0 */
/* The frame cache of a module: creation, release and its table of addresses. */
#include "frame_cache_internal.h"

#include "table_memory.h"

enum {
	FIRST_SLOTS = 256,
	AHEAD = 16, /* how many slots ahead is prefetched */
};

void *frame_cache_append(struct ux_frame_cache *m, struct ux_frame_cache_list *l, size_t size,
			 uint32_t *ret_number)
{
	size_t place = ux_frame_cache_place((uint32_t)l->n + 1);
	size_t piece = ux_frame_cache_piece(place), first = (size_t)1 << piece;
	if (piece == UX_FRAME_CACHE_PIECES)
		return NULL;
	if (place == first) { /* first item of a new piece, which holds `first` items */
		void *items =
			m->bytes + first * size <= m->max ? ux_table_alloc(first * size) : NULL;
		if (!items)
			return NULL;
		l->origins[piece] = (uintptr_t)items - first * size;
		frame_cache_charge(m, first * size);
	}
	*ret_number = (uint32_t)++l->n;
	return ux_frame_cache_item(l, size, *ret_number);
}

void *frame_cache_memory(struct ux_frame_cache *m, size_t size, size_t align)
{
	size_t before = m->arena.used;
	if (m->bytes + size > m->max)
		return NULL;
	/* the next block of the arena may exceed the cache's remaining memory */
	m->arena.budget = m->arena.used + (m->max - m->bytes);
	void *memory = ux_arena_alloc(&m->arena, size, align);
	frame_cache_charge(m, m->arena.used - before);
	return memory;
}

bool frame_cache_lengthen(struct ux_frame_cache *m, void **table, size_t *cap, size_t want,
			  size_t size)
{
	size_t n = ux_max(want, 2 * *cap);
	if (want <= *cap)
		return true;
	if (m->bytes + (n - *cap) * size > m->max)
		return false;
	char *more = reallocarray(*table, n, size);
	if (!more)
		return false;
	memset(more + *cap * size, 0, (n - *cap) * size);
	frame_cache_charge(m, (n - *cap) * size);
	*table = more;
	*cap = n;
	return true;
}

static void frame_cache_list_free(struct ux_frame_cache_list *l, size_t size)
{
	size_t end = l->n > 0 ? ux_frame_cache_piece(ux_frame_cache_place((uint32_t)l->n)) + 1 : 0;
	for (size_t i = UX_FRAME_CACHE_PIECE_FIRST; i < end; i++)
		ux_table_free((void *)(l->origins[i] + ((size_t)1 << i) * size), size << i);
}

struct ux_frame_cache *ux_frame_cache_create(enum ux_demangle_mode mode, atomic_size_t *all)
{
	pthread_rwlockattr_t attr;
	struct ux_frame_cache *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	atomic_init(&m->refs, 1);
	m->mode = mode;
	m->all = all;
	pthread_rwlockattr_init(&attr);
	/* With the default kind of lock, a steady stream of readers would starve the writers. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&m->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	ux_frame_cache_limit(m, UX_FRAME_CACHE_MAX);
	ux_arena_init(&m->arena, UX_FRAME_CACHE_MAX); /* frame_cache_memory() sets its budget */
	frame_cache_charge(m, sizeof(*m));
	return m;
}

void ux_frame_cache_limit(struct ux_frame_cache *m, size_t max)
{
	m->max = max;
}

struct ux_frame_cache *ux_frame_cache_ref(struct ux_frame_cache *m)
{
	atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
	return m;
}

void ux_frame_cache_unref(struct ux_frame_cache *m)
{
	if (!m || atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) > 1)
		return;
	atomic_fetch_sub_explicit(m->all, m->bytes, memory_order_relaxed);
	ux_table_free(m->addresses, m->addresses_cap * sizeof(*m->addresses));
	ux_table_free(m->frame_slots, m->frame_slots_cap * sizeof(*m->frame_slots));
	frame_cache_list_free(&m->lists.frames, sizeof(struct ux_cached_frame));
	frame_cache_list_free(&m->lists.files, sizeof(struct ux_cached_file));
	frame_cache_list_free(&m->lists.texts, sizeof(struct ux_cached_text));
	cached_numbers_deinit(&m->text_numbers);
	frame_cache_list_free(&m->lists.functions, sizeof(struct ux_cached_function));
	frame_cache_list_free(&m->lists.strings, sizeof(struct ux_cached_string));
	ux_table_free(m->string_slots, m->string_slots_cap * sizeof(*m->string_slots));
	cached_numbers_deinit(&m->file_numbers);
	cached_numbers_deinit(&m->function_numbers);
	free(m->stacks);
	cached_offsets_deinit(&m->far_offsets);
	ux_frame_map_destroy(m->map);
	ux_arena_deinit(&m->arena);
	ux_out_deinit(&m->name);
	pthread_rwlock_destroy(&m->lock);
	free(m);
}

size_t ux_frame_cache_bytes(struct ux_frame_cache *m)
{
	pthread_rwlock_rdlock(&m->lock);
	size_t bytes = m->bytes;
	pthread_rwlock_unlock(&m->lock);
	return bytes;
}

/* --- addresses -------------------------------------------------------------------------------- */

static size_t frame_cache_slot_index(const struct ux_frame_cache *m, uint64_t pc)
{
	return (size_t)ux_hash_u64(pc) & (m->addresses_cap - 1);
}

/* Returns the slot of an address, or the free slot where it belongs. */
static struct address_slot *frame_cache_slot(const struct ux_frame_cache *m, uint64_t pc)
{
	size_t i = frame_cache_slot_index(m, pc);
	while (m->addresses[i].frame != 0 && m->addresses[i].pc != pc)
		i = (i + 1) & (m->addresses_cap - 1);
	return &m->addresses[i];
}

static uint64_t frame_cache_offset(const struct ux_frame_cache *m, const struct address_slot *s)
{
	if (ux_likely(s->offset != OFFSET_FAR))
		return s->offset;
	const uint64_t *far = cached_offsets_find(&m->far_offsets, s->pc);
	return far ? *far : 0;
}

/* offsets is a compile-time constant, so that callers without offsets pay nothing. */
ux_inline size_t frame_cache_find_in_slots(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
					   uint64_t back, uint32_t *ret, uint64_t *ret_offsets,
					   bool offsets)
{
	size_t unknown = 0;
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(
				&m->addresses[frame_cache_slot_index(m, pcs[i + AHEAD] - back)]);
		const struct address_slot *s = frame_cache_slot(m, pcs[i] - back);
		ret[i] = pcs[i] < back ? 0 : s->frame == 0 ? UX_FRAME_UNKNOWN : s->frame - 1;
		if (offsets)
			ret_offsets[i] = s->frame > 1 ? frame_cache_offset(m, s) : 0;
		unknown += ret[i] == UX_FRAME_UNKNOWN;
	}
	return unknown;
}

static size_t frame_cache_find_none(const uint64_t *pcs, size_t n, uint64_t back, uint32_t *ret)
{
	size_t unknown = 0;
	for (size_t i = 0; i < n; i++) {
		ret[i] = pcs[i] < back ? 0 : UX_FRAME_UNKNOWN;
		unknown += ret[i] == UX_FRAME_UNKNOWN;
	}
	return unknown;
}

/* Looks up in the slots the addresses that the map does not have. */
static size_t frame_cache_find_others(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
				      uint64_t back, uint32_t *ret, uint64_t *ret_offsets)
{
	size_t unknown = 0;
	for (size_t i = 0; i < n; i++) {
		if (ret[i] != UX_FRAME_UNKNOWN)
			continue;
		const struct address_slot *s = frame_cache_slot(m, pcs[i] - back);
		if (s->frame == 0) {
			unknown++;
			continue;
		}
		ret[i] = s->frame - 1;
		if (ret_offsets)
			ret_offsets[i] = s->frame > 1 ? frame_cache_offset(m, s) : 0;
	}
	return unknown;
}

/* Looks up addresses while the lock is held; `unknown` of them are not in the map. */
static size_t frame_cache_find_locked(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
				      uint64_t back, uint32_t *ret, uint64_t *ret_offsets,
				      size_t unknown)
{
	if (m->addresses_cap == 0)
		return m->map ? unknown : frame_cache_find_none(pcs, n, back, ret);
	if (m->map)
		return frame_cache_find_others(m, pcs, n, back, ret, ret_offsets);
	return ret_offsets ? frame_cache_find_in_slots(m, pcs, n, back, ret, ret_offsets, true)
			   : frame_cache_find_in_slots(m, pcs, n, back, ret, NULL, false);
}

/* Looks up addresses in the map, without the lock. Returns how many are not in it. */
static size_t frame_cache_find_in_map(const struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
				      uint64_t back, uint32_t *ret, uint64_t *ret_offsets)
{
	return m->map ? ux_frame_map_find(m->map, pcs, n, back, ret, ret_offsets) : n;
}

size_t ux_frame_cache_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			   uint32_t *ret, uint64_t *ret_offsets)
{
	size_t unknown = frame_cache_find_in_map(m, pcs, n, back, ret, ret_offsets);
	if (unknown == 0)
		return 0;
	pthread_rwlock_rdlock(&m->lock);
	unknown = frame_cache_find_locked(m, pcs, n, back, ret, ret_offsets, unknown);
	pthread_rwlock_unlock(&m->lock);
	return unknown;
}

bool ux_frame_cache_try_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			     uint32_t *ret)
{
	size_t unknown = frame_cache_find_in_map(m, pcs, n, back, ret, NULL);
	if (unknown == 0)
		return true;
	if (pthread_rwlock_tryrdlock(&m->lock) != 0)
		return false;
	unknown = frame_cache_find_locked(m, pcs, n, back, ret, NULL, unknown);
	pthread_rwlock_unlock(&m->lock);
	return unknown == 0;
}

void *frame_cache_table_grow(struct ux_frame_cache *m, size_t cap, size_t size, size_t *ret_cap)
{
	*ret_cap = cap ? 2 * cap : FIRST_SLOTS;
	size_t bytes = *ret_cap * size;
	if (m->bytes + bytes - cap * size > m->max)
		return NULL;
	void *table = ux_table_alloc(bytes);
	if (table)
		frame_cache_charge(m, bytes - cap * size);
	return table;
}

static bool frame_cache_grow_addresses(struct ux_frame_cache *m)
{
	struct address_slot *old = m->addresses;
	size_t n = m->addresses_cap, cap = 0;
	struct address_slot *table = frame_cache_table_grow(m, n, sizeof(*table), &cap);
	if (!table)
		return false;
	m->addresses = table;
	m->addresses_cap = cap;
	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n)
			__builtin_prefetch(&table[frame_cache_slot_index(m, old[i + AHEAD].pc)]);
		if (old[i].frame != 0)
			*frame_cache_slot(m, old[i].pc) = old[i];
	}
	ux_table_free(old, n * sizeof(*old));
	return true;
}

/* Makes a free slot for an address; false: no room. */
static bool frame_cache_reserve_address(struct ux_frame_cache *m)
{
	return m->n_addresses < m->addresses_cap / 2 || frame_cache_grow_addresses(m);
}

/* --- adding ----------------------------------------------------------------------------------- */

void ux_frame_cache_lock(struct ux_frame_cache *m)
{
	pthread_rwlock_wrlock(&m->lock);
}

void ux_frame_cache_unlock(struct ux_frame_cache *m)
{
	pthread_rwlock_unlock(&m->lock);
}

/*
 * Stores an offset that needs a map entry. Such offsets are rare: only in functions without a size.
 */
static bool frame_cache_add_far(struct ux_frame_cache *m, uint64_t pc, uint64_t offset)
{
	bool fresh = false;
	size_t cap = m->far_offsets.cap;
	if (m->bytes + cap * sizeof(*m->far_offsets.entries) > m->max)
		return false;
	uint64_t *at = cached_offsets_insert(&m->far_offsets, pc, &fresh);
	frame_cache_charge(m, (m->far_offsets.cap - cap) * sizeof(*m->far_offsets.entries));
	if (at)
		*at = offset;
	return at != NULL;
}

/* Stores the innermost frame of an address; the caller made a free slot. */
static bool frame_cache_store(struct ux_frame_cache *m, uint64_t pc, uint64_t offset,
			      uint32_t frame)
{
	struct address_slot *s = frame_cache_slot(m, pc);
	if (offset >= OFFSET_FAR && !frame_cache_add_far(m, pc, offset))
		return false;
	m->n_addresses += s->frame == 0;
	*s = (struct address_slot){pc, (uint32_t)ux_min(offset, (uint64_t)OFFSET_FAR), frame + 1};
	return true;
}

bool ux_frame_cache_add(struct ux_frame_cache *m, uint64_t pc, const struct ux_frame *frames,
			size_t n, uint32_t *ret)
{
	uint32_t up = 0;
	if (!frame_cache_reserve_address(m))
		return false;
	for (size_t i = n; i-- > 0;) {
		struct ux_cached_frame f = {.line = frames[i].line, .up = up};
		if (!frame_cache_text_number(m, frames[i].function, true, &f.function) ||
		    !frame_cache_file_number(m, &frames[i], &f.file) ||
		    !frame_cache_frame_number(m, &f, &up))
			return false;
	}
	*ret = up;
	return frame_cache_store(m, pc, n > 0 ? frames[n - 1].offset : 0, up);
}
