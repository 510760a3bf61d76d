/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a frame cache: all frames of an address in one piece of memory. */
#include "frame_cache_internal.h"

enum {
	STACKS_AHEAD = 16,   /* how many stack slots ahead is prefetched */
	STACKS_LOCKED = 256, /* stacks made before the lock is released for readers */
	STACKS_GROUP = 32,   /* stacks whose memory is prefetched together */
	LEVELS_EXPECTED = 8, /* frames of each stack that are prefetched; most stacks have fewer */
	/* Most stacks have this size, and then fit in one cache line. */
	STACK_ALIGN = 32,
};
static_assert(sizeof(struct ux_cached_stack) +
			      UX_CACHED_LINES_MIN * sizeof(struct ux_cached_line) ==
		      STACK_ALIGN,
	      "");

/* Sets the strings of a function. False: no room. */
static bool frame_cache_function_strings(struct ux_frame_cache *m, struct ux_cached_function *f)
{
	f->name = f->linkage = f->path = 0;
	if (f->text != 0) {
		const struct ux_cached_text *t = ux_cached_text(m, f->text);
		if (!frame_cache_string_number(m, ux_bytes(t->data, t->size), t->hash, &f->name) ||
		    !frame_cache_string_number(m, ux_cached_linkage(t), t->linkage_hash,
					       &f->linkage))
			return false;
	}
	if (f->file == 0)
		return true;
	const struct ux_cached_text *path = ux_cached_text(m, ux_cached_file(m, f->file)->path);
	return frame_cache_string_number(m, ux_bytes(path->data, path->size), path->hash, &f->path);
}

static bool frame_cache_has_name(const struct ux_frame_cache *m, uint32_t text)
{
	return text != 0 && !ux_bytes_eq(ux_cached_text_bytes(m, text), UX_STR(UX_NO_NAME));
}

/*
 * Gets the number of a function in a file, in the form of struct stacks_page. False: no room. The
 * map stores the same form, so that a text outside the processor's caches need not be read to learn
 * whether it is a name.
 */
static bool frame_cache_function_number(struct ux_frame_cache *m, const struct ux_cached_frame *f,
					uint32_t *ret)
{
	uint32_t *number = frame_cache_number_slot(m, &m->function_numbers,
						   (uint64_t)f->function << 32 | f->file);
	if (!number)
		return false;
	if (*number == 0) {
		struct ux_cached_function made = {.text = f->function, .file = f->file};
		uint32_t appended = 0;
		if (!frame_cache_function_strings(m, &made))
			return false;
		struct ux_cached_function *item =
			frame_cache_append(m, &m->lists.functions, sizeof(*item), &appended);
		if (!item)
			return false;
		*item = made;
		*number = 2 * appended + !frame_cache_has_name(m, f->function);
	}
	*ret = *number;
	return true;
}

/* Allocates a stack of n lines, which the caller sets. NULL: no room. */
static struct ux_cached_stack *frame_cache_new_stack(struct ux_frame_cache *m, uint32_t n)
{
	const size_t lines = ux_max(n, (uint32_t)UX_CACHED_LINES_MIN);
	struct ux_cached_stack *s = NULL;
	const size_t size = sizeof(*s) + lines * sizeof(*s->lines);
	s = frame_cache_memory(m, size, STACK_ALIGN);
	if (s) {
		memset(s, 0, size);
		s->n = n;
	}
	return s;
}

/* Returns the page of a frame; NULL: not made yet. */
ux_inline struct stacks_page *frame_cache_stacks_page(const struct ux_frame_cache *m,
						      uint32_t frame)
{
	const size_t page = frame / FRAME_CACHE_STACKS_PAGE;
	return ux_likely(page < m->stacks_cap) ? m->stacks[page] : NULL;
}

/* Returns the page of a frame, and makes it if it is missing. NULL: no room. */
static struct stacks_page *frame_cache_need_stacks_page(struct ux_frame_cache *m, uint32_t frame)
{
	enum {
		LINE = 64 /* alignment: a line of the processor's cache */
	};
	const size_t page = frame / FRAME_CACHE_STACKS_PAGE;
	if (!frame_cache_lengthen(m, (void **)&m->stacks, &m->stacks_cap, page + 1,
				  sizeof(struct stacks_page *)))
		return NULL;
	if (!m->stacks[page]) {
		m->stacks[page] = frame_cache_memory(m, sizeof(struct stacks_page), LINE);
		if (m->stacks[page])
			memset(m->stacks[page], 0, sizeof(struct stacks_page));
	}
	return m->stacks[page];
}

/* Returns the function of a frame in the form of struct stacks_page; 0: no room. */
ux_inline uint32_t frame_cache_frame_function(struct ux_frame_cache *m, uint32_t frame,
					      const struct ux_cached_frame *f)
{
	struct stacks_page *page = frame_cache_need_stacks_page(m, frame);
	if (!page)
		return 0;
	uint32_t *known = &page->functions[frame % FRAME_CACHE_STACKS_PAGE];
	if (*known == 0 && !frame_cache_function_number(m, f, known))
		return 0;
	return *known;
}

/* Makes the stack of a frame. NULL: no room. */
static const struct ux_cached_stack *frame_cache_make_stack(struct ux_frame_cache *m,
							    uint32_t frame)
{
	uint32_t outer = frame, n = 1;
	const struct ux_cached_frame *f = ux_cached_frame(m, frame);
	for (; f->up != 0 && n < UX_FRAMES_MAX; n++)
		f = ux_cached_frame(m, outer = f->up);
	const uint32_t function = frame_cache_frame_function(m, outer, f);
	if (function == 0)
		return NULL;
	if (f->up == 0 && function % 2 != 0)
		return m->stacks[0]->stacks[0];
	struct ux_cached_stack *s = frame_cache_new_stack(m, n);
	if (!s)
		return NULL;
	for (uint32_t i = 0; i < n; i++, frame = f->up) {
		f = ux_cached_frame(m, frame);
		s->lines[i].line = f->line;
		s->lines[i].function = frame_cache_frame_function(m, frame, f) / 2;
		if (s->lines[i].function == 0)
			return NULL;
	}
	return s;
}

