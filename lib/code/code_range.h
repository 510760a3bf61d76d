/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges, and sorted sets of them. */
#ifndef UX_CODE_RANGE_H
#define UX_CODE_RANGE_H

#include "spill_vec.h"

/* A half-open range of pcs. */
struct ux_range {
	uint64_t lo;
	uint64_t hi;
};

UX_SPILL_VEC(ux_range_vec, struct ux_range);

/*
 * Sorted, disjoint ranges that the set does not own. Usually they are a module's text: its
 * executable sections. A function that begins outside of the text is not code: the linker dropped
 * it and left 0, 1, -1 or -2 as its address. Deciding by section and not by value keeps the code of
 * modules that really have code at 0.
 */
struct ux_range_set {
	const struct ux_range *list;
	size_t count;
};

/* Returns the ranges of a sorted vector as a set, which is valid until the vector changes. */
ux_inline struct ux_range_set ux_range_vec_set(const struct ux_range_vec *ranges)
{
	return (struct ux_range_set){ranges->data, ranges->size};
}

/* Sorts the ranges and joins ranges that overlap or touch. */
void ux_range_vec_normalize(struct ux_range_vec *ranges);

/* Returns the index of the first range that ends after pc; the number of ranges when none does. */
size_t ux_range_set_from(const struct ux_range_set *set, uint64_t pc);

/* Returns the range that contains pc, or NULL. */
const struct ux_range *ux_range_set_find(const struct ux_range_set *set, uint64_t pc);

/* Returns true when some range of the set shares an address with [lo, hi). */
bool ux_range_set_overlaps(const struct ux_range_set *set, uint64_t lo, uint64_t hi);

#endif
