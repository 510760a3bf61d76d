/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting addresses by radix. */
#include "order.h"

enum {
	DIGIT_BITS = 11, /* 2,048 counters stay in the first-level cache */
	DIGITS = 1 << DIGIT_BITS,
	SMALL_BITS = 8, /* for fewer than SMALL keys: adding up all counters would take longest */
	SMALL = 1024,
	FEW = 64, /* up to this many keys insertion sort is faster than clearing the counters */
};

bool ux_order_init(struct ux_order *o, size_t most)
{
	*o = (struct ux_order){0};
	while (o->shift < 63 && (uint64_t)most >> o->shift != 0)
		o->shift++;
	o->keys = reallocarray(NULL, most, sizeof(*o->keys));
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

/* One stable pass by the digit of `bits` bits at `shift`, of at most DIGIT_BITS. */
static void order_radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift,
			     unsigned bits)
{
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
	bool sorted = true;
	uint64_t bits = 0; /* bits in which keys differ */
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

/* Sorts runs of items whose starts are equal. */
static void order_sort_ties(uint8_t *items, size_t n, size_t size, ux_compare_fn *compare)
{
	for (size_t first = 0, end; first < n; first = end) {
		uint64_t start = order_start(items + first * size);
		for (end = first + 1; end < n; end++)
			if (order_start(items + end * size) != start)
				break;
		if (end - first > 1)
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

/* Whether the starts ascend already, as those of many tables do. */
static bool order_starts_ascend(const uint8_t *items, size_t n, size_t size)
{
	for (size_t i = 1; i < n; i++)
		if (order_start(items + (i - 1) * size) > order_start(items + i * size))
			return false;
	return true;
}

void ux_sort_by_start(void *items, size_t n, size_t size, ux_compare_fn *compare)
{
	ux_sort_by_start_spilled(items, n, size, compare, /* spill= */ NULL);
}

void ux_sort_by_start_spilled(void *items, size_t n, size_t size, ux_compare_fn *compare,
			      struct ux_spill *spill)
{
	if (n < 2)
		return;
	if (order_starts_ascend(items, n, size) ||
	    (n > FEW && order_sort_starts(items, n, size, spill)))
		order_sort_ties(items, n, size, compare);
	else
		qsort(items, n, size, compare);
}
