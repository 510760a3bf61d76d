/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces as sorted arrays of mappings. */
#include "perf_space.h"

#include "partition.h"

void ux_perf_space_release(struct ux_perf_spaces *all, struct ux_perf_space **space)
{
	struct ux_perf_space *s = ux_take(space);
	if (!s || --s->users > 0)
		return;
	all->mappings -= s->list.size;
	ux_perf_mapping_list_deinit(&s->list);
	free(s);
}

/* Returns the index of the first mapping that ends after the address. */
static size_t perf_space_seek(const struct ux_perf_space *s, uint64_t address)
{
	return ux_partition_point(i, 0, s->list.size, s->list.data[i].end <= address);
}

const struct ux_perf_mapping *ux_perf_space_find(const struct ux_perf_space *space,
						 uint64_t address)
{
	if (!space)
		return NULL;
	size_t i = perf_space_seek(space, address);
	const struct ux_perf_mapping *m = space->list.data + i;
	return i < space->list.size && m->start <= address ? m : NULL;
}

/* Makes *space unshared, with room for two more mappings. */
static enum ux_code perf_space_own(struct ux_perf_spaces *all, struct ux_perf_space **space,
				   struct ux_error *err)
{
	struct ux_perf_space *old = *space;
	size_t n = old ? old->list.size : 0;
	bool shared = !old || old->users > 1;
	if (n + 2 > UX_PERF_SPACE_MAX ||
	    all->mappings + 2 + (shared ? n : 0) > UX_PERF_MAPPINGS_MAX)
		return UX_ELIMIT;
	if (!shared)
		return ux_perf_mapping_list_reserve(&old->list, n + 2) ? UX_OK
								       : ux_error_nomem(err);
	struct ux_perf_space *s = calloc(1, sizeof(*s));
	if (!s || !ux_perf_mapping_list_reserve(&s->list, n + 2)) {
		free(s);
		return ux_error_nomem(err);
	}
	s->users = 1;
	s->list.size = n;
	if (n > 0)
		memcpy(s->list.data, old->list.data, n * sizeof(*s->list.data));
	all->mappings += n;
	ux_perf_space_release(all, space);
	*space = s;
	return UX_OK;
}

/* Replaces the mappings from index `from` to `to` by `n` others. */
static void perf_space_splice(struct ux_perf_spaces *all, struct ux_perf_space *s, size_t from,
			      size_t to, const struct ux_perf_mapping *put, size_t n)
{
	assert(from <= to && to <= s->list.size && n <= to - from + 2);
	assert(s->users == 1);
	struct ux_perf_mapping *at = s->list.data + from;
	size_t behind = s->list.size - to;
	if (behind > 0 && n != to - from)
		memmove(at + n, s->list.data + to, behind * sizeof(*at));
	if (n > 0)
		memcpy(at, put, n * sizeof(*at));
	all->mappings = all->mappings - (to - from) + n;
	s->list.size = from + n + behind;
	s->version = ++all->versions;
}

/* Replaces the mappings from start to end by `mapping`; NULL: by nothing. */
static enum ux_code perf_space_replace(struct ux_perf_spaces *all, struct ux_perf_space **space,
				       uint64_t start, uint64_t end,
				       const struct ux_perf_mapping *mapping, struct ux_error *err)
{
	UX_TRY(perf_space_own(all, space, err));
	struct ux_perf_space *s = *space;
	struct ux_perf_mapping put[3];
	size_t n = 0;
	size_t from = perf_space_seek(s, start);
	size_t to = from;
	while (to < s->list.size && s->list.data[to].start < end)
		to++;
	if (to > from && s->list.data[from].start < start) {
		put[n] = s->list.data[from];
		put[n++].end = start;
	}
	if (mapping)
		put[n++] = *mapping;
	if (to > from && s->list.data[to - 1].end > end) {
		struct ux_perf_mapping rest = s->list.data[to - 1];
		rest.offset += end - rest.start;
		rest.start = end;
		put[n++] = rest;
	}
	perf_space_splice(all, s, from, to, put, n);
	return UX_OK;
}

void ux_perf_space_touch(struct ux_perf_spaces *all, struct ux_perf_space *space)
{
	if (space)
		space->version = ++all->versions;
}

enum ux_code ux_perf_space_map(struct ux_perf_spaces *all, struct ux_perf_space **space,
			       struct ux_perf_mapping mapping, struct ux_error *err)
{
	return perf_space_replace(all, space, mapping.start, mapping.end, &mapping, err);
}

enum ux_code ux_perf_space_unmap(struct ux_perf_spaces *all, struct ux_perf_space **space,
				 uint64_t start, uint64_t end, struct ux_error *err)
{
	if (!*space)
		return UX_OK;
	return perf_space_replace(all, space, start, end, NULL, err);
}
