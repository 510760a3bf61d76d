/* SPDX-License-Identifier: Apache-2.0 */
/* Writes lines of an OTLP message from the stacks of a frame cache. */
#include "otlp_cached.h"

enum {
	PAGE = 64,           /* numbers in one page */
	RESERVED_MAX = 8192, /* addresses for which memory is reserved at the beginning */
};
static_assert(UX_CACHED_STRING_TAG == (OTLP_STRING_TABLE << 3 | UX_PROTOBUF_BYTES), "");
static_assert((int)UX_CACHED_STRING_BEHIND >= (int)UX_OTLP_BORROWED_BEHIND, "");

void ux_otlp_cached_init(struct ux_otlp_cached *c, struct ux_otlp_names *names)
{
	memset(c, 0,
	       offsetof(struct ux_otlp_cached, batch)); /* the batch is written before it is read */
	c->names = names;
}

void ux_otlp_cached_deinit(struct ux_otlp_cached *c)
{
	ux_otlp_page_list_deinit(&c->function_pages.numbers);
	ux_otlp_page_list_deinit(&c->string_pages.numbers);
	ux_otlp_head_list_deinit(&c->heads);
	ux_otlp_number_list_deinit(&c->strings);
	ux_frame_cache_unref(c->cache);
}

void ux_otlp_cached_reset(struct ux_otlp_cached *c)
{
	c->function_pages.numbers.size = c->string_pages.numbers.size = 0;
	c->function_pages.n = c->string_pages.n = 0;
	c->heads.size = c->strings.size = 0;
	if (!c->cache)
		return;
	ux_otlp_strings_settle(&c->names->strings);
	ux_frame_cache_unref(c->cache);
	c->cache = NULL;
}

/* --- pages ------------------------------------------------------------------------------------ */

/*
 * Hash maps (map.h) in place of pages are 55 lines less, but a known location took 143 ns with them
 * instead of 68, 7.0 million a second instead of 14.8; the goal is 8 million. Measured by
 * bench/symbolize otlp, 200,000 random addresses of unhex, messages of 10,000. Arrays without pages
 * would have to be cleared for each message, as large as the cache is.
 */

/* Appends a page to the table. False: memory is short. */
static bool otlp_pages_add(struct ux_otlp_pages *p, size_t page)
{
	struct ux_otlp_page_list *numbers = &p->numbers;
	if (page >= numbers->size) {
		const size_t n = ux_max(page + 1, 2 * numbers->size);
		if (!ux_otlp_page_list_reserve(numbers, n))
			return false;
		memset(numbers->data + numbers->size, 0,
		       (n - numbers->size) * sizeof(*numbers->data));
		numbers->size = n;
	}
	numbers->data[page] = ++p->n;
	return true;
}

ux_inline bool otlp_pages_have(const struct ux_otlp_pages *p, uint32_t number)
{
	const size_t page = number / PAGE;
	return ux_likely(page < p->numbers.size) && ux_likely(p->numbers.data[page] != 0);
}

