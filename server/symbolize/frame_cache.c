/* SPDX-License-Identifier: Apache-2.0 */
/* What lookups in one module have found. */
#include "frame_cache.h"

#include "arena.h"
#include "demangle.h"
#include "map.h"

#include <pthread.h>

enum {
	FIRST_SLOTS = 256,
	AHEAD = 8, /* addresses whose place is fetched while those before are looked at */
};

struct place {
	uint64_t pc;
	uint32_t frame;
	uint32_t used;
};

static inline uint64_t hash_key(uint64_t key)
{
	return ux_hash_u64(key);
}

static inline bool eq_key(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(memo_numbers, uint64_t, uint32_t, hash_key, eq_key);

struct ux_frame_cache {
	struct ux_frame_cache_lists
		lists;    /* guarded by lock, but for items that somebody has a number of */
	atomic_uint refs; /* acquire-release: the last one frees what others have read */
	enum ux_demangle_mode mode;
	atomic_size_t *all;    /* a sum alone: no order needed */
	pthread_rwlock_t lock; /* guards lists and all below */
	size_t bytes;          /* of it all */
	struct place *places;  /* open addressing, a power of two */
	size_t places_cap, n_places;
	uint32_t *slots; /* frames by what they are, the same */
	size_t slots_cap;
	struct memo_numbers text_numbers; /* by place in the module's file, and what it is */
	struct memo_numbers file_numbers;
	struct ux_arena arena; /* demangled texts */
	struct ux_out name;    /* the one at hand */
};

static_assert(offsetof(struct ux_frame_cache, lists) == 0, "frame_cache.h looks there");

static void charge(struct ux_frame_cache *m, size_t bytes)
{
	m->bytes += bytes;
	atomic_fetch_add_explicit(m->all, bytes, memory_order_relaxed);
}

/* The number of a new item, which is returned cleared; NULL when it has no room. */
static void *append(struct ux_frame_cache *m, struct ux_frame_cache_list *l, size_t size,
		    uint32_t *ret_number)
{
	size_t off = 0, piece = ux_frame_cache_piece(l->n, &off);
	if (piece == UX_FRAME_CACHE_PIECES)
		return NULL;
	if (!l->pieces[piece]) {
		size_t bytes = ((size_t)UX_FRAME_CACHE_PIECE << piece) * size;
		l->pieces[piece] =
			m->bytes + bytes <= UX_FRAME_CACHE_MOST ? calloc(1, bytes) : NULL;
		if (!l->pieces[piece])
			return NULL;
		charge(m, bytes);
	}
	*ret_number = (uint32_t)++l->n;
	return (char *)l->pieces[piece] + off * size;
}

static void list_free(struct ux_frame_cache_list *l)
{
	for (size_t i = 0; i < UX_FRAME_CACHE_PIECES; i++)
		free(l->pieces[i]);
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
	/* Else a steady stream of readers keeps whoever has found something out for good. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&m->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	ux_arena_init(&m->arena, UX_FRAME_CACHE_MOST);
	charge(m, sizeof(*m));
	return m;
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
	free(m->places);
	free(m->slots);
	list_free(&m->lists.frames);
	list_free(&m->lists.files);
	list_free(&m->lists.texts);
	memo_numbers_deinit(&m->text_numbers);
	memo_numbers_deinit(&m->file_numbers);
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

/* --- addresses ---------------------------------------------------------------------------------
 */

static size_t place_at(const struct ux_frame_cache *m, uint64_t pc)
{
	return (size_t)ux_hash_u64(pc) & (m->places_cap - 1);
}

static struct place *place_of(const struct ux_frame_cache *m, uint64_t pc)
{
	size_t i = place_at(m, pc);
	while (m->places[i].used && m->places[i].pc != pc)
		i = (i + 1) & (m->places_cap - 1);
	return &m->places[i];
}

static uint32_t find_one(const struct ux_frame_cache *m, uint64_t pc)
{
	const struct place *p = place_of(m, pc);
	return p->used ? p->frame : UX_FRAME_UNKNOWN;
}

size_t ux_frame_cache_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			   uint32_t *ret)
{
	size_t unknown = 0;
	pthread_rwlock_rdlock(&m->lock);
	for (size_t i = 0; i < n; i++) {
		if (m->places_cap > 0 && i + AHEAD < n)
			__builtin_prefetch(&m->places[place_at(m, pcs[i + AHEAD] - back)]);
		ret[i] = pcs[i] < back       ? 0
			 : m->places_cap > 0 ? find_one(m, pcs[i] - back)
					     : UX_FRAME_UNKNOWN;
		unknown += ret[i] == UX_FRAME_UNKNOWN;
	}
	pthread_rwlock_unlock(&m->lock);
	return unknown;
}

/* Doubles a table; the caller moves what was in it. NULL: it stays. */
static void *bigger(struct ux_frame_cache *m, size_t cap, size_t size, size_t *ret_cap)
{
	*ret_cap = cap ? 2 * cap : FIRST_SLOTS;
	size_t bytes = *ret_cap * size;
	if (m->bytes + bytes - cap * size > UX_FRAME_CACHE_MOST)
		return NULL;
	void *table = calloc(1, bytes);
	if (table)
		charge(m, bytes - cap * size);
	return table;
}

static bool grow_places(struct ux_frame_cache *m)
{
	struct place *old = m->places;
	size_t n = m->places_cap, cap = 0;
	struct place *places = bigger(m, n, sizeof(*places), &cap);
	if (!places)
		return false;
	m->places = places;
	m->places_cap = cap;
	for (size_t i = 0; i < n; i++)
		if (old[i].used)
			*place_of(m, old[i].pc) = old[i];
	free(old);
	return true;
}

/* --- frames ------------------------------------------------------------------------------------
 */

static uint64_t frame_hash(const struct ux_cached_frame *f)
{
	return ux_hash_mix(((uint64_t)f->function << 32 | f->file) ^ 0x9e3779b97f4a7c15u,
			   ((uint64_t)f->line << 32 | f->up) ^ 0xd6e8feb86659fd93u);
}

/* Where the number of such a frame is, or belongs. */
static uint32_t *slot_of(const struct ux_frame_cache *m, const struct ux_cached_frame *f)
{
	size_t i = (size_t)frame_hash(f) & (m->slots_cap - 1);
	for (; m->slots[i] != 0; i = (i + 1) & (m->slots_cap - 1)) {
		if (memcmp(f, ux_cached_frame(m, m->slots[i]), sizeof(*f)) == 0)
			break;
	}
	return &m->slots[i];
}

static bool grow_slots(struct ux_frame_cache *m)
{
	size_t cap = 0;
	uint32_t *slots = bigger(m, m->slots_cap, sizeof(*slots), &cap);
	if (!slots)
		return false;
	free(m->slots);
	m->slots = slots;
	m->slots_cap = cap;
	for (uint32_t i = 1; i <= m->lists.frames.n; i++)
		*slot_of(m, ux_cached_frame(m, i)) = i;
	return true;
}

static bool frame_number(struct ux_frame_cache *m, const struct ux_cached_frame *f, uint32_t *ret)
{
	if (m->lists.frames.n >= m->slots_cap / 2 && !grow_slots(m))
		return false;
	uint32_t *slot = slot_of(m, f);
	if (*slot == 0) {
		struct ux_cached_frame *mine = append(m, &m->lists.frames, sizeof(*f), slot);
		if (!mine)
			return false;
		*mine = *f;
	}
	*ret = *slot;
	return true;
}

/* --- texts and files ---------------------------------------------------------------------------
 */

static bool is_plain(struct ux_bytes text)
{
	bool plain = true;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		plain &= c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
	}
	return plain;
}

