/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted sets of address ranges. */
#include "code_range.h"

#include "order.h"
#include "partition.h"

static int range_compare(const void *a, const void *b)
{
	const struct ux_range *x = a, *y = b;
	UX_ORDER(x->lo, y->lo);
	UX_ORDER(x->hi, y->hi);
	return 0;
}

void ux_range_vec_normalize(struct ux_range_vec *ranges)
{
	struct ux_range *r = ranges->data;
	size_t last = 0;
	if (ranges->size < 2)
		return;
	ux_sort_by_start(r, ranges->size, sizeof(*r), range_compare);
	for (size_t i = 1; i < ranges->size; i++) {
		if (r[i].lo <= r[last].hi)
			r[last].hi = ux_max(r[last].hi, r[i].hi);
		else
			r[++last] = r[i];
	}
	ranges->size = last + 1;
}

size_t ux_range_set_from(const struct ux_range_set *set, uint64_t pc)
{
	return ux_partition_point(i, 0, set->count, set->list[i].hi <= pc);
}

const struct ux_range *ux_range_set_find(const struct ux_range_set *set, uint64_t pc)
{
	size_t i = ux_range_set_from(set, pc);
	return i < set->count && set->list[i].lo <= pc ? &set->list[i] : NULL;
}

bool ux_range_set_overlaps(const struct ux_range_set *set, uint64_t lo, uint64_t hi)
{
	size_t i = ux_range_set_from(set, lo);
	return i < set->count && set->list[i].lo < hi;
}