/* Returns the place of a number whose page exists. */
ux_inline uint32_t otlp_pages_place(const struct ux_otlp_pages *p, uint32_t number)
{
	return (p->numbers.data[number / PAGE] - 1) * PAGE + number % PAGE;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Makes a page of heads for a function. */
static ux_cold bool otlp_add_heads(struct ux_otlp_cached *c, uint32_t function)
{
	struct ux_otlp_head_list *heads = &c->heads;
	if (!ux_otlp_head_list_reserve(heads, heads->size + PAGE) ||
	    !otlp_pages_add(&c->function_pages, function / PAGE))
		return false;
	memset(heads->data + heads->size, 0, PAGE * sizeof(*heads->data));
	heads->size += PAGE;
	return true;
}

/* Makes a page of numbers for a string. */
static ux_cold bool otlp_add_strings(struct ux_otlp_cached *c, uint32_t string)
{
	struct ux_otlp_number_list *numbers = &c->strings;
	if (!ux_otlp_number_list_reserve(numbers, numbers->size + PAGE) ||
	    !otlp_pages_add(&c->string_pages, string / PAGE))
		return false;
	memset(numbers->data + numbers->size, 0, PAGE * sizeof(*numbers->data));
	numbers->size += PAGE;
	return true;
}

/* --- strings of functions --------------------------------------------------------------------- */

/* State of appending strings: the number of the next one. */
struct otlp_string_adder {
	struct ux_otlp_cached *c;
	const struct ux_frame_cache *cache;
	uint32_t next;
};

/*
 * Gets the message's number of string s of the cache. A string that the message already has from a
 * previous cache is found by its bytes.
 */
ux_inline bool otlp_put_string(struct otlp_string_adder *a, uint32_t string, uint32_t *ret)
{
	struct ux_otlp_cached *c = a->c;
	struct ux_otlp_strings *strings = &c->names->strings;
	*ret = 0;
	if (string == 0)
		return true;
	if (ux_unlikely(!otlp_pages_have(&c->string_pages, string)) && !otlp_add_strings(c, string))
		return false;
	uint32_t *number = &c->strings.data[otlp_pages_place(&c->string_pages, string)];
	if (*number == 0) {
		const struct ux_cached_string *s = ux_cached_string(a->cache, string);
		if (ux_unlikely(strings->list.size > 0))
			*number = ux_otlp_strings_find(
				strings, ux_bytes(s->field + s->head, s->size - s->head), s->hash);
		if (ux_likely(*number == 0)) {
			*number = a->next++;
			ux_otlp_strings_borrow(strings, s->field, s->size, s->hash);
		}
	}
	*ret = *number;
	return true;
}

/* Appends the new functions of the batch; n lines use a function for the first time. */
static enum ux_code otlp_put_fresh(struct ux_otlp_cached *c, const struct ux_frame_cache *cache,
				   size_t n, struct ux_error *err)
{
	const struct ux_otlp_batch *b = &c->batch;
	if (n == 0)
		return UX_OK;
	struct otlp_string_adder a = {.c = c, .cache = cache};
	uint8_t *p = ux_otlp_functions_begin(c->names, n);
	a.next = ux_otlp_strings_begin(&c->names->strings, 3 * n);
	if (!p || a.next == 0)
		return ux_otlp_names_status(c->names, err);
	const uint32_t first = c->names->n_functions;
	for (size_t i = 0; i < n; i++) {
		const uint32_t line = b->fresh[i];
		const struct ux_cached_function *f =
			ux_cached_function(cache, b->lines[line].function);
		uint32_t name = 0, linkage = 0, path = 0;
		if (!otlp_put_string(&a, f->name, &name) ||
		    !otlp_put_string(&a, f->linkage, &linkage) ||
		    !otlp_put_string(&a, f->path, &path))
			return ux_error_nomem(err);
		p = ux_otlp_functions_put(p, name, linkage, path);
		c->heads.data[b->heads[line]] = ux_otlp_line_head(first + (uint32_t)i);
	}
	ux_otlp_functions_end(c->names, n, p);
	return UX_OK;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Copies the stacks of as many addresses as fit. Returns their number. */
static size_t otlp_batch_fill(struct ux_otlp_batch *b, const struct ux_cached_stack *const *stacks,
			      size_t n, size_t *ret_lines)
{
	size_t lines = 0, i = 0;
	for (; i < n; i++) {
		const struct ux_cached_stack *s = stacks[i];
		if (ux_unlikely(lines + s->n > UX_OTLP_BATCH_LINES))
			break;
		memcpy(b->lines + lines, s->lines, UX_CACHED_LINES_MIN * sizeof(*s->lines));
		if (ux_unlikely(s->n > UX_CACHED_LINES_MIN))
			memcpy(b->lines + lines, s->lines, s->n * sizeof(*s->lines));
		lines += s->n;
		b->ends[i] = (uint32_t)lines;
	}
	*ret_lines = lines;
	return i;
}

/*
 * Finds the functions of n lines. Some may be new, which is unpredictable, so the loop has no
 * branch on it.
 */
static enum ux_code otlp_batch_functions(struct ux_otlp_cached *c,
					 const struct ux_frame_cache *cache, size_t n,
					 struct ux_error *err)
{
	struct ux_otlp_batch *b = &c->batch;
	size_t n_fresh = 0;
	for (size_t i = 0; i < n; i++) {
		const uint32_t function = b->lines[i].function;
		if (ux_unlikely(!otlp_pages_have(&c->function_pages, function)) &&
		    !otlp_add_heads(c, function))
			return ux_error_nomem(err);
		const uint32_t place = otlp_pages_place(&c->function_pages, function);
		struct ux_otlp_line_head *head = &c->heads.data[place];
		b->heads[i] = place;
		b->fresh[n_fresh] = (uint32_t)i;
		__builtin_prefetch(ux_cached_function(cache, function));
		n_fresh += head->size == 0;
		head->size |= head->size == 0; /* marks a new function; its real size follows */
	}
	return otlp_put_fresh(c, cache, n_fresh, err);
}

/* Writes n_lines lines, which belong to n addresses from `first` on. */
static enum ux_code otlp_batch_write(struct ux_otlp_cached *c, size_t n, size_t n_lines,
				     size_t first, struct ux_error *err)
{
	struct ux_otlp_batch *b = &c->batch;
	uint8_t *const start = ux_otlp_lines_begin(c->names, n_lines), *p = start;
	if (!start)
		return ux_otlp_names_status(c->names, err);
	for (size_t i = 0; i < n_lines; i++) {
		p = ux_otlp_lines_put_head(p, &c->heads.data[b->heads[i]], b->lines[i].line);
		b->line_ends[i] = (uint32_t)(p - start);
	}
	size_t all_named = 0;
	for (size_t i = 0, k = 0; i < n; i++) {
		const bool named = b->ends[i] > k;
		all_named += named;
		if (ux_likely(named))
			ux_otlp_lines_end(c->names, first + i,
					  start + b->line_ends[b->ends[i] - 1]);
		k = b->ends[i];
	}
	c->named += all_named;
	c->nameless += n - all_named;
	return UX_OK;
}

/*
 * Reserves memory for a typical profile of n addresses, so that lists are not copied again and
 * again while they grow.
 */
static bool otlp_cached_reserve(struct ux_otlp_cached *c, size_t n)
{
	struct ux_otlp_strings *strings = &c->names->strings;
	n = ux_min(n, (size_t)RESERVED_MAX);
	ux_otlp_names_reserve(c->names, n);
	return ux_otlp_head_list_reserve(&c->heads, n) &&
	       ux_otlp_number_list_reserve(&c->strings, 2 * n) &&
	       ux_otlp_borrowed_list_reserve(&strings->borrowed, strings->borrowed.size + n) &&
	       ux_otlp_string_hashes_reserve(&strings->hashes, strings->hashes.size + 2 * n);
}

enum ux_code ux_otlp_cached_put(struct ux_otlp_cached *c, struct ux_frame_cache *cache,
				const struct ux_cached_stack *const *stacks, size_t n, size_t first,
				struct ux_error *err)
{
	if (!c->cache) { /* the message borrows the cache's strings */
		c->cache = ux_frame_cache_ref(cache);
		if (!otlp_cached_reserve(c, n))
			return ux_error_nomem(err);
	}
	assert(c->cache == cache);
	for (size_t i = 0; i < ux_min(n, (size_t)UX_OTLP_BATCH); i++)
		__builtin_prefetch(stacks[i]);
	for (size_t at = 0, some = 0; at < n; at += some) {
		size_t lines = 0;
		some = ux_min(n - at, (size_t)UX_OTLP_BATCH);
		/* prefetch the next batch while this one is written */
		for (size_t i = at + some; i < ux_min(n, at + some + UX_OTLP_BATCH); i++)
			__builtin_prefetch(stacks[i]);
		some = otlp_batch_fill(&c->batch, stacks + at, some, &lines);
		UX_TRY(otlp_batch_functions(c, cache, lines, err));
		UX_TRY(otlp_batch_write(c, some, lines, first + at, err));
	}
	return ux_otlp_names_status(c->names, err);
}
