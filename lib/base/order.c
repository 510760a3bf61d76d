/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting addresses by radix. */
#include "order.h"

enum {
	DIGIT_BITS = 11, /* 2,048 counters stay in the first-level cache */
	DIGITS = 1 << DIGIT_BITS,
	/* digit size for fewer than SMALL keys: with larger digits, adding up the counters would
	 * take longest */
	SMALL_BITS = 8,
	SMALL = 1024,
	FEW = 64,     /* up to this many keys insertion sort is faster than clearing the counters */
	TIES_FEW = 8, /* items with equal starts that are moved one by one; qsort() of two items
			 takes 600 instructions */
	RUNS_FEW = 16, /* ascending runs that are merged; a run for each processor, for example */
};

bool ux_order_init(struct ux_order *o, size_t max)
{
	*o = (struct ux_order){0};
	while (o->shift < 63 && (uint64_t)max >> o->shift != 0)
		o->shift++;
	o->keys = reallocarray(NULL, max, sizeof(*o->keys));
	return o->keys != NULL;
}

void ux_order_deinit(struct ux_order *o)
{
	free(o->keys);
	free(o->room);
	*o = (struct ux_order){0};
}

static void order_insertion_sort(uint64_t *keys, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t key = keys[i];
		size_t at = i;
		for (; at > 0 && keys[at - 1] > key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/* Does one stable pass by the digit of `bits` bits at `shift`, of at most DIGIT_BITS. */
static void order_radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift,
			     unsigned bits)
{
	assert(bits <= DIGIT_BITS);
	size_t at[DIGITS], digits = (size_t)1 << bits;
	memset(at, 0, digits * sizeof(at[0]));
	for (size_t i = 0; i < n; i++)
		at[from[i] >> shift & (digits - 1)]++;
	size_t sum = 0;
	for (size_t d = 0; d < digits; d++) {
		size_t count = at[d];
		at[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> shift & (digits - 1)]++] = from[i];
}

bool ux_order_sort(struct ux_order *o)
{
	assert(!o->room);
	bool sorted = true;
	uint64_t bits = 0; /* bits that differ between keys */
	for (size_t i = 1; i < o->n; i++) {
		sorted &= o->keys[i - 1] < o->keys[i];
		bits |= o->keys[i - 1] ^ o->keys[i];
	}
	if (sorted)
		return true;
	if (o->n <= FEW) {
		order_insertion_sort(o->keys, o->n);
		return true;
	}
	o->room = reallocarray(NULL, o->n, sizeof(*o->room));
	if (!o->room)
		return false;
	unsigned digit = o->n < SMALL ? SMALL_BITS : DIGIT_BITS;
	for (unsigned shift = o->shift; shift < 64 && bits >> shift != 0; shift += digit) {
		order_radix_pass(o->keys, o->room, o->n, shift, digit);
		uint64_t *swap = o->keys;
		o->keys = o->room;
		o->room = swap;
	}
	free(ux_take(&o->room));
	return true;
}

static uint64_t order_start(const uint8_t *item)
{
	uint64_t start;
	memcpy(&start, item, sizeof(start));
	return start;
}

/* Room for one item while others are moved. */
struct order_item {
	max_align_t bytes[4];
};

/* Sorts a few items. Equal items stay in their order. */
static void order_insert_each(uint8_t *items, size_t n, size_t size, ux_compare_fn *compare)
{
	assert(size <= sizeof(struct order_item));
	for (size_t i = 1; i < n; i++) {
		struct order_item item;
		size_t at = i;
		while (at > 0 && compare(items + (at - 1) * size, items + i * size) > 0)
			at--;
		if (at == i)
			continue;
		memcpy(&item, items + i * size, size);
		memmove(items + (at + 1) * size, items + at * size, (i - at) * size);
		memcpy(items + at * size, &item, size);
	}
}

/* Sorts runs of items with equal starts. */
static void order_sort_ties(uint8_t *items, size_t n, size_t size, ux_compare_fn *compare)
{
	for (size_t first = 0, end; first < n; first = end) {
		uint64_t start = order_start(items + first * size);
		for (end = first + 1; end < n; end++)
			if (order_start(items + end * size) != start)
				break;
		if (end - first <= TIES_FEW && size <= sizeof(struct order_item))
			order_insert_each(items + first * size, end - first, size, compare);
		else
			qsort(items + first * size, end - first, size, compare);
	}
}

static uint8_t *order_moved(struct ux_spill *spill, size_t n, size_t size)
{
	size_t bytes = 0;
	return __builtin_mul_overflow(n, size, &bytes) ? NULL
						       : ux_spill_realloc(spill, NULL, bytes);
}

static void order_free_moved(uint8_t **moved)
{
	ux_spill_free(*moved);
}

/* Moves the items into the order of their starts; false when that needs more bits or memory. */
static bool order_sort_starts(uint8_t *items, size_t n, size_t size, struct ux_spill *spill)
{
	uint64_t low = UINT64_MAX, high = 0;
	for (size_t i = 0; i < n; i++) {
		low = ux_min(low, order_start(items + i * size));
		high = ux_max(high, order_start(items + i * size));
	}
	ux_cleanup(ux_order_deinit) struct ux_order order;
	if (!ux_order_init(&order, n) || high - low > ux_order_limit(&order))
		return false;
	for (size_t i = 0; i < n; i++)
		ux_order_add(&order, order_start(items + i * size) - low, i);
	ux_cleanup(order_free_moved) uint8_t *moved = order_moved(spill, n, size);
	if (!moved || !ux_order_sort(&order))
		return false;
	for (size_t i = 0; i < n; i++)
		memcpy(moved + i * size, items + ux_order_place(&order, i) * size, size);
	memcpy(items, moved, n * size);
	return true;
}

/* A run of items with ascending starts. */
struct order_run {
	const uint8_t *at;
	const uint8_t *end;
	uint64_t start; /* start of the item at `at` */
};

/* Splits the items into runs. Returns the number of runs; RUNS_FEW + 1: too many. */
static size_t order_find_runs(const uint8_t *items, size_t n, size_t size, struct order_run *runs)
{
	const uint8_t *end = items + n * size;
	size_t n_runs = 0;
	for (const uint8_t *at = items; at < end; n_runs++) {
		if (n_runs == RUNS_FEW)
			return RUNS_FEW + 1;
		struct order_run *run = &runs[n_runs];
		*run = (struct order_run){.at = at, .start = order_start(at)};
		uint64_t last = run->start;
		for (at += size; at < end; at += size) {
			uint64_t next = order_start(at);
			if (next < last)
				break;
			last = next;
		}
		run->end = at;
	}
	return n_runs;
}

/* Returns the run with the lowest next item, the first one of several; *ret_limit is the lowest
 * next start of all others. */
static size_t order_first_run(const struct order_run *runs, size_t n, uint64_t *ret_limit)
{
	assert(n >= 2);
	size_t first = runs[1].start < runs[0].start;
	uint64_t limit = runs[!first].start;
	for (size_t i = 2; i < n; i++) {
		if (runs[i].start < runs[first].start) {
			limit = runs[first].start;
			first = i;
		} else {
			limit = ux_min(limit, runs[i].start);
		}
	}
	*ret_limit = limit;
	return first;
}

/* Merges the runs into `to`; copies together all items of one run that come before all others. */
static void order_merge_runs(struct order_run *runs, size_t n, size_t size, uint8_t *to)
{
	assert(n > 0);
	while (n > 1) {
		uint64_t limit = 0;
		size_t first = order_first_run(runs, n, &limit);
		struct order_run *run = &runs[first];
		const uint8_t *from = run->at;
		do
			run->at += size;
		while (run->at < run->end && (run->start = order_start(run->at)) < limit);
		memcpy(to, from, (size_t)(run->at - from));
		to += run->at - from;
		if (run->at == run->end)
			memmove(run, run + 1, (--n - first) * sizeof(*run));
	}
	memcpy(to, runs[0].at, (size_t)(runs[0].end - runs[0].at));
}

/* Sorts items that consist of a few ascending runs, or of one; false when there are more runs. */
static bool order_sort_runs(uint8_t *items, size_t n, size_t size, struct ux_spill *spill)
{
	struct order_run runs[RUNS_FEW];
	size_t n_runs = order_find_runs(items, n, size, runs);
	if (n_runs == 1)
		return true;
	if (n_runs > RUNS_FEW || n <= FEW)
		return false;
	ux_cleanup(order_free_moved) uint8_t *moved = order_moved(spill, n, size);
	if (!moved)
		return false;
	order_merge_runs(runs, n_runs, size, moved);
	memcpy(items, moved, n * size);
	return true;
}

void ux_sort_by_start(void *items, size_t n, size_t size, ux_compare_fn *compare)
{
	ux_sort_by_start_spilled(items, n, size, compare, /* spill= */ NULL);
}

void ux_sort_by_start_spilled(void *items, size_t n, size_t size, ux_compare_fn *compare,
			      struct ux_spill *spill)
{
	assert(size >= sizeof(uint64_t));
	if (n < 2)
		return;
	if (order_sort_runs(items, n, size, spill) ||
	    (n > FEW && order_sort_starts(items, n, size, spill)))
		order_sort_ties(items, n, size, compare);
	else
		qsort(items, n, size, compare);
}
