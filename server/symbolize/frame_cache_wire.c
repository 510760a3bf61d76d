/* SPDX-License-Identifier: Apache-2.0 */
/* Writes frames of a cache in the compact form. */
#include "frame_cache_wire.h"

#include "table_memory.h"

enum {
	AHEAD = 12, /* how many items ahead is prefetched */
	/* from this base on a map is cleared, so that its elements do not overflow */
	BASE_MAX = INT32_MAX,
	/* most new frames of a group of addresses, and room to write past them */
	NEW_MAX = UX_FRAME_CACHE_GROUP * (UX_FRAMES_MAX + 1),
};

/* Clears the map; `max` is the greatest number of the reply so far. */
static void frame_reply_map_clear(struct ux_frame_reply_map *map, uint32_t max)
{
	if (max < BASE_MAX - map->base) {
		map->base += max;
		return;
	}
	if (map->cap > 0)
		memset(map->numbers, 0, map->cap * sizeof(*map->numbers));
	map->base = 0;
}

static void frame_reply_map_deinit(struct ux_frame_reply_map *map)
{
	ux_table_free(map->numbers, map->cap * sizeof(*map->numbers));
	*map = (struct ux_frame_reply_map){0};
}

void ux_frame_reply_reset(struct ux_frame_reply *w)
{
	frame_reply_map_clear(&w->frames, w->reply.n_frames);
	frame_reply_map_clear(&w->files, w->reply.n_files);
	frame_reply_map_clear(&w->texts, w->reply.n_strings);
}

void ux_frame_reply_deinit(struct ux_frame_reply *w)
{
	frame_reply_map_deinit(&w->frames);
	frame_reply_map_deinit(&w->files);
	frame_reply_map_deinit(&w->texts);
	ux_frame_reply_texts_deinit(&w->later);
	ux_wire_reply_deinit(&w->reply);
}

enum {
	/*
	 * bytes of memory of all replies in the pool. A map of frames has 4 bytes for each frame of
	 * a cache: 6 MB for a cache that was filled with the functions of a large program.
	 */
	POOLED_MAX = 32 << 20,
};

/* Returns table i of a reply. */
static struct ux_out *frame_reply_table(struct ux_frame_reply *w, size_t i)
{
	struct ux_wire_reply *r = &w->reply;
	struct ux_out *const tables[] = {&r->strings, &r->files, &r->frames, &r->modules,
					 &r->addresses};
	return i < ux_countof(tables) ? tables[i] : NULL;
}

/* Replaces the quota of all tables. */
static void frame_reply_set_quota(struct ux_frame_reply *w, struct ux_out_quota *quota)
{
	struct ux_out *table = NULL;
	for (size_t i = 0; (table = frame_reply_table(w, i)); i++) {
		if (table->quota)
			table->quota->bytes -= table->cap;
		table->quota = quota;
		if (quota)
			quota->bytes += table->cap;
	}
}

enum ux_code ux_frame_reply_status(const struct ux_frame_reply *w, struct ux_error *err)
{
	const struct ux_wire_reply *r = &w->reply;
	UX_TRY(ux_out_status(&r->strings, err));
	UX_TRY(ux_out_status(&r->files, err));
	UX_TRY(ux_out_status(&r->frames, err));
	UX_TRY(ux_out_status(&r->modules, err));
	return ux_out_status(&r->addresses, err);
}

static size_t frame_reply_map_bytes(const struct ux_frame_reply_map *map)
{
	return map->cap * sizeof(*map->numbers);
}

static size_t frame_reply_bytes_of(const struct ux_frame_reply *w)
{
	const struct ux_wire_reply *r = &w->reply;
	return frame_reply_map_bytes(&w->frames) + frame_reply_map_bytes(&w->files) +
	       frame_reply_map_bytes(&w->texts) + w->later.cap * sizeof(*w->later.data) +
	       r->strings.cap + r->files.cap + r->frames.cap + r->modules.cap + r->addresses.cap;
}