/* Makes the empty stack, the stack of frame 0. False: no room. */
static bool frame_cache_make_empty_stack(struct ux_frame_cache *m)
{
	struct stacks_page *page = frame_cache_need_stacks_page(m, 0);
	if (page && !page->stacks[0])
		page->stacks[0] = frame_cache_new_stack(m, 0);
	return page && page->stacks[0];
}

/* Prefetches the entry with the function of a frame. */
ux_inline void frame_cache_prefetch_function(const struct ux_frame_cache *m, uint32_t frame)
{
	const struct stacks_page *page = frame_cache_stacks_page(m, frame);
	if (page)
		__builtin_prefetch(&page->functions[frame % FRAME_CACHE_STACKS_PAGE]);
}

ux_inline bool frame_cache_knows_function(const struct ux_frame_cache *m, uint32_t frame)
{
	const struct stacks_page *page = frame_cache_stacks_page(m, frame);
	return page && page->functions[frame % FRAME_CACHE_STACKS_PAGE] != 0;
}

/*
 * Prefetches everything that the stacks of n frames are made of, level by level, so that the cache
 * misses of different stacks overlap.
 */
static void frame_cache_prefetch_stacks(const struct ux_frame_cache *m, const uint32_t *frames,
					size_t n)
{
	uint32_t at[STACKS_GROUP];
	size_t left = n;
	for (size_t i = 0; i < n; i++) {
		at[i] = frames[i];
		ux_frame_cache_prefetch(m, at[i]);
		frame_cache_prefetch_function(m, at[i]);
	}
	for (unsigned level = 0; left > 0 && level < LEVELS_EXPECTED; level++) {
		size_t next = 0;
		for (size_t i = 0; i < left; i++) {
			if (at[i] == 0)
				continue;
			const struct ux_cached_frame *f = ux_cached_frame(m, at[i]);
			if (!frame_cache_knows_function(m, at[i]))
				cached_numbers_prefetch(&m->function_numbers,
							(uint64_t)f->function << 32 | f->file);
			at[next++] = f->up;
			ux_frame_cache_prefetch(m, f->up);
			frame_cache_prefetch_function(m, f->up);
		}
		left = next;
	}
}

/*
 * Makes the stacks of n frames where ret has none. Returns how many of the frames have a stack
 * then.
 */
static size_t frame_cache_make_group(struct ux_frame_cache *m, const uint32_t *frames, size_t n,
				     const struct ux_cached_stack **ret)
{
	uint32_t missing[STACKS_GROUP];
	size_t n_missing = 0;
	for (size_t i = 0; i < n; i++) {
		missing[n_missing] = frames[i];
		n_missing += !ret[i];
	}
	frame_cache_prefetch_stacks(m, missing, n_missing);
	for (size_t i = 0; i < n; i++) {
		if (ret[i])
			continue;
		struct stacks_page *page = frame_cache_need_stacks_page(m, frames[i]);
		if (!page)
			return i;
		const struct ux_cached_stack **stack =
			&page->stacks[frames[i] % FRAME_CACHE_STACKS_PAGE];
		if (!*stack)
			*stack = frame_cache_make_stack(m, frames[i]);
		if (!*stack)
			return i;
		ret[i] = *stack;
	}
	return n;
}

/* Makes the stacks of n frames that have none. Returns how many of the frames have a stack then. */
static size_t frame_cache_make_some_stacks(struct ux_frame_cache *m, const uint32_t *frames,
					   size_t n, const struct ux_cached_stack **ret)
{
	size_t done = 0;
	ux_frame_cache_lock(m);
	bool room = frame_cache_make_empty_stack(m);
	while (room && done < n) {
		const size_t some = ux_min(n - done, (size_t)STACKS_GROUP);
		const size_t made = frame_cache_make_group(m, frames + done, some, ret + done);
		done += made;
		room = made == some;
	}
	ux_frame_cache_unlock(m);
	return done;
}

size_t ux_frame_cache_find_stacks(struct ux_frame_cache *m, const uint32_t *frames, size_t n,
				  const struct ux_cached_stack **ret)
{
	size_t missing = 0;
	pthread_rwlock_rdlock(&m->lock);
	for (size_t i = 0; i < n; i++) {
		if (i + STACKS_AHEAD < n) {
			const struct stacks_page *page =
				frame_cache_stacks_page(m, frames[i + STACKS_AHEAD]);
			if (page)
				__builtin_prefetch(&page->stacks[frames[i + STACKS_AHEAD] %
								 FRAME_CACHE_STACKS_PAGE]);
		}
		const struct stacks_page *page = frame_cache_stacks_page(m, frames[i]);
		ret[i] = page ? page->stacks[frames[i] % FRAME_CACHE_STACKS_PAGE] : NULL;
		missing += ret[i] == NULL;
	}
	pthread_rwlock_unlock(&m->lock);
	return missing;
}

size_t ux_frame_cache_make_stacks(struct ux_frame_cache *m, const uint32_t *frames, size_t n,
				  const struct ux_cached_stack **ret)
{
	for (size_t at = 0; at < n;) {
		const size_t some = ux_min(n - at, (size_t)STACKS_LOCKED);
		const size_t done = frame_cache_make_some_stacks(m, frames + at, some, ret + at);
		at += done;
		if (done < some)
			return at;
	}
	return n;
}
