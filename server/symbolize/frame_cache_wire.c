/* SPDX-License-Identifier: Apache-2.0 */
/* Writes frames of a cache in the compact form. */
#include "frame_cache_wire.h"

enum {
	PAGE = 64,  /* numbers in one page */
	AHEAD = 12, /* items that are prefetched ahead */
};

static void frame_reply_map_clear(struct ux_frame_reply_map *map)
{
	map->n = map->n_pages = 0;
}

static void frame_reply_map_deinit(struct ux_frame_reply_map *map)
{
	free(map->table);
	free(map->pages);
	*map = (struct ux_frame_reply_map){0};
}

void ux_frame_reply_reset(struct ux_frame_reply *w)
{
	frame_reply_map_clear(&w->frames);
	frame_reply_map_clear(&w->files);
	frame_reply_map_clear(&w->texts);
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
	POOLED_MOST = 4 << 20 /* largest memory of a reply that is put into the pool */
};

/* The buffers of a reply. */
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

struct ux_frame_reply *ux_frame_reply_pool_get(struct ux_frame_reply_pool *all,
					       struct ux_out_quota *quota)
{
	pthread_mutex_lock(&all->lock);
	struct ux_frame_reply *w = all->n > 0 ? all->kept[--all->n] : NULL;
	pthread_mutex_unlock(&all->lock);
	w = w ? w : calloc(1, sizeof(*w));
	if (w)
		frame_reply_set_quota(w, quota);
	return w;
}

static size_t frame_reply_map_bytes(const struct ux_frame_reply_map *map)
{
	return map->cap * sizeof(*map->table) + map->pages_cap * PAGE * sizeof(*map->pages);
}

static size_t frame_reply_bytes_of(const struct ux_frame_reply *w)
{
	const struct ux_wire_reply *r = &w->reply;
	return frame_reply_map_bytes(&w->frames) + frame_reply_map_bytes(&w->files) +
	       frame_reply_map_bytes(&w->texts) + w->later.cap * sizeof(*w->later.data) +
	       r->strings.cap + r->files.cap + r->frames.cap + r->modules.cap + r->addresses.cap;
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
	if (w->reply.strings.cap >= UX_SPARE_LEAST)
		ux_spare_memory_give(all->spare, &w->reply.strings);
	bool kept = frame_reply_bytes_of(w) <= POOLED_MOST;
	if (kept) {
		ux_frame_reply_reset(w);
		ux_wire_reply_clear(&w->reply);
		w->later.size = 0;
		w->failed = false;
		pthread_mutex_lock(&all->lock);
		kept = all->n < ux_countof(all->kept);
		if (kept)
			all->kept[all->n++] = w;
		pthread_mutex_unlock(&all->lock);
	}
	if (!kept)
		frame_reply_destroy(w);
}

void ux_frame_reply_pool_deinit(struct ux_frame_reply_pool *all)
{
	while (all->n > 0)
		frame_reply_destroy(all->kept[--all->n]);
}

/* Adds a zeroed page for run `run`; false when memory is short. */
static bool frame_reply_add_page(struct ux_frame_reply_map *map, size_t run)
{
	if (run >= map->n) {
		if (run >= map->cap &&
		    !ux_vec_grow((void **)&map->table, &map->cap, run + 1, sizeof(*map->table)))
			return false;
		memset(map->table + map->n, 0, (run + 1 - map->n) * sizeof(*map->table));
		map->n = run + 1;
	}
	if (map->n_pages == map->pages_cap &&
	    !ux_vec_grow((void **)&map->pages, &map->pages_cap, map->n_pages + 1,
			 PAGE * sizeof(*map->pages)))
		return false;
	memset(map->pages + map->n_pages * PAGE, 0, PAGE * sizeof(*map->pages));
	map->table[run] = (uint32_t)++map->n_pages;
	return true;
}

/* The slot of a number in a map; `nowhere` when memory is short. Valid until the next call. */
ux_inline uint32_t *frame_reply_add_address(struct ux_frame_reply *w,
					    struct ux_frame_reply_map *map, uint32_t number,
					    uint32_t *nowhere)
{
	size_t run = number / PAGE;
	if (ux_unlikely(run >= map->n || map->table[run] == 0) && !frame_reply_add_page(map, run)) {
		w->failed = true;
		*nowhere = 0;
		return nowhere;
	}
	return &map->pages[(size_t)(map->table[run] - 1) * PAGE + number % PAGE];
}