struct ux_frame_reply *ux_frame_reply_pool_get(struct ux_frame_reply_pool *all,
					       struct ux_out_quota *quota)
{
	pthread_mutex_lock(&all->lock);
	struct ux_frame_reply *w = all->n > 0 ? all->kept[--all->n] : NULL;
	all->bytes -= w ? frame_reply_bytes_of(w) : 0;
	pthread_mutex_unlock(&all->lock);
	w = w ? w : calloc(1, sizeof(*w));
	if (w)
		frame_reply_set_quota(w, quota);
	return w;
}

static void frame_reply_destroy(struct ux_frame_reply *w)
{
	ux_frame_reply_deinit(w);
	free(w);
}

void ux_frame_reply_pool_put(struct ux_frame_reply_pool *all, struct ux_frame_reply *w)
{
	if (!w)
		return;
	frame_reply_set_quota(w, NULL);
	if (w->reply.strings.cap >= UX_SPARE_MIN)
		ux_spare_memory_give(all->spare, &w->reply.strings);
	ux_frame_reply_reset(w);
	ux_wire_reply_clear(&w->reply);
	w->later.size = 0;
	w->failed = false;
	const size_t bytes = frame_reply_bytes_of(w);
	pthread_mutex_lock(&all->lock);
	bool kept = all->n < ux_countof(all->kept) && bytes <= POOLED_MAX - all->bytes;
	if (kept) {
		all->kept[all->n++] = w;
		all->bytes += bytes;
	}
	pthread_mutex_unlock(&all->lock);
	if (!kept)
		frame_reply_destroy(w);
}

void ux_frame_reply_pool_deinit(struct ux_frame_reply_pool *all)
{
	while (all->n > 0)
		frame_reply_destroy(all->kept[--all->n]);
}

/* Makes the array long enough for `number`. False when memory is short. */
static bool frame_reply_map_cover(struct ux_frame_reply_map *map, uint32_t number)
{
	const size_t cap = ux_max((size_t)number + 1, 2 * map->cap);
	if (ux_likely(number < map->cap))
		return true;
	uint32_t *more = ux_table_alloc(cap * sizeof(*more));
	if (!more)
		return false;
	if (map->cap > 0)
		memcpy(more, map->numbers, map->cap * sizeof(*more));
	ux_table_free(map->numbers, map->cap * sizeof(*more));
	map->numbers = more;
	map->cap = cap;
	return true;
}

/* Returns the number in the reply for an item that the array covers; 0: none yet. */
ux_inline uint32_t frame_reply_map_get(const struct ux_frame_reply_map *map, uint32_t number)
{
	const uint32_t at = map->numbers[number];
	return at > map->base ? at - map->base : 0;
}

/*
 * Returns the number of a text in the reply, and adds the text if it is new. The caller made room
 * in w->later. Half of the texts are new, so nothing here branches on that.
 */
ux_inline uint32_t frame_reply_put_text(struct ux_frame_reply *w, const struct ux_frame_cache *m,
					uint32_t text)
{
	struct ux_frame_reply_map *map = &w->texts;
	if (ux_unlikely(text == 0))
		return 0;
	if (ux_unlikely(!frame_reply_map_cover(map, text))) {
		w->failed = true;
		return 0;
	}
	uint32_t number = frame_reply_map_get(map, text);
	const bool fresh = number == 0;
	w->reply.n_strings += fresh;
	number = fresh ? w->reply.n_strings : number;
	map->numbers[text] = map->base + number;
	w->later.data[w->later.size] = text;
	w->later.size += fresh;
	__builtin_prefetch(ux_cached_text(m, text));
	return number;
}

static uint32_t frame_reply_put_file(struct ux_frame_reply *w, const struct ux_frame_cache *m,
				     uint32_t file)
{
	struct ux_frame_reply_map *map = &w->files;
	if (file == 0)
		return 0;
	if (ux_unlikely(!frame_reply_map_cover(map, file))) {
		w->failed = true;
		return 0;
	}
	uint32_t number = frame_reply_map_get(map, file);
	if (number == 0) {
		const struct ux_cached_file *f = ux_cached_file(m, file);
		uint32_t dir = frame_reply_put_text(w, m, f->dir);
		number = ux_wire_reply_file(&w->reply, dir, frame_reply_put_text(w, m, f->base));
		map->numbers[file] = map->base + number;
	}
	return number;
}

