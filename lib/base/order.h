/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting by address: a few passes, none of which compares. */
#ifndef UX_ORDER_H
#define UX_ORDER_H

#include "base.h"

/* Many addresses, each with its place. keys[i] >> shift is an address, the bits below its place. */
struct ux_order {
	uint64_t *keys; /* malloc'ed */
	uint64_t *room; /* malloc'ed, as long, while sorting */
	size_t n;
	unsigned shift;
};

/* Room for `most` keys with places below `most`; false when memory is short. */
bool ux_order_init(struct ux_order *o, size_t most) ux_must;
void ux_order_deinit(struct ux_order *o);

/* Addresses up to this one have a key. */
ux_inline uint64_t ux_order_limit(const struct ux_order *o)
{
	return UINT64_MAX >> o->shift;
}

ux_inline void ux_order_add(struct ux_order *o, uint64_t address, size_t place)
{
	o->keys[o->n++] = address << o->shift | place;
}

ux_inline uint64_t ux_order_address(const struct ux_order *o, size_t i)
{
	return o->keys[i] >> o->shift;
}

ux_inline size_t ux_order_place(const struct ux_order *o, size_t i)
{
	return o->keys[i] & (((uint64_t)1 << o->shift) - 1);
}

/* Sorts what was added, in ascending order of places, by address; equal ones keep their order. */
bool ux_order_sort(struct ux_order *o) ux_must;

/* Of a comparison: decides by a and b unless they are equal. */
#define UX_ORDER(a, b)                             \
	do {                                       \
		if ((a) != (b))                    \
			return (a) < (b) ? -1 : 1; \
	} while (0)

typedef int ux_compare_fn(const void *a, const void *b);

/*
 * qsort() for n items of `size` bytes whose first criterion is the uint64_t that each begins with:
 * only items alike in that are compared.
 */
void ux_sort_by_start(void *items, size_t n, size_t size, ux_compare_fn *compare);

#endif
