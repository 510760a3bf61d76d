/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of an OTLP message from the frames of a frame cache. */
#include "otlp_cached.h"

enum {
	PAGE = 64, /* slots that are made together */
};

void ux_otlp_cached_init(struct ux_otlp_cached *c, struct ux_otlp_names *names)
{
	memset(c, 0,
	       offsetof(struct ux_otlp_cached, batch)); /* which is written before it is read */
	c->names = names;
}

void ux_otlp_cached_deinit(struct ux_otlp_cached *c)
{
	ux_otlp_page_list_deinit(&c->pages);
	ux_otlp_slot_list_deinit(&c->slots);
	ux_profile_numbers_deinit(&c->others);
	ux_otlp_function_list_deinit(&c->functions);
}

void ux_otlp_cached_reset(struct ux_otlp_cached *c)
{
	c->pages.size = c->slots.size = c->functions.size = 0;
	ux_profile_numbers_deinit(&c->others);
}

/* --- slots ------------------------------------------------------------------------------------ */

/* Makes the page of a text. False: memory is short. */
static bool otlp_add_page(struct ux_otlp_cached *c, size_t page)
{
	if (page >= c->pages.size) {
		const size_t n = ux_max(page + 1, 2 * c->pages.size);
		if (!ux_otlp_page_list_reserve(&c->pages, n))
			return false;
		memset(c->pages.data + c->pages.size, 0,
		       (n - c->pages.size) * sizeof(*c->pages.data));
		c->pages.size = n;
	}
	if (!ux_otlp_slot_list_reserve(&c->slots, c->slots.size + PAGE))
		return false;
	memset(c->slots.data + c->slots.size, 0, PAGE * sizeof(*c->slots.data));
	c->slots.size += PAGE;
	c->pages.data[page] = (uint32_t)(c->slots.size / PAGE);
	return true;
}

/* The slot of a text, until the next one is looked for. NULL: memory is short. */
ux_inline struct ux_otlp_slot *otlp_slot_of(struct ux_otlp_cached *c, uint32_t text)
{
	const size_t page = text / PAGE;
	if (ux_unlikely(page >= c->pages.size || c->pages.data[page] == 0) &&
	    !otlp_add_page(c, page))
		return NULL;
	return &c->slots.data[(c->pages.data[page] - 1) * (size_t)PAGE + text % PAGE];
}

/* --- functions -------------------------------------------------------------------------------- */

/* The number of the string of a file's path, 0 when it has none. */
static enum ux_code otlp_put_path(struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				  uint32_t file, uint32_t *ret, struct ux_error *err)
{
	*ret = 0;
	if (file == 0)
		return UX_OK;
	const uint32_t path = ux_cached_file(cache, file)->path;
	struct ux_otlp_slot *slot = otlp_slot_of(c, path);
	if (!slot)
		return ux_error_nomem(err);
	if (slot->number == 0) {
		const struct ux_cached_text *text = ux_cached_text(cache, path);
		slot->number = ux_otlp_strings_put(&c->names->strings,
						   ux_bytes(text->data, text->size), text->hash);
	}
	*ret = slot->number;
	return UX_OK;
}

static bool otlp_has_name(const struct ux_frame_cache *cache, uint32_t text)
{
	return text != 0 && !ux_bytes_eq(ux_cached_text_bytes(cache, text), UX_STR(UX_NO_NAME));
}

/* Appends the function of a frame to the message. */
static enum ux_code otlp_put_function(struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				      const struct ux_cached_frame *f,
				      struct ux_otlp_line_head *ret, struct ux_error *err)
{
	struct ux_otlp_strings *strings = &c->names->strings;
	uint32_t name = 0, linkage = 0, file = 0;
	if (f->up == 0 && !otlp_has_name(cache, f->function)) {
		*ret = (struct ux_otlp_line_head){0};
		return UX_OK;
	}
	if (f->function != 0) {
		const struct ux_cached_text *t = ux_cached_text(cache, f->function);
		linkage = name = ux_otlp_strings_put(strings, ux_bytes(t->data, t->size), t->hash);
		if (t->linkage != t->data)
			linkage =
				ux_otlp_strings_put(strings, ux_cached_linkage(t), t->linkage_hash);
	}
	UX_TRY(otlp_put_path(c, cache, f->file, &file, err));
	*ret = ux_otlp_line_head(ux_otlp_names_function(c->names, name, linkage, file));
	return UX_OK;
}