/* The text as it is kept: the module's own, or a copy of what it is demangled to. */
static bool keep_text(struct ux_frame_cache *m, struct ux_bytes *text)
{
	ux_out_reset(&m->name);
	ux_demangle(*text, m->mode, &m->name);
	struct ux_bytes made = ux_out_bytes(&m->name);
	if (m->name.failed || ux_bytes_eq(made, *text)) /* the linkage name is right too */
		return true;
	size_t before = m->arena.used;
	if (m->bytes + made.size > UX_FRAME_CACHE_MOST)
		return false;
	const char *copy = ux_arena_strndup(&m->arena, made.data, made.size);
	charge(m, m->arena.used - before);
	*text = ux_bytes(copy, made.size);
	return copy != NULL;
}

/* The place of a number in a map, 0 for a new one. NULL: no room. */
static uint32_t *number_place(struct ux_frame_cache *m, struct memo_numbers *map, uint64_t key)
{
	bool fresh = false;
	size_t cap = map->cap;
	if (m->bytes + cap * sizeof(*map->entries) > UX_FRAME_CACHE_MOST &&
	    map->size >= cap - cap / 4)
		return NULL;
	uint32_t *at = memo_numbers_insert(map, key, &fresh);
	charge(m, (map->cap - cap) * sizeof(*map->entries));
	return at;
}