/*
 * Frames of a group of addresses that the reply did not have when the search began, collected level
 * by level from the innermost frames outwards, so that the cache misses of different frames
 * overlap.
 */
struct new_frames {
	size_t n;
	uint32_t frames[NEW_MAX];
	uint8_t of[NEW_MAX]; /* index of the frame's address */
	/* for each address: the number in the reply of the next frame further out; 0: none */
	uint32_t known[UX_FRAME_CACHE_GROUP];
	uint16_t depth[UX_FRAME_CACHE_GROUP + 1]; /* for each address: how many new frames it has */
	uint16_t order[NEW_MAX];                  /* the order in which they are written */
};
static_assert(NEW_MAX <= UINT16_MAX && UX_FRAME_CACHE_GROUP <= UINT8_MAX, "indexes");

/* Prefetches a frame and its slot. */
ux_inline void frame_reply_prefetch(const struct ux_frame_reply *w, const struct ux_frame_cache *m,
				    uint32_t frame)
{
	__builtin_prefetch(ux_cached_frame(m, frame));
	__builtin_prefetch(&w->frames.numbers[frame]);
}

/*
 * Finds the new frames among the `left` frames of a level, and replaces the level by the frames
 * that the new ones are inlined into; returns how many are new. It has no branch on that: which
 * frames are new cannot be predicted.
 */
ux_inline size_t frame_reply_find_level(struct new_frames *f, const struct ux_frame_reply *w,
					const struct ux_frame_cache *m, uint32_t *level,
					uint8_t *of, size_t left)
{
	uint32_t *found = f->frames + f->n;
	uint8_t *found_of = f->of + f->n;
	size_t n = 0;
	for (size_t i = 0; i < left; i++) {
		uint32_t frame = level[i], number = frame_reply_map_get(&w->frames, frame);
		const bool fresh = (frame != 0) & (number == 0);
		f->known[of[i]] = number;
		f->depth[of[i]] += fresh;
		found[n] = frame;
		found_of[n] = of[i];
		n += fresh;
	}
	for (size_t i = 0; i < n; i++) {
		const struct ux_cached_frame *frame = ux_cached_frame(m, found[i]);
		/* the array is still NULL when the reply has no text */
		ux_prefetch_at(w->texts.numbers, frame->function * sizeof(*w->texts.numbers));
		frame_reply_prefetch(w, m, frame->up != 0 ? frame->up : found[i]);
		level[i] = frame->up;
		of[i] = found_of[i];
	}
	return n;
}

/* Finds the new frames of n addresses; w->frames covers all of their numbers. */
static void frame_reply_find_new(struct new_frames *f, const struct ux_frame_reply *w,
				 const struct ux_frame_cache *m, const uint32_t *frames, size_t n)
{
	uint32_t level[UX_FRAME_CACHE_GROUP];
	uint8_t of[UX_FRAME_CACHE_GROUP];
	f->n = 0;
	for (size_t i = 0; i < n; i++) {
		level[i] = frames[i];
		of[i] = (uint8_t)i;
		f->depth[i] = 0;
		if (frames[i] != 0)
			frame_reply_prefetch(w, m, frames[i]);
	}
	for (size_t left = n; left > 0; f->n += left)
		left = frame_reply_find_level(f, w, m, level, of, left);
}

/* Orders the frames by their address, the outermost frame first. */
static void new_frames_sort(struct new_frames *f, size_t n)
{
	size_t end = 0;
	for (size_t i = 0; i < n; i++)
		f->depth[i] = (uint16_t)(end += f->depth[i]);
	for (size_t i = 0; i < f->n; i++)
		f->order[--f->depth[f->of[i]]] = (uint16_t)i;
}

