/* SPDX-License-Identifier: Apache-2.0 */
/* Maps addresses to frame numbers, by a bitmap with counts. */
#include "frame_map.h"

#include "frame_cache.h"
#include "order.h"
#include "table_memory.h"

enum {
	MAP_GROUP = 32, /* addresses whose cache misses overlap */
};

void ux_frame_map_draft_deinit(struct ux_frame_map_draft *d)
{
	ux_frame_map_entries_deinit(&d->entries);
	ux_frame_map_functions_deinit(&d->functions);
}

/* --- making it -------------------------------------------------------------------------------- */

static uint32_t frame_map_end(const struct ux_frame_map_draft *d)
{
	uint32_t end = 0;
	for (size_t i = 0; i < d->functions.size; i++)
		end = ux_max(end, d->functions.data[i].end);
	return end;
}

static size_t frame_map_blocks(uint64_t size)
{
	return (size_t)(size / UX_FRAME_MAP_BLOCK + 1);
}

/*
 * Returns an upper bound: a mark for each entry, one for the end of each function, and one for
 * offset 0.
 */
static size_t frame_map_max_frames(const struct ux_frame_map_draft *d)
{
	return d->entries.size + d->functions.size + 1;
}

static size_t frame_map_tables_bytes(size_t blocks, size_t frames, size_t functions)
{
	return sizeof(struct ux_frame_map) + blocks * sizeof(struct ux_frame_map_block) +
	       (frames + functions) * sizeof(uint32_t);
}

size_t ux_frame_map_bytes(const struct ux_frame_map_draft *d)
{
	return frame_map_tables_bytes(frame_map_blocks(frame_map_end(d)), frame_map_max_frames(d),
				      d->functions.size);
}

static void frame_map_mark(struct ux_frame_map *map, uint32_t off)
{
	map->blocks[off / UX_FRAME_MAP_BLOCK].marks |= UINT64_C(1) << off % UX_FRAME_MAP_BLOCK;
}

/* Sets all marks and their counts; returns the number of marks. */
static uint32_t frame_map_set_marks(struct ux_frame_map *map, const struct ux_frame_map_draft *d)
{
	uint32_t n = 0;
	frame_map_mark(map, 0);
	for (size_t i = 0; i < d->entries.size; i++)
		frame_map_mark(map, d->entries.data[i].off);
	for (size_t i = 0; i < d->functions.size; i++)
		frame_map_mark(map, d->functions.data[i].end);
	for (size_t i = 0; i < frame_map_blocks(map->size); i++) {
		map->blocks[i].before = n;
		n += (uint32_t)__builtin_popcountll(map->blocks[i].marks);
	}
	return n;
}

