/* SPDX-License-Identifier: Apache-2.0 */
/* Objects found by their hash. */
#include "manifest.h"

#include "order.h"
#include "partition.h"

static int hashed_compare(const void *a, const void *b)
{
	const struct ux_entry *const *x = a, *const *y = b;
	int by = memcmp((*x)->hash, (*y)->hash, sizeof((*x)->hash));
	if (by != 0)
		return by;
	UX_ORDER(*x, *y); /* their order in the manifest */
	return 0;
}

enum ux_code ux_entries_by_hash_make(const struct ux_manifest *m, struct ux_entries_by_hash *ret,
				     struct ux_error *err)
{
	ret->items = calloc(m->objects.size + 1, sizeof(*ret->items));
	if (!ret->items)
		return ux_error_nomem(err);
	for (size_t i = 0; i < m->objects.size; i++)
		ret->items[i] = &m->objects.data[i];
	ret->n = m->objects.size;
	qsort((void *)ret->items, ret->n, sizeof(*ret->items), hashed_compare);
	return UX_OK;
}

void ux_entries_by_hash_deinit(struct ux_entries_by_hash *by)
{
	free((void *)by->items);
	*by = (struct ux_entries_by_hash){0};
}

size_t ux_entries_by_hash_find(const struct ux_entries_by_hash *by,
			       const uint8_t hash[UX_MANIFEST_HASH])
{
	size_t lo = ux_partition_point(i, 0, by->n,
				       memcmp(by->items[i]->hash, hash, UX_MANIFEST_HASH) < 0);
	bool found = lo < by->n && memcmp(by->items[lo]->hash, hash, UX_MANIFEST_HASH) == 0;
	return found ? lo : by->n;
}

size_t ux_entries_by_hash_next(const struct ux_entries_by_hash *by, size_t i)
{
	bool more = i + 1 < by->n &&
		    memcmp(by->items[i]->hash, by->items[i + 1]->hash, UX_MANIFEST_HASH) == 0;
	return more ? i + 1 : by->n;
}
