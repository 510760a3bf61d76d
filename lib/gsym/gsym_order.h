/* SPDX-License-Identifier: Apache-2.0 */
/* Many addresses in ascending order, each with its place among those that were asked. */
#ifndef UX_GSYM_ORDER_H
#define UX_GSYM_ORDER_H

#include "base.h"

/* keys[i] >> shift is an address, the bits below its place. */
struct gsym_order {
	uint64_t *keys; /* malloc'ed */
	uint64_t *room; /* malloc'ed, as long, while sorting */
	size_t n;
	unsigned shift;
};

/* Room for `most` keys with places below `most`; false when memory is short. */
bool gsym_order_init(struct gsym_order *o, size_t most) ux_must;
void gsym_order_deinit(struct gsym_order *o);

/* Addresses up to this one have a key. */
ux_inline uint64_t gsym_order_limit(const struct gsym_order *o)
{
	return UINT64_MAX >> o->shift;
}

ux_inline void gsym_order_add(struct gsym_order *o, uint64_t address, size_t place)
{
	o->keys[o->n++] = address << o->shift | place;
}

ux_inline uint64_t gsym_order_address(const struct gsym_order *o, size_t i)
{
	return o->keys[i] >> o->shift;
}

ux_inline size_t gsym_order_place(const struct gsym_order *o, size_t i)
{
	return o->keys[i] & (((uint64_t)1 << o->shift) - 1);
}

/* Sorts what was added, in ascending order of places, by address; equal ones keep their order. */
bool gsym_order_sort(struct gsym_order *o) ux_must;

#endif