/* Reserves memory for the f->n frames and their texts. NULL when memory is short. */
static uint8_t *frame_reply_reserve(struct ux_frame_reply *w, const struct new_frames *f)
{
	enum {
		TEXTS = 3, /* texts of each frame */
	};
	uint8_t *p = ux_out_room(&w->reply.frames, f->n * UX_WIRE_FRAME_MAX);
	if (!p || !ux_frame_reply_texts_reserve(&w->later, w->later.size + TEXTS * f->n)) {
		w->failed = true;
		return NULL;
	}
	return p;
}

/* Writes the new frames. A frame of several addresses is in the list once for each of them. */
static void frame_reply_put_new(struct ux_frame_reply *w, const struct ux_frame_cache *m,
				const struct new_frames *f)
{
	uint8_t *start = frame_reply_reserve(w, f), *p = start;
	struct ux_frame_reply_map *map = &w->frames;
	uint32_t up = 0;
	size_t of = SIZE_MAX;
	if (!start)
		return;
	for (size_t i = 0; i < f->n; i++) {
		size_t at = f->order[i];
		uint32_t number = frame_reply_map_get(map, f->frames[at]);
		up = f->of[at] == of ? up : f->known[f->of[at]];
		of = f->of[at];
		if (ux_likely(number == 0)) {
			const struct ux_cached_frame *frame = ux_cached_frame(m, f->frames[at]);
			uint32_t function = frame_reply_put_text(w, m, frame->function),
				 file = frame_reply_put_file(w, m, frame->file);
			number = ++w->reply.n_frames;
			map->numbers[f->frames[at]] = map->base + number;
			p = ux_wire_frame_put(p, function, file, frame->line, up ? number - up : 0);
		}
		up = number;
	}
	w->reply.frames.size -= f->n * UX_WIRE_FRAME_MAX - (size_t)(p - start);
}

static void frame_reply_copy_texts(struct ux_frame_reply *w, const struct ux_frame_cache *m)
{
	const uint32_t *texts = w->later.data;
	for (size_t i = 0; i < w->later.size; i++) {
		const struct ux_cached_text *t = ux_cached_text(m, texts[i]);
		if (i + 2 * AHEAD < w->later.size)
			__builtin_prefetch(ux_cached_text(m, texts[i + 2 * AHEAD]));
		if (i + AHEAD < w->later.size)
			ux_cached_text_prefetch(ux_cached_text(m, texts[i + AHEAD]));
		ux_wire_reply_copy(&w->reply, ux_bytes(t->data, t->size));
	}
	w->later.size = 0;
}

/* Writes the number of the innermost frame of each of n addresses. */
static void frame_reply_put_addresses(struct ux_frame_reply *w, const uint32_t *frames, size_t n)
{
	uint8_t *start = ux_out_room(&w->reply.addresses, n * UX_ULEB_MAX), *p = start;
	if (!start)
		return;
	for (size_t i = 0; i < n; i++)
		p = ux_uleb_put(p, frame_reply_map_get(&w->frames, frames[i]));
	w->reply.addresses.size -= n * UX_ULEB_MAX - (size_t)(p - start);
}

bool ux_frame_reply_add(struct ux_frame_reply *w, const struct ux_frame_cache *m,
			const uint32_t *frames, size_t n)
{
	struct new_frames f;
	uint32_t max = 0;
	for (size_t i = 0; i < n; i++)
		max = ux_max(max, frames[i]);
	w->failed |= !frame_reply_map_cover(&w->frames, max);
	for (size_t i = 0; i < n && !w->failed; i += UX_FRAME_CACHE_GROUP) {
		size_t some = ux_min(n - i, (size_t)UX_FRAME_CACHE_GROUP);
		frame_reply_find_new(&f, w, m, frames + i, some);
		new_frames_sort(&f, some);
		if (f.n > 0)
			frame_reply_put_new(w, m, &f);
		frame_reply_put_addresses(w, frames + i, some);
	}
	frame_reply_copy_texts(w, m);
	return !w->failed;
}