/* s is in a file of the module's, where each text is once. */
static bool text_number(struct ux_frame_cache *m, const char *s, bool function, uint32_t *ret)
{
	*ret = 0;
	if (s[0] == '\0')
		return true;
	uint32_t *number = number_place(m, &m->text_numbers, (uintptr_t)s << 1 | function);
	if (!number)
		return false;
	if (*number == 0) {
		struct ux_bytes text = ux_bytes_cstr(s);
		if (function && m->mode != UX_DEMANGLE_NONE && !keep_text(m, &text))
			return false;
		if (text.size > UINT32_MAX)
			return false;
		struct ux_cached_text *t = append(m, &m->lists.texts, sizeof(*t), number);
		if (!t)
			return false;
		*t = (struct ux_cached_text){(const char *)text.data, (uint32_t)text.size,
					     is_plain(text)};
	}
	*ret = *number;
	return true;
}

static bool file_number(struct ux_frame_cache *m, const struct ux_frame *f, uint32_t *ret)
{
	struct ux_cached_file file;
	*ret = 0;
	if (f->base[0] == '\0')
		return true;
	if (!text_number(m, f->dir, false, &file.dir) ||
	    !text_number(m, f->base, false, &file.base))
		return false;
	uint32_t *number = number_place(m, &m->file_numbers, (uint64_t)file.dir << 32 | file.base);
	if (!number)
		return false;
	if (*number == 0) {
		struct ux_cached_file *mine = append(m, &m->lists.files, sizeof(*mine), number);
		if (!mine)
			return false;
		*mine = file;
	}
	*ret = *number;
	return true;
}

/* --- adding ------------------------------------------------------------------------------------
 */

void ux_frame_cache_lock(struct ux_frame_cache *m)
{
	pthread_rwlock_wrlock(&m->lock);
}

void ux_frame_cache_unlock(struct ux_frame_cache *m)
{
	pthread_rwlock_unlock(&m->lock);
}

bool ux_frame_cache_add(struct ux_frame_cache *m, uint64_t pc, const struct ux_frame *frames,
			size_t n, uint32_t *ret)
{
	uint32_t up = 0;
	if (m->n_places >= m->places_cap / 2 && !grow_places(m))
		return false;
	for (size_t i = n; i-- > 0;) {
		struct ux_cached_frame f = {.line = frames[i].line, .up = up};
		if (!text_number(m, frames[i].function, true, &f.function) ||
		    !file_number(m, &frames[i], &f.file) || !frame_number(m, &f, &up))
			return false;
	}
	struct place *p = place_of(m, pc);
	m->n_places += !p->used;
	*p = (struct place){pc, up, 1};
	*ret = up;
	return true;
}