ux_inline uint32_t frame_reply_put_text(struct ux_frame_reply *w, const struct ux_frame_cache *m,
					uint32_t text)
{
	uint32_t nowhere;
	if (text == 0)
		return 0;
	uint32_t *number = frame_reply_add_address(w, &w->texts, text, &nowhere);
	if (*number == 0) {
		*number = ++w->reply.n_strings;
		w->failed |= !ux_frame_reply_texts_append(&w->later, text);
		__builtin_prefetch(ux_cached_text(m, text));
	}
	return *number;
}

static uint32_t frame_reply_put_file(struct ux_frame_reply *w, const struct ux_frame_cache *m,
				     uint32_t file)
{
	uint32_t nowhere;
	if (file == 0)
		return 0;
	uint32_t *number = frame_reply_add_address(w, &w->files, file, &nowhere);
	if (*number == 0) {
		const struct ux_cached_file *f = ux_cached_file(m, file);
		uint32_t dir = frame_reply_put_text(w, m, f->dir);
		*number = ux_wire_reply_file(&w->reply, dir, frame_reply_put_text(w, m, f->base));
	}
	return *number;
}

/* Makes room for n pages, so that slots do not move until so many were added. */
ux_inline bool frame_reply_reserve(struct ux_frame_reply *w, struct ux_frame_reply_map *map,
				   size_t n)
{
	if (ux_unlikely(map->pages_cap - map->n_pages < n) &&
	    !ux_vec_grow((void **)&map->pages, &map->pages_cap, map->n_pages + n,
			 PAGE * sizeof(*map->pages)))
		w->failed = true;
	return !w->failed;
}

/* The frame that this one is inlined into is written first. */
static uint32_t frame_reply_put_frame(struct ux_frame_reply *w, const struct ux_frame_cache *m,
				      uint32_t frame)
{
	const struct ux_cached_frame *frames[UX_FRAMES_MOST];
	uint32_t *slots[UX_FRAMES_MOST], up = 0, nowhere;
	size_t n = 0;
	if (!frame_reply_reserve(w, &w->frames, UX_FRAMES_MOST))
		return 0;
	for (; frame != 0; frame = frames[n++]->up) {
		slots[n] = frame_reply_add_address(w, &w->frames, frame, &nowhere);
		up = *slots[n];
		if (up != 0)
			break;
		frames[n] = ux_cached_frame(m, frame);
	}
	while (n-- > 0) {
		const struct ux_cached_frame *f = frames[n];
		uint32_t function = frame_reply_put_text(w, m, f->function),
			 file = frame_reply_put_file(w, m, f->file);
		*slots[n] = up = ux_wire_reply_frame(&w->reply, function, file, f->line, up);
	}
	return up;
}

/* The slot of `number`; NULL: its page was not added yet. */
ux_inline const uint32_t *frame_reply_find(const struct ux_frame_reply_map *map, uint32_t number)
{
	size_t run = number / PAGE;
	return run < map->n && map->table[run] != 0
		       ? &map->pages[(size_t)(map->table[run] - 1) * PAGE + number % PAGE]
		       : NULL;
}

/*
 * Prefetches what frame_reply_put_frame() reads for a few addresses: the frames of all of them that
 * are not in the reply, from the innermost on, and the slots of these frames and of their texts.
 */
static void frame_reply_expect(const struct ux_frame_reply *w, const struct ux_frame_cache *m,
			       const uint32_t *frames, size_t n)
{
	uint32_t at[UX_FRAME_CACHE_GROUP];
	for (size_t i = 0; i < n; i++) {
		at[i] = frames[i];
		ux_frame_cache_prefetch(m, at[i]);
		__builtin_prefetch(frame_reply_find(&w->frames, at[i]));
	}
	for (size_t left = n; left > 0;) {
		size_t all = left;
		left = 0;
		for (size_t i = 0; i < all; i++) {
			const uint32_t *slot = frame_reply_find(&w->frames, at[i]);
			if (at[i] == 0 || (slot && *slot != 0))
				continue;
			const struct ux_cached_frame *f = ux_cached_frame(m, at[i]);
			__builtin_prefetch(frame_reply_find(&w->texts, f->function));
			ux_frame_cache_prefetch(m, f->up);
			__builtin_prefetch(frame_reply_find(&w->frames, f->up));
			at[left++] = f->up;
		}
	}
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

bool ux_frame_reply_add(struct ux_frame_reply *w, const struct ux_frame_cache *m,
			const uint32_t *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i % UX_FRAME_CACHE_GROUP == 0)
			frame_reply_expect(w, m, frames + i,
					   ux_min(n - i, (size_t)UX_FRAME_CACHE_GROUP));
		ux_wire_reply_address(&w->reply, frame_reply_put_frame(w, m, frames[i]));
	}
	frame_reply_copy_texts(w, m);
	return !w->failed;
}
