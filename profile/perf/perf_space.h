/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces: the mappings of a process or of the kernel, by address. */
#ifndef UX_PERF_SPACE_H
#define UX_PERF_SPACE_H

#include "profile.h"

struct ux_perf_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* position of `start` in the file */
	uint32_t module; /* module of the profile */
	uint32_t name;   /* string: the whole mapping is this function; 0: it is not one function */
};

UX_VEC(ux_perf_mapping_list, struct ux_perf_mapping);

enum {
	UX_PERF_SPACE_MAX = 1 << 16,    /* mappings of a space; Linux's own limit is 65,530 */
	UX_PERF_MAPPINGS_MAX = 1 << 20, /* mappings of all spaces together */
};

/* Counters shared by all spaces of a recording. */
struct ux_perf_spaces {
	uint64_t versions; /* versions given out */
	size_t mappings;   /* mappings of all live spaces */
};

/* A space. Processes share it until one of them changes it. */
struct ux_perf_space {
	size_t users;
	uint64_t version;                 /* changes with each change; unique among all spaces */
	struct ux_perf_mapping_list list; /* by address; they do not overlap */
};

/* Releases *space, which may be NULL, and sets it to NULL. */
void ux_perf_space_release(struct ux_perf_spaces *all, struct ux_perf_space **space);

/*
 * Adds a mapping to *space, which is created if NULL and copied if shared. Earlier mappings in its
 * range are cut. UX_ENOMEM. UX_ELIMIT, with err unchanged: there are too many.
 */
enum ux_code ux_perf_space_map(struct ux_perf_spaces *all, struct ux_perf_space **space,
			       struct ux_perf_mapping mapping, struct ux_error *err) ux_must;

/* Removes the mappings from start to end. As above. */
enum ux_code ux_perf_space_unmap(struct ux_perf_spaces *all, struct ux_perf_space **space,
				 uint64_t start, uint64_t end, struct ux_error *err) ux_must;

/* Gives *space a new version: the code at its addresses has changed without a new mapping. */
void ux_perf_space_touch(struct ux_perf_spaces *all, struct ux_perf_space *space);

/* Returns the mapping with that address, or NULL. space may be NULL. */
const struct ux_perf_mapping *ux_perf_space_find(const struct ux_perf_space *space,
						 uint64_t address);

#endif
