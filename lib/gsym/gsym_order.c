/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting addresses by radix: a few passes, none of which compares. */
#include "gsym_order.h"

enum {
	DIGIT_BITS = 11, /* 2,048 counters stay in the first-level cache */
	DIGITS = 1 << DIGIT_BITS,
	FEW = 64, /* keys that insertion sorts sooner than counters are cleared */
};

bool gsym_order_init(struct gsym_order *o, size_t most)
{
	*o = (struct gsym_order){0};
	while (o->shift < 63 && (uint64_t)most >> o->shift != 0)
		o->shift++;
	o->keys = reallocarray(NULL, most, sizeof(*o->keys));
	return o->keys != NULL;
}

void gsym_order_deinit(struct gsym_order *o)
{
	free(o->keys);
	free(o->room);
	*o = (struct gsym_order){0};
}

static void insertion_sort(uint64_t *keys, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t key = keys[i];
		size_t at = i;
		for (; at > 0 && keys[at - 1] > key; at--)
			keys[at] = keys[at - 1];
		keys[at] = key;
	}
}

/* One stable pass by the digit at `shift`. */
static void radix_pass(const uint64_t *from, uint64_t *to, size_t n, unsigned shift)
{
	size_t at[DIGITS] = {0};
	for (size_t i = 0; i < n; i++)
		at[from[i] >> shift & (DIGITS - 1)]++;
	size_t sum = 0;
	for (size_t d = 0; d < DIGITS; d++) {
		size_t count = at[d];
		at[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

bool gsym_order_sort(struct gsym_order *o)
{
	bool sorted = true;
	uint64_t bits = 0; /* that differ */
	for (size_t i = 1; i < o->n; i++) {
		sorted &= o->keys[i - 1] < o->keys[i];
		bits |= o->keys[i - 1] ^ o->keys[i];
	}
	if (sorted)
		return true;
	if (o->n <= FEW) {
		insertion_sort(o->keys, o->n);
		return true;
	}
	o->room = reallocarray(NULL, o->n, sizeof(*o->room));
	if (!o->room)
		return false;
	for (unsigned shift = o->shift; shift < 64 && bits >> shift != 0; shift += DIGIT_BITS) {
		radix_pass(o->keys, o->room, o->n, shift);
		uint64_t *swap = o->keys;
		o->keys = o->room;
		o->room = swap;
	}
	free(ux_take(&o->room));
	return true;
}