/* Counts the bits that are set. */
ux_inline uint32_t frame_map_count(uint64_t bits)
{
#ifdef __POPCNT__
	return (uint32_t)__builtin_popcountll(bits);
#else /* the compiler would call a function that reads a table */
	bits -= bits >> 1 & 0x5555555555555555u;
	bits = (bits & 0x3333333333333333u) + (bits >> 2 & 0x3333333333333333u);
	return (uint32_t)(((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
#endif
}

/* Returns the index of the last mark at or before an offset in the map. */
ux_inline uint32_t frame_map_rank(const struct ux_frame_map *map, uint64_t off)
{
	const struct ux_frame_map_block *block = &map->blocks[off / UX_FRAME_MAP_BLOCK];
	const unsigned behind = UX_FRAME_MAP_BLOCK - 1 - off % UX_FRAME_MAP_BLOCK;
	return block->before + frame_map_count(block->marks << behind) - 1;
}

static bool frame_map_set_starts(struct ux_frame_map *map, const struct ux_frame_map_draft *d)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	map->n_starts = d->functions.size;
	map->starts = calloc(map->n_starts + 1, sizeof(*map->starts));
	if (!map->starts || !ux_order_init(&order, map->n_starts + 1))
		return false;
	for (size_t i = 0; i < map->n_starts; i++)
		ux_order_add(&order, d->functions.data[i].off, i);
	if (!ux_order_sort(&order))
		return false;
	for (size_t i = 0; i < map->n_starts; i++)
		map->starts[i] = (uint32_t)ux_order_address(&order, i);
	return true;
}

struct ux_frame_map *ux_frame_map_create(const struct ux_frame_map_draft *d)
{
	struct ux_frame_map *map = calloc(1, sizeof(*map));
	if (!map)
		return NULL;
	map->base = d->base;
	map->size = frame_map_end(d);
	map->blocks = ux_table_alloc(frame_map_blocks(map->size) * sizeof(*map->blocks));
	bool good = map->blocks != NULL;
	if (good) {
		map->n_frames = frame_map_set_marks(map, d);
		assert(map->n_frames <= frame_map_max_frames(d));
		map->frames = ux_table_alloc(map->n_frames * sizeof(*map->frames));
		good = map->frames && frame_map_set_starts(map, d);
	}
	if (!good) {
		ux_frame_map_destroy(map);
		return NULL;
	}
	for (size_t i = 0; i < d->entries.size; i++)
		map->frames[frame_map_rank(map, d->entries.data[i].off)] = d->entries.data[i].frame;
	return map;
}

void ux_frame_map_destroy(struct ux_frame_map *map)
{
	if (!map)
		return;
	ux_table_free(map->blocks, frame_map_blocks(map->size) * sizeof(*map->blocks));
	ux_table_free(map->frames, map->n_frames * sizeof(*map->frames));
	free(map->starts);
	free(map);
}

/* --- reading it ------------------------------------------------------------------------------- */

/* Returns the distance of an offset in the map from the start of its function. */
static uint64_t frame_map_distance(const struct ux_frame_map *map, uint64_t off)
{
	size_t at = 0;
	for (size_t left = map->n_starts; left > 1; left -= left / 2)
		at += left / 2 & -(size_t)(map->starts[at + left / 2] <= off);
	return off - map->starts[at];
}

/*
 * A search for the frames of addresses, in groups: while one group is resolved, the memory of the
 * next is prefetched.
 */
struct frame_map_search {
	const struct ux_frame_map *map;
	const uint64_t *pcs;
	uint64_t back;
	uint32_t *ret; /* the mark of an address, until its frame is read */
	size_t n;
};

/*
 * Returns the offset of an address. An address outside the map gets the end offset, which has no
 * frame.
 */
ux_inline uint64_t frame_map_search_off(const struct frame_map_search *s, size_t i)
{
	const uint64_t off = s->pcs[i] - s->back - s->map->base;
	return s->pcs[i] >= s->back && off < s->map->size ? off : s->map->size;
}

/* Returns the end of a group; the group after the last address is empty. */
ux_inline size_t frame_map_search_end(const struct frame_map_search *s, size_t first)
{
	return ux_min(first + MAP_GROUP, s->n);
}

static void frame_map_prefetch_blocks(const struct frame_map_search *s, size_t first)
{
	for (size_t i = first; i < frame_map_search_end(s, first); i++)
		__builtin_prefetch(
			&s->map->blocks[frame_map_search_off(s, i) / UX_FRAME_MAP_BLOCK]);
}

static void frame_map_find_marks(const struct frame_map_search *s, size_t first)
{
	for (size_t i = first; i < frame_map_search_end(s, first); i++) {
		s->ret[i] = frame_map_rank(s->map, frame_map_search_off(s, i));
		__builtin_prefetch(&s->map->frames[s->ret[i]]);
	}
}

/* Reads the frames of a group. Returns how many are unknown. */
static size_t frame_map_find_frames(const struct frame_map_search *s, size_t first)
{
	size_t unknown = 0;
	for (size_t i = first; i < frame_map_search_end(s, first); i++) {
		const uint32_t frame = s->map->frames[s->ret[i]];
		const uint32_t known = frame != 0 ? frame : UX_FRAME_UNKNOWN;
		s->ret[i] = s->pcs[i] >= s->back ? known : 0;
		unknown += s->ret[i] == UX_FRAME_UNKNOWN;
	}
	return unknown;
}

size_t ux_frame_map_find(const struct ux_frame_map *map, const uint64_t *pcs, size_t n,
			 uint64_t back, uint32_t *ret, uint64_t *ret_offsets)
{
	const struct frame_map_search s = {
		.map = map, .pcs = pcs, .back = back, .ret = ret, .n = n};
	size_t unknown = 0;
	frame_map_prefetch_blocks(&s, 0);
	for (size_t i = 0; i < n + MAP_GROUP; i += MAP_GROUP) {
		frame_map_prefetch_blocks(&s, i + MAP_GROUP);
		frame_map_find_marks(&s, i);
		if (i > 0)
			unknown += frame_map_find_frames(&s, i - MAP_GROUP);
	}
	for (size_t i = 0; ret_offsets && i < n; i++)
		ret_offsets[i] = ret[i] != 0 && ret[i] != UX_FRAME_UNKNOWN
					 ? frame_map_distance(map, pcs[i] - back - map->base)
					 : 0;
	return unknown;
}
