/* SPDX-License-Identifier: Apache-2.0 */
/* Address spaces: what is mapped where, in a process or in the kernel. */
#ifndef UX_PERF_SPACE_H
#define UX_PERF_SPACE_H

#include "profile.h"

struct ux_perf_mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset; /* in the file, of start */
	uint32_t module; /* of the profile */
	uint32_t name;   /* string: all of it is this function; 0: it is not one function */
};

UX_VEC(ux_perf_mapping_list, struct ux_perf_mapping);

enum {
	UX_PERF_SPACE_MAX = 1 << 16,    /* mappings of a space; Linux's own limit is 65,530 */
	UX_PERF_MAPPINGS_MAX = 1 << 20, /* of all spaces together */
};

/* Numbers that all spaces of a recording share. */
struct ux_perf_spaces {
	uint64_t versions; /* that were given out */
	size_t mappings;   /* of all spaces that are alive */
};

/* A space. Processes share it until one of them changes it. */
struct ux_perf_space {
	size_t users;
	uint64_t version; /* changes with each change; no two spaces have the same one */
	struct ux_perf_mapping_list list; /* by address; they do not overlap */
};

/* Releases *space, which may be NULL, and sets it to NULL. */
void ux_perf_space_release(struct ux_perf_spaces *all, struct ux_perf_space **space);

/*
 * Adds a mapping to *space, which is created when it is NULL and copied when it is shared. What was
 * mapped there before is cut off. UX_ENOMEM. UX_ELIMIT, with err unchanged: there are too many.
 */
enum ux_code ux_perf_space_map(struct ux_perf_spaces *all, struct ux_perf_space **space,
			       struct ux_perf_mapping mapping, struct ux_error *err) ux_must;

/* Removes what is mapped from start to end. As above. */
enum ux_code ux_perf_space_unmap(struct ux_perf_spaces *all, struct ux_perf_space **space,
				 uint64_t start, uint64_t end, struct ux_error *err) ux_must;

/* Gives *space a new version, because what is at its addresses has changed without a mapping. */
void ux_perf_space_touch(struct ux_perf_spaces *all, struct ux_perf_space *space);

/* The mapping with that address, or NULL. space may be NULL. */
const struct ux_perf_mapping *ux_perf_space_find(const struct ux_perf_space *space,
						 uint64_t address);

#endif
