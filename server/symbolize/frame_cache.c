/* SPDX-License-Identifier: Apache-2.0 */
/* The frame cache of a module. */
#include "frame_cache.h"

#include "arena.h"
#include "demangle.h"
#include "gsym_reader.h"
#include "map.h"
#include "text.h"

#include <pthread.h>

enum {
	FIRST_SLOTS = 256,
	AHEAD = 8, /* number of slots that are prefetched ahead */
};

#define OFFSET_FAR UINT32_MAX

/* The frames of one node of an index, except for file and line of the innermost one. */
struct cached_node {
	uint32_t function;
	uint32_t up; /* plus 1; 0: not learned */
};

enum {
	NODES = 512,          /* nodes of one page */
	FILES_MOST = 1 << 20, /* most files of the best candidate that are learned */
	NODES_MOST = 1 << 26, /* the same for nodes */
};

/* A cached address. */
struct address_slot {
	uint64_t pc;
	uint32_t offset; /* from the start of its function; OFFSET_FAR: see far_offsets */
	uint32_t frame;  /* number of its innermost frame plus 1; 0: the slot is free */
};

/*
 * A frame by its content. The tag is the upper half of its hash: frames that differ are told apart
 * without reading them.
 */
struct frame_slot {
	uint32_t number; /* 0: the slot is free */
	uint32_t tag;
};

static inline uint64_t number_key_hash(uint64_t key)
{
	return ux_hash_u64(key);
}

static inline bool number_key_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(cached_numbers, uint64_t, uint32_t, number_key_hash, number_key_eq);
UX_MAP(cached_offsets, uint64_t, uint64_t, number_key_hash, number_key_eq);

struct ux_frame_cache {
	/* guarded by lock, except for items whose number is known */
	struct ux_frame_cache_lists lists;
	/* acquire-release, so that the last holder frees the cache after all reads */
	atomic_uint refs;
	enum ux_demangle_mode mode;
	atomic_size_t *all;    /* a sum, so no memory order is needed */
	pthread_rwlock_t lock; /* guards lists and the fields below */
	size_t bytes;          /* total size */
	size_t most;           /* its limit */
	/* hash table with open addressing; the size is a power of two */
	struct address_slot *addresses;
	size_t addresses_cap, n_addresses;
	struct cached_offsets far_offsets; /* offsets that need 32 bits or more, by address */
	struct frame_slot *frame_slots;    /* hash table of frames by content */
	size_t frame_slots_cap;
	struct cached_numbers
		/* numbers of texts, by address in the mapping of the module's file and by use */
		text_numbers;
	struct cached_numbers file_numbers;
	/* What was learned of the best candidate: pages of nodes, by their numbers, and the numbers
	 * of files plus 1, by those in its file table. */
	struct cached_node **nodes;
	size_t nodes_cap;
	uint32_t *files;
	size_t files_cap;
	struct ux_arena arena; /* memory of demangled texts */
	struct ux_out name;    /* buffer of the demangler */
};

static_assert(offsetof(struct ux_frame_cache, lists) == 0, "frame_cache.h casts to it");

static void frame_cache_charge(struct ux_frame_cache *m, size_t bytes)
{
	m->bytes += bytes;
	atomic_fetch_add_explicit(m->all, bytes, memory_order_relaxed);
}

/* Appends a cleared item and returns it with its number; NULL when there is no room. */
static void *frame_cache_append(struct ux_frame_cache *m, struct ux_frame_cache_list *l,
				size_t size, uint32_t *ret_number)
{
	size_t off = 0, piece = ux_frame_cache_piece(l->n, &off);
	if (piece == UX_FRAME_CACHE_PIECES)
		return NULL;
	if (!l->pieces[piece]) {
		size_t bytes = ((size_t)UX_FRAME_CACHE_PIECE << piece) * size;
		l->pieces[piece] = m->bytes + bytes <= m->most ? calloc(1, bytes) : NULL;
		if (!l->pieces[piece])
			return NULL;
		frame_cache_charge(m, bytes);
	}
	*ret_number = (uint32_t)++l->n;
	return (char *)l->pieces[piece] + off * size;
}