/* Prefetches what says where the names of a frame's function are. */
ux_inline void otlp_expect_function(const struct ux_frame_cache *cache,
				    const struct ux_cached_frame *f)
{
	if (f->function != 0)
		__builtin_prefetch(ux_cached_text(cache, f->function));
	if (f->file != 0)
		__builtin_prefetch(ux_cached_file(cache, f->file));
}

/* Prefetches the names, and where they are looked for in the message. */
ux_inline void otlp_expect_names(const struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				 const struct ux_cached_frame *f)
{
	if (f->function == 0)
		return;
	const struct ux_cached_text *t = ux_cached_text(cache, f->function);
	ux_otlp_strings_expect(&c->names->strings, t->hash);
	ux_cached_text_prefetch(t);
	if (t->linkage != t->data) {
		ux_otlp_strings_expect(&c->names->strings, t->linkage_hash);
		__builtin_prefetch(t->linkage);
	}
}

/* Appends the functions that n frames of the batch are the first ones of. */
static enum ux_code otlp_put_fresh(struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				   size_t n, struct ux_error *err)
{
	const struct ux_otlp_batch *b = &c->batch;
	struct ux_otlp_line_head *to = ux_otlp_function_list_end(&c->functions);
	for (size_t i = 0; i < n; i++)
		otlp_expect_function(cache, &b->frames[b->fresh[i]]);
	for (size_t i = 0; i < n; i++)
		otlp_expect_names(c, cache, &b->frames[b->fresh[i]]);
	for (size_t i = 0; i < n; i++)
		UX_TRY(otlp_put_function(c, cache, &b->frames[b->fresh[i]], &to[i], err));
	c->functions.size += n;
	return UX_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * Queues the frames of n addresses (0: none), and prefetches each of them some time before it is
 * read. Returns how many they are; more than UX_OTLP_BATCH_LINES: there is no room for all.
 */
static size_t otlp_batch_queue(struct ux_otlp_batch *b, const struct ux_frame_cache *cache,
			       const uint32_t *frames, size_t n)
{
	size_t head = 0, tail = 0;
	memset(b->ends, 0, sizeof(b->ends));
	for (size_t i = 0; i < n; i++) {
		if (frames[i] == 0)
			continue;
		b->queue[tail] = (struct ux_otlp_queued){.frame = ux_cached_frame(cache, frames[i]),
							 .address = (uint32_t)i};
		__builtin_prefetch(b->queue[tail++].frame);
	}
	for (; head < tail && tail <= UX_OTLP_BATCH_LINES; head++) {
		const struct ux_otlp_queued *q = &b->queue[head];
		const uint32_t up = q->frame->up, depth = ++b->ends[q->address];
		const struct ux_cached_frame *frame = ux_cached_frame(cache, up ? up : 1);
		__builtin_prefetch(frame);
		b->queue[tail] = (struct ux_otlp_queued){frame, q->address, depth};
		tail += (up != 0) & (depth < UX_FRAMES_MOST);
	}
	return tail;
}

/* Copies the frames that were queued to where they belong. */
static void otlp_batch_order(struct ux_otlp_batch *b, size_t n, size_t n_frames)
{
	uint32_t starts[UX_OTLP_BATCH], sum = 0;
	for (size_t i = 0; i < n; i++) {
		starts[i] = sum;
		sum += b->ends[i];
		b->ends[i] = sum;
	}
	for (size_t i = 0; i < n_frames; i++) {
		const struct ux_otlp_queued *q = &b->queue[i];
		b->frames[starts[q->address] + q->depth] = *q->frame;
	}
}

/*
 * The number of a function whose text has another file in its slot. fresh: the number that it gets
 * if it is new. 0: memory is short.
 */
static uint32_t otlp_other_function(struct ux_otlp_cached *c, const struct ux_cached_frame *f,
				    uint32_t fresh)
{
	bool is_fresh = false;
	uint32_t *number = ux_profile_numbers_insert(
		&c->others, (uint64_t)f->function << 32 | f->file, &is_fresh);
	if (number && is_fresh)
		*number = fresh;
	return number ? *number : 0;
}

/* Finds the functions of n frames, of which some may be new: whether one is cannot be foreseen. */
static enum ux_code otlp_batch_functions(struct ux_otlp_cached *c,
					 const struct ux_frame_cache *cache, size_t n,
					 struct ux_error *err)
{
	struct ux_otlp_batch *b = &c->batch;
	const uint32_t known = (uint32_t)c->functions.size;
	uint32_t n_fresh = 0;
	if (!ux_otlp_function_list_reserve(&c->functions, known + n))
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++) {
		const struct ux_cached_frame *f = &b->frames[i];
		struct ux_otlp_slot *slot = otlp_slot_of(c, f->function);
		if (ux_unlikely(!slot))
			return ux_error_nomem(err);
		const bool fresh = slot->number == 0;
		uint32_t number = fresh ? known + n_fresh + 1 : slot->number;
		slot->file = fresh ? f->file : slot->file;
		slot->number = number;
		if (ux_unlikely(slot->file != f->file)) {
			number = otlp_other_function(c, f, known + n_fresh + 1);
			if (number == 0)
				return ux_error_nomem(err);
		}
		b->functions[i] = number - 1;
		b->fresh[n_fresh] = (uint32_t)i;
		n_fresh += number == known + n_fresh + 1;
	}
	return otlp_put_fresh(c, cache, n_fresh, err);
}

