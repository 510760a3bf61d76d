/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by address with a radix sort, which needs no comparisons. */
#ifndef UX_ORDER_H
#define UX_ORDER_H

#include "base.h"
#include "region.h"

/*
 * An array of addresses, each with an index. keys[i] >> shift is the address; the bits below it are
 * the index.
 */
struct ux_order {
	uint64_t *keys; /* malloc'ed */
	uint64_t *room; /* malloc'ed, of the same length; used only while sorting */
	size_t n;
	unsigned shift;
};

/* Reserves room for `max` keys with indexes below `max`. False when memory is short. */
bool ux_order_init(struct ux_order *o, size_t max) ux_must;
void ux_order_deinit(struct ux_order *o);

/* Returns the highest address that fits into a key. */
ux_inline uint64_t ux_order_limit(const struct ux_order *o)
{
	return UINT64_MAX >> o->shift;
}

ux_inline void ux_order_add(struct ux_order *o, uint64_t address, size_t index)
{
	o->keys[o->n++] = address << o->shift | index;
}

ux_inline uint64_t ux_order_address(const struct ux_order *o, size_t i)
{
	return o->keys[i] >> o->shift;
}

ux_inline size_t ux_order_place(const struct ux_order *o, size_t i)
{
	return o->keys[i] & (((uint64_t)1 << o->shift) - 1);
}

/*
 * Sorts the keys by address. They must have been added in ascending order of their indexes; the
 * sort is stable.
 */
bool ux_order_sort(struct ux_order *o) ux_must;

/* For comparison functions: returns the order of a and b unless they are equal. */
#define UX_ORDER(a, b)                             \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

typedef int ux_compare_fn(const void *a, const void *b);

/*
 * Sorts n items of `size` bytes, like qsort(), by the uint64_t at the start of each. `compare` is
 * only called for items with equal starts.
 */
void ux_sort_by_start(void *items, size_t n, size_t size, ux_compare_fn *compare);

/* Sorts in the same way, for many items: they are moved through an array in memory or in a file, as
 * `spill` says (region.h). */
void ux_sort_by_start_spilled(void *items, size_t n, size_t size, ux_compare_fn *compare,
			      struct ux_spill *spill);

#endif