static void frame_cache_list_free(struct ux_frame_cache_list *l)
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
	/* With the default kind of lock, a steady stream of readers would starve the writers. */
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&m->lock, &attr);
	pthread_rwlockattr_destroy(&attr);
	ux_frame_cache_limit(m, UX_FRAME_CACHE_MOST);
	frame_cache_charge(m, sizeof(*m));
	return m;
}

void ux_frame_cache_limit(struct ux_frame_cache *m, size_t most)
{
	m->most = most;
	ux_arena_init(&m->arena, most);
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
	free(m->addresses);
	free(m->frame_slots);
	for (size_t i = 0; i < m->nodes_cap; i++)
		free(m->nodes[i]);
	free(m->nodes);
	free(m->files);
	frame_cache_list_free(&m->lists.frames);
	frame_cache_list_free(&m->lists.files);
	frame_cache_list_free(&m->lists.texts);
	cached_numbers_deinit(&m->text_numbers);
	cached_numbers_deinit(&m->file_numbers);
	cached_offsets_deinit(&m->far_offsets);
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

/* The slot of an address, or the free slot for it. */
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
ux_inline size_t frame_cache_find_all(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
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

size_t ux_frame_cache_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			   uint32_t *ret, uint64_t *ret_offsets)
{
	size_t unknown = 0;
	pthread_rwlock_rdlock(&m->lock);
	if (m->addresses_cap == 0)
		unknown = frame_cache_find_none(pcs, n, back, ret);
	else if (ret_offsets)
		unknown = frame_cache_find_all(m, pcs, n, back, ret, ret_offsets, true);
	else
		unknown = frame_cache_find_all(m, pcs, n, back, ret, NULL, false);
	pthread_rwlock_unlock(&m->lock);
	return unknown;
}

bool ux_frame_cache_try_find(struct ux_frame_cache *m, const uint64_t *pcs, size_t n, uint64_t back,
			     uint32_t *ret)
{
	if (pthread_rwlock_tryrdlock(&m->lock) != 0)
		return false;
	size_t unknown = m->addresses_cap == 0
				 ? frame_cache_find_none(pcs, n, back, ret)
				 : frame_cache_find_all(m, pcs, n, back, ret, NULL, false);
	pthread_rwlock_unlock(&m->lock);
	return unknown == 0;
}

/*
 * Allocates a table of twice the size, into which the caller moves the entries. NULL: the old one
 * stays.
 */
static void *frame_cache_table_grow(struct ux_frame_cache *m, size_t cap, size_t size,
				    size_t *ret_cap)
{
	*ret_cap = cap ? 2 * cap : FIRST_SLOTS;
	size_t bytes = *ret_cap * size;
	if (m->bytes + bytes - cap * size > m->most)
		return NULL;
	void *table = calloc(1, bytes);
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
	free(old);
	return true;
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint32_t cached_frame_tag(const struct ux_cached_frame *f)
{
	uint64_t hash = ux_hash_mix(((uint64_t)f->function << 32 | f->file) ^ ux_hash_seed,
				    ((uint64_t)f->line << 32 | f->up) ^ 0xd6e8feb86659fd93u);
	return (uint32_t)(hash >> 32);
}

/* The slot of an equal frame, or the free slot for it. */
static struct frame_slot *frame_cache_frame_slot(const struct ux_frame_cache *m,
						 const struct ux_cached_frame *f, uint32_t tag)
{
	size_t i = tag & (m->frame_slots_cap - 1);
	for (; m->frame_slots[i].number != 0; i = (i + 1) & (m->frame_slots_cap - 1)) {
		if (m->frame_slots[i].tag == tag &&
		    memcmp(f, ux_cached_frame(m, m->frame_slots[i].number), sizeof(*f)) == 0)
			break;
	}
	return &m->frame_slots[i];
}

static bool frame_cache_grow_frames(struct ux_frame_cache *m)
{
	struct frame_slot *old = m->frame_slots;
	size_t n = m->frame_slots_cap, cap = 0;
	struct frame_slot *slots = frame_cache_table_grow(m, n, sizeof(*slots), &cap);
	if (!slots)
		return false;
	m->frame_slots = slots;
	m->frame_slots_cap = cap;
	for (size_t i = 0; i < n; i++) {
		if (old[i].number == 0)
			continue;
		/* all of them are different: the first free slot is that of this one */
		size_t at = old[i].tag & (cap - 1);
		while (slots[at].number != 0)
			at = (at + 1) & (cap - 1);
		slots[at] = old[i];
	}
	free(old);
	return true;
}

/* Prefetches the slot of a frame. */
ux_inline void frame_cache_expect_slot(const struct ux_frame_cache *m,
				       const struct ux_cached_frame *f)
{
	if (m->frame_slots_cap > 0)
		__builtin_prefetch(&m->frame_slots[cached_frame_tag(f) & (m->frame_slots_cap - 1)]);
}

/* Prefetches the frame to which this one is probably equal. */
ux_inline void frame_cache_expect_equal(const struct ux_frame_cache *m,
					const struct ux_cached_frame *f)
{
	uint32_t tag = cached_frame_tag(f);
	if (m->frame_slots_cap == 0)
		return;
	const struct frame_slot *slot = &m->frame_slots[tag & (m->frame_slots_cap - 1)];
	if (slot->number != 0 && slot->tag == tag)
		__builtin_prefetch(ux_cached_frame(m, slot->number));
}

static bool frame_cache_frame_number(struct ux_frame_cache *m, const struct ux_cached_frame *f,
				     uint32_t *ret)
{
	uint32_t tag = cached_frame_tag(f);
	if (m->lists.frames.n >= m->frame_slots_cap / 2 && !frame_cache_grow_frames(m))
		return false;
	struct frame_slot *slot = frame_cache_frame_slot(m, f, tag);
	if (slot->number == 0) {
		struct ux_cached_frame *item =
			frame_cache_append(m, &m->lists.frames, sizeof(*f), &slot->number);
		if (!item)
			return false;
		slot->tag = tag;
		*item = *f;
	}
	*ret = slot->number;
	return true;
}

/* --- texts and files -------------------------------------------------------------------------- */

/* Sixteen bytes, which are compared at once. */
typedef uint8_t cached_text_lane __attribute__((vector_size(16)));

/* All bits of an element are set where the byte is not plain. */
ux_inline cached_text_lane cached_text_unplain(cached_text_lane c)
{
	return (cached_text_lane)(c - 0x20 > 0x7e - 0x20) | (cached_text_lane)(c == '"') |
	       (cached_text_lane)(c == '\\');
}

static bool cached_text_is_plain(struct ux_bytes text)
{
	cached_text_lane lane, bad = {0};
	const uint8_t *p = text.data;
	size_t left = text.size;
	uint64_t half[2];
	for (; left >= sizeof(lane); p += sizeof(lane), left -= sizeof(lane)) {
		memcpy(&lane, p, sizeof(lane));
		bad |= cached_text_unplain(lane);
	}
	memset(&lane, ' ', sizeof(lane));
	if (left > 0)
		memcpy(&lane, p, left);
	bad |= cached_text_unplain(lane);
	memcpy(half, &bad, sizeof(half));
	return (half[0] | half[1]) == 0;
}

/* Replaces a text by a copy in the cache's memory, which is followed by `mark`. */
static bool frame_cache_copy(struct ux_frame_cache *m, struct ux_bytes *text, struct ux_bytes mark)
{
	size_t before = m->arena.used, size = text->size + mark.size;
	if (m->bytes + size > m->most)
		return false;
	/* the next block of the arena may be larger than what is left for the cache */
	m->arena.budget = m->arena.used + (m->most - m->bytes);
	char *copy = ux_arena_array(&m->arena, char, size + 1);
	frame_cache_charge(m, m->arena.used - before);
	if (!copy)
		return false;
	memcpy(copy, text->data, text->size);
	memcpy(copy + text->size, mark.data, mark.size);
	copy[size] = '\0';
	*text = ux_bytes(copy, size);
	return true;
}

/* Replaces a linkage name by a copy of its demangled form, if they differ. */
static bool frame_cache_demangle(struct ux_frame_cache *m, struct ux_bytes *text)
{
	size_t cap = m->name.cap;
	ux_out_reset(&m->name);
	ux_demangle(*text, m->mode, &m->name);
	frame_cache_charge(m, m->name.cap - cap);
	struct ux_bytes made = ux_out_bytes(&m->name);
	if (m->name.failed || ux_bytes_eq(made, *text)) /* the linkage name is used as it is */
		return true;
	*text = made;
	return made.size > UX_FRAME_TEXT_MOST || frame_cache_copy(m, text, UX_STR(""));
}

/* The map's slot of the number for a key, 0 for a new one. NULL: no room. */
static uint32_t *frame_cache_number_slot(struct ux_frame_cache *m, struct cached_numbers *map,
					 uint64_t key)
{
	bool fresh = false;
	size_t cap = map->cap;
	if (m->bytes + cap * sizeof(*map->entries) > m->most && map->size >= cap - cap / 4)
		return NULL;
	uint32_t *at = cached_numbers_insert(map, key, &fresh);
	frame_cache_charge(m, (map->cap - cap) * sizeof(*map->entries));
	return at;
}

ux_inline uint64_t cached_text_key(const char *s, bool function)
{
	return (uintptr_t)s << 1 | function;
}

/* s points into a file of the module, in which each text occurs once. */
static bool frame_cache_text_number(struct ux_frame_cache *m, const char *s, bool function,
				    uint32_t *ret)
{
	*ret = 0;
	if (s[0] == '\0')
		return true;
	uint32_t *number =
		frame_cache_number_slot(m, &m->text_numbers, cached_text_key(s, function));
	if (!number)
		return false;
	if (*number == 0) {
		struct ux_bytes text = ux_bytes(s, strnlen(s, UX_FRAME_TEXT_MOST + 1));
		if (function && m->mode != UX_DEMANGLE_NONE && !frame_cache_demangle(m, &text))
			return false;
		if (ux_text_cut(&text, UX_FRAME_TEXT_MOST) &&
		    !frame_cache_copy(m, &text, UX_STR(UX_TEXT_CUT)))
			return false;
		struct ux_cached_text *t =
			frame_cache_append(m, &m->lists.texts, sizeof(*t), number);
		if (!t)
			return false;
		*t = (struct ux_cached_text){(const char *)text.data, s, (uint32_t)text.size,
					     cached_text_is_plain(text)};
	}
	*ret = *number;
	return true;
}

/* Joins both parts of a path as a text of its own. */
static bool frame_cache_join_path(struct ux_frame_cache *m, struct ux_cached_file *file)
{
	struct ux_bytes dir = file->dir ? ux_cached_text_bytes(m, file->dir) : UX_STR("");
	struct ux_bytes base = ux_cached_text_bytes(m, file->base);
	size_t cap = m->name.cap;
	ux_out_reset(&m->name);
	ux_out_put(&m->name, dir.data, dir.size);
	if (dir.size > 0 && dir.data[dir.size - 1] != '/')
		ux_out_u8(&m->name, '/');
	ux_out_put(&m->name, base.data, base.size);
	frame_cache_charge(m, m->name.cap - cap);
	struct ux_bytes text = ux_out_bytes(&m->name);
	if (m->name.failed || !frame_cache_copy(m, &text, UX_STR("")))
		return false;
	struct ux_cached_text *t = frame_cache_append(m, &m->lists.texts, sizeof(*t), &file->path);
	if (t)
		*t = (struct ux_cached_text){(const char *)text.data, (const char *)text.data,
					     (uint32_t)text.size, cached_text_is_plain(text)};
	return t != NULL;
}

static bool frame_cache_file_number(struct ux_frame_cache *m, const struct ux_frame *f,
				    uint32_t *ret)
{
	struct ux_cached_file file;
	*ret = 0;
	if (f->base[0] == '\0')
		return true;
	if (!frame_cache_text_number(m, f->dir, false, &file.dir) ||
	    !frame_cache_text_number(m, f->base, false, &file.base))
		return false;
	uint32_t *number =
		frame_cache_number_slot(m, &m->file_numbers, (uint64_t)file.dir << 32 | file.base);
	if (!number)
		return false;
	if (*number == 0) {
		if (!frame_cache_join_path(m, &file))
			return false;
		struct ux_cached_file *item =
			frame_cache_append(m, &m->lists.files, sizeof(*item), number);
		if (!item)
			return false;
		*item = file;
	}
	*ret = *number;
	return true;
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

/* Stores an offset that needs a map entry. Such offsets are rare, in functions without a size. */
static bool frame_cache_add_far(struct ux_frame_cache *m, uint64_t pc, uint64_t offset)
{
	bool fresh = false;
	size_t cap = m->far_offsets.cap;
	if (m->bytes + cap * sizeof(*m->far_offsets.entries) > m->most)
		return false;
	uint64_t *at = cached_offsets_insert(&m->far_offsets, pc, &fresh);
	frame_cache_charge(m, (m->far_offsets.cap - cap) * sizeof(*m->far_offsets.entries));
	if (at)
		*at = offset;
	return at != NULL;
}

/* Stores the innermost frame of an address; there is a free slot for it. */
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
	if (m->n_addresses >= m->addresses_cap / 2 && !frame_cache_grow_addresses(m))
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

/* --- what was learned of the best candidate --------------------------------------------------- */

/* Makes a table of pointers or numbers longer; new elements are zero. */
static bool frame_cache_lengthen(struct ux_frame_cache *m, void **table, size_t *cap, size_t want,
				 size_t size)
{
	size_t n = ux_max(want, 2 * *cap);
	if (want <= *cap)
		return true;
	if (m->bytes + (n - *cap) * size > m->most)
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

/* The slot of a node, whose page is made when it is missing; NULL: there is no room. */
static struct cached_node *frame_cache_node_slot(struct ux_frame_cache *m, uint32_t node)
{
	size_t page = node / NODES, bytes = NODES * sizeof(struct cached_node);
	if (node >= NODES_MOST || !frame_cache_lengthen(m, (void **)&m->nodes, &m->nodes_cap,
							page + 1, sizeof(*m->nodes)))
		return NULL;
	if (!m->nodes[page]) {
		m->nodes[page] = m->bytes + bytes <= m->most ? calloc(1, bytes) : NULL;
		if (!m->nodes[page])
			return NULL;
		frame_cache_charge(m, bytes);
	}
	return &m->nodes[page][node % NODES];
}

/* The number of the file plus 1, 0 when there is no room or no such file. */
static uint32_t frame_cache_learn_file(struct ux_frame_cache *m, const struct ux_gsym *g,
				       uint32_t file)
{
	struct ux_frame f = {.dir = "", .base = ""};
	uint32_t number = 0;
	if (file < m->files_cap && m->files[file] != 0)
		return m->files[file];
	if (file != 0 && !ux_gsym_file(g, file, &f.dir, &f.base))
		return 0;
	if (!frame_cache_file_number(m, &f, &number))
		return 0;
	if (file < FILES_MOST && frame_cache_lengthen(m, (void **)&m->files, &m->files_cap,
						      (size_t)file + 1, sizeof(*m->files)))
		m->files[file] = number + 1;
	return number + 1;
}

/* The node, if its page was made; otherwise NULL. It may not be learned. */
ux_inline struct cached_node *frame_cache_find_node(const struct ux_frame_cache *m, uint32_t node)
{
	size_t page = node / NODES;
	return page < m->nodes_cap && m->nodes[page] ? &m->nodes[page][node % NODES] : NULL;
}

/* `up` of a node that is in the list of those to be learned; `function` is then its index. */
#define NODE_LISTED UINT32_MAX

enum {
	LEARN_MOST = 512, /* nodes that are learned together, unless one place needs more */
	LEARN_ROOM = LEARN_MOST + UX_FRAMES_MOST,
};

/* A node that is to be learned. */
struct listed_node {
	const struct ux_gsym_place *place; /* in whose record it is */
	uint32_t node;
	uint32_t next;     /* of the same level: an index plus 1 */
	uint32_t function; /* number of its text */
	bool good;
	struct ux_gsym_call call;
	struct ux_cached_frame frame; /* the call, as a frame of the caller */
};

/*
 * Nodes that are learned together, so that memory that one of them needs is waited for while that
 * of the others is. Callers stand before what is inlined into them, and a level is learned after
 * the level of its callers.
 */
struct node_list {
	size_t n;
	struct listed_node nodes[LEARN_ROOM];
	uint32_t levels[UX_FRAMES_MOST]; /* first node of each level: an index plus 1 */
	size_t n_levels;
	uint32_t level_of[LEARN_ROOM];
};

/*
 * Adds the node of a place, and those that it is inlined into, to the list, as far as they are
 * neither learned nor listed. When there is no room for one, none is added.
 */
static void node_list_add(struct node_list *l, struct ux_frame_cache *m,
			  const struct ux_gsym_place *place)
{
	uint32_t nodes[UX_FRAMES_MOST], at = place->node;
	size_t n = 0;
	for (bool inlined = true; inlined; n++) {
		const struct cached_node *slot = frame_cache_node_slot(m, at);
		if (!slot || (slot->up == 0 && n == UX_FRAMES_MOST))
			return;
		if (slot->up != 0)
			break;
		ux_gsym_place_expect_call(place, at);
		nodes[n] = at;
		inlined = ux_gsym_place_caller(place, at, &at);
	}
	while (n-- > 0) {
		struct listed_node *node = &l->nodes[l->n];
		node->place = place;
		node->node = nodes[n];
		*frame_cache_find_node(m, nodes[n]) =
			(struct cached_node){.function = (uint32_t)l->n++, .up = NODE_LISTED};
	}
}

/* Reads the calls, and divides the nodes into levels. Returns how many were read. */
static size_t node_list_read(struct node_list *l, const struct ux_frame_cache *m,
			     const struct ux_gsym *g)
{
	size_t read = 0;
	memset(l->levels, 0, sizeof(l->levels));
	l->n_levels = 0;
	for (size_t i = 0; i < l->n; i++) {
		struct listed_node *node = &l->nodes[i];
		struct ux_gsym_call *call = &node->call;
		node->good = ux_gsym_place_call(g, node->place, node->node, call);
		if (!node->good)
			continue;
		read++;
		cached_numbers_expect(&m->text_numbers, cached_text_key(call->function, true));
		__builtin_prefetch(call->function);
		uint32_t level = 0;
		if (call->inlined) {
			const struct cached_node *caller = frame_cache_find_node(m, call->caller);
			if (caller->up == NODE_LISTED) {
				node->good = l->nodes[caller->function].good;
				level = node->good ? l->level_of[caller->function] + 1 : 0;
			}
			if (call->file < m->files_cap)
				__builtin_prefetch(&m->files[call->file]);
		}
		l->level_of[i] = level;
		assert(level < ux_countof(l->levels)); /* the index has no deeper calls */
		l->n_levels = ux_max(l->n_levels, (size_t)level + 1);
		node->next = l->levels[level];
		l->levels[level] = (uint32_t)i + 1;
	}
	return read;
}

/*
 * Numbers of the function and of the call's file. A function without a name is not learned: another
 * candidate may know it.
 */
static void node_list_number(struct node_list *l, struct ux_frame_cache *m, const struct ux_gsym *g)
{
	for (size_t i = 0; i < l->n; i++) {
		struct listed_node *node = &l->nodes[i];
		const struct ux_gsym_call *call = &node->call;
		if (!node->good)
			continue;
		node->frame = (struct ux_cached_frame){.line = call->line};
		if (call->inlined) {
			node->frame.file = frame_cache_learn_file(m, g, call->file);
			node->good = node->frame.file-- != 0;
		} else {
			node->good = strcmp(call->function, UX_NO_NAME) != 0;
		}
		node->good = node->good &&
			     frame_cache_text_number(m, call->function, true, &node->function);
	}
}

/* Learns the nodes of one level. */
static void node_list_learn(struct node_list *l, struct ux_frame_cache *m, size_t level)
{
	for (uint32_t i = l->levels[level]; i != 0; i = l->nodes[i - 1].next) {
		struct listed_node *node = &l->nodes[i - 1];
		const struct cached_node *caller =
			node->call.inlined ? frame_cache_find_node(m, node->call.caller) : NULL;
		if (!caller || !node->good)
			continue;
		node->good = caller->up != 0;
		node->frame.function = caller->function;
		node->frame.up = caller->up - 1;
		frame_cache_expect_slot(m, &node->frame);
	}
	for (uint32_t i = l->levels[level]; i != 0; i = l->nodes[i - 1].next)
		if (l->nodes[i - 1].good && l->nodes[i - 1].call.inlined)
			frame_cache_expect_equal(m, &l->nodes[i - 1].frame);
	for (uint32_t i = l->levels[level]; i != 0; i = l->nodes[i - 1].next) {
		struct listed_node *node = &l->nodes[i - 1];
		struct cached_node made = {.function = node->function};
		bool good = node->good;
		if (good && node->call.inlined)
			good = frame_cache_frame_number(m, &node->frame, &made.up);
		made.up++;
		*frame_cache_find_node(m, node->node) = good ? made : (struct cached_node){0};
	}
}

/* Learns the nodes of the list, and empties it. Returns how many calls were read. */
static size_t node_list_finish(struct node_list *l, struct ux_frame_cache *m,
			       const struct ux_gsym *g)
{
	size_t read = node_list_read(l, m, g);
	node_list_number(l, m, g);
	for (size_t level = 0; level < l->n_levels; level++)
		node_list_learn(l, m, level);
	for (size_t i = 0; read < l->n && i < l->n; i++) { /* those that could not be read */
		struct cached_node *slot = frame_cache_find_node(m, l->nodes[i].node);
		if (slot->up == NODE_LISTED)
			*slot = (struct cached_node){0};
	}
	l->n = 0;
	return read;
}

/* Addresses that are added side by side: memory that they need is waited for together. */
struct place_adder {
	const struct ux_gsym_place *places;
	size_t n;
	/* the innermost frames, where `good` */
	struct ux_cached_frame frames[UX_FRAME_CACHE_GROUP];
	bool good[UX_FRAME_CACHE_GROUP];
};

/* Sets the innermost frame of place i, if its node is learned. */
static void frame_cache_place_frame(struct ux_frame_cache *m, const struct ux_gsym *g,
				    struct place_adder *a, size_t i)
{
	const struct ux_gsym_place *place = &a->places[i];
	const struct cached_node *node = place->cut ? frame_cache_find_node(m, place->node) : NULL;
	uint32_t file = node && node->up != 0 ? frame_cache_learn_file(m, g, place->file) : 0;
	a->good[i] = file != 0;
	if (!a->good[i])
		return;
	a->frames[i] = (struct ux_cached_frame){.function = node->function,
						.file = file - 1,
						.line = place->line,
						.up = node->up - 1};
	frame_cache_expect_slot(m, &a->frames[i]);
}

/* Adds addresses whose nodes are learned, as far as that was possible. */
static void frame_cache_add_group(struct ux_frame_cache *m, const struct ux_gsym *g,
				  const uint64_t *pcs, const struct ux_gsym_place *places, size_t n,
				  uint32_t *ret)
{
	struct place_adder a;
	a.places = places;
	a.n = n;
	for (size_t i = 0; i < n; i++) {
		if (m->addresses_cap > 0)
			__builtin_prefetch(&m->addresses[frame_cache_slot_index(m, pcs[i])]);
		frame_cache_place_frame(m, g, &a, i);
	}
	for (size_t i = 0; i < n; i++)
		if (a.good[i])
			frame_cache_expect_equal(m, &a.frames[i]);
	for (size_t i = 0; i < n; i++) {
		ret[i] = UX_FRAME_UNKNOWN;
		if (a.good[i] &&
		    (m->n_addresses < m->addresses_cap / 2 || frame_cache_grow_addresses(m)) &&
		    frame_cache_frame_number(m, &a.frames[i], &a.frames[i].up) &&
		    frame_cache_store(m, pcs[i], places[i].offset, a.frames[i].up))
			ret[i] = a.frames[i].up;
	}
}

size_t ux_frame_cache_add_places(struct ux_frame_cache *m, const struct ux_gsym *g,
				 const uint64_t *pcs, const struct ux_gsym_place *places, size_t n,
				 uint32_t *ret)
{
	struct node_list list;
	size_t read = 0, added = 0;
	list.n = 0;
	for (size_t i = 0; i < n;) {
		if (i + AHEAD < n && places[i + AHEAD].cut)
			__builtin_prefetch(frame_cache_find_node(m, places[i + AHEAD].node));
		if (places[i].cut)
			node_list_add(&list, m, &places[i]);
		i++;
		if (i < n && list.n < LEARN_MOST)
			continue;
		read += node_list_finish(&list, m, g);
		for (; added < i; added = ux_min(i, added + UX_FRAME_CACHE_GROUP))
			frame_cache_add_group(m, g, pcs + added, places + added,
					      ux_min(i - added, (size_t)UX_FRAME_CACHE_GROUP),
					      ret + added);
	}
	return read;
}