/* Writes the lines of n addresses, of which some are of functions without a name. */
static ux_cold void otlp_batch_write_some(struct ux_otlp_cached *c, uint8_t *p, size_t n,
					  size_t first)
{
	const struct ux_otlp_batch *b = &c->batch;
	for (size_t i = 0, k = 0; i < n; i++) {
		uint8_t *start = p;
		for (; k < b->ends[i]; k++) {
			const struct ux_otlp_line_head *function =
				&c->functions.data[b->functions[k]];
			p = function->size == 0
				    ? start
				    : ux_otlp_lines_put_head(p, function, b->frames[k].line);
		}
		if (p != start)
			ux_otlp_lines_end(c->names, first + i, p);
		c->named += p != start;
		c->nameless += p == start;
	}
}

/* Writes the lines of n addresses, from `first` on. */
static enum ux_code otlp_batch_write(struct ux_otlp_cached *c, size_t n, size_t n_frames,
				     size_t first, struct ux_error *err)
{
	struct ux_otlp_batch *b = &c->batch;
	uint8_t *const start = ux_otlp_lines_begin(c->names, n_frames), *p = start;
	bool all = true;
	if (!start)
		return ux_otlp_names_status(c->names, err);
	for (size_t i = 0; i < n_frames; i++) {
		const struct ux_otlp_line_head *function = &c->functions.data[b->functions[i]];
		all &= function->size != 0;
		p = ux_otlp_lines_put_head(p, function, b->frames[i].line);
		b->line_ends[i] = (uint32_t)(p - start);
	}
	if (!all) {
		otlp_batch_write_some(c, start, n, first);
		return UX_OK;
	}
	for (size_t i = 0, k = 0; i < n; i++) {
		c->named += b->ends[i] > k;
		c->nameless += b->ends[i] == k;
		if (b->ends[i] > k)
			ux_otlp_lines_end(c->names, first + i,
					  start + b->line_ends[b->ends[i] - 1]);
		k = b->ends[i];
	}
	return UX_OK;
}

enum ux_code ux_otlp_cached_put(struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				const uint32_t *frames, size_t n, size_t first,
				struct ux_error *err)
{
	for (size_t at = 0, some = 0; at < n; at += some) {
		some = ux_min(n - at, (size_t)UX_OTLP_BATCH);
		size_t n_frames = otlp_batch_queue(&c->batch, cache, frames + at, some);
		while (n_frames > UX_OTLP_BATCH_LINES) {
			some /= 2; /* never reaches 0, since there is room for one address */
			n_frames = otlp_batch_queue(&c->batch, cache, frames + at, some);
		}
		otlp_batch_order(&c->batch, some, n_frames);
		UX_TRY(otlp_batch_functions(c, cache, n_frames, err));
		UX_TRY(otlp_batch_write(c, some, n_frames, first + at, err));
	}
	return ux_otlp_names_status(c->names, err);
}
