/* SPDX-License-Identifier: Apache-2.0 */
/* Maps addresses to frame numbers, for all addresses of a module's functions. */
#ifndef UX_FRAME_MAP_H
#define UX_FRAME_MAP_H

#include "bytes.h"
#include "vec.h"

/*
 * Each byte of code has a bit that says whether the frame changes there; each 64 bits are stored
 * with the number of bits set before them. So the frame of an address is found by two reads at
 * known places, without a search and without a table that addresses are added to. Immutable: any
 * thread.
 */
struct ux_frame_map_block {
	uint64_t marks;
	uint32_t before;
	uint32_t unused;
};

enum {
	UX_FRAME_MAP_BLOCK = 64 /* bytes of code of a block */
};

struct ux_frame_map {
	uint64_t base; /* address of the first byte */
	uint64_t size; /* bytes of code from there on */
	struct ux_frame_map_block *blocks;
	uint32_t *frames; /* frame from each mark on; 0: not in the map */
	size_t n_frames;
	uint32_t *starts; /* starts of functions, as offsets from `base`, ascending */
	size_t n_starts;
};

/* A frame that applies from an offset on. */
struct ux_frame_map_entry {
	uint32_t off;
	uint32_t frame;
};
UX_VEC(ux_frame_map_entries, struct ux_frame_map_entry);

/* A function, as start and end offset. */
struct ux_frame_map_function {
	uint32_t off, end;
};
UX_VEC(ux_frame_map_functions, struct ux_frame_map_function);

/* Input for a map: functions in any order, which must not overlap. */
struct ux_frame_map_draft {
	uint64_t base; /* address of offset 0 */
	struct ux_frame_map_entries entries;
	struct ux_frame_map_functions functions;
};

void ux_frame_map_draft_deinit(struct ux_frame_map_draft *d);

/* Returns the bytes that the map of a draft will take. */
size_t ux_frame_map_bytes(const struct ux_frame_map_draft *d);

/* Makes the map of a draft; NULL: memory is short. */
struct ux_frame_map *ux_frame_map_create(const struct ux_frame_map_draft *d);
void ux_frame_map_destroy(struct ux_frame_map *map);

/*
 * Subtracts `back` from each of n addresses, and finds their frames. An address that is not in the
 * map gets UX_FRAME_UNKNOWN, and an address below `back` gets 0; returns how many are unknown.
 * ret_offsets is NULL, or receives the distances from the starts of the functions.
 */
size_t ux_frame_map_find(const struct ux_frame_map *map, const uint64_t *pcs, size_t n,
			 uint64_t back, uint32_t *ret, uint64_t *ret_offsets);

#endif
