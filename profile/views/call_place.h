/* SPDX-License-Identifier: Apache-2.0 */
/* Where code of a profile is: what pages about frames are found by. */
#ifndef UX_CALL_PLACE_H
#define UX_CALL_PLACE_H

#include "profile.h"

/* Whether the modules with that ID have pages about their frames. */
typedef bool ux_has_pages_fn(void *ctx, const struct ux_id *id);

struct ux_call_place {
	uint32_t id; /* text of the module's ID, a string */
	uint64_t pc; /* in a call: the byte in front of the return address */
};

UX_VEC(ux_call_places, struct ux_call_place);

/* The address by which a location's code is found. False: it has none, or no module with an ID. */
static inline bool ux_call_place_pc(const struct ux_profile *p, uint32_t location, uint64_t *ret)
{
	const struct ux_profile_location *l = &p->locations.data[location];
	*ret = l->address - (l->returns && l->address > 0);
	return l->kind == UX_PROFILE_PC && p->modules.data[l->module].id.size > 0;
}

/* The places of the locations of one profile after another. Zeroed: they have none. */
struct ux_call_placer {
	struct ux_call_places list;
	uint32_t *of_location; /* of the last profile: number in the list, plus one; 0: none */
	double *weights;       /* for each stack of it: its samples and those of its callees */
};

void ux_call_placer_deinit(struct ux_call_placer *c);

/*
 * Adds the places of the locations of p, those of modules that have pages. The strings get the
 * texts of IDs. Weights are zero for each stack; the caller adds what its samples have, then calls
 * ux_call_placer_sum(). UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_call_placer_add(struct ux_call_placer *c, const struct ux_profile *p,
				ux_has_pages_fn *has_pages, void *ctx, struct ux_strings *strings,
				struct ux_error *err) ux_must;

/* Adds to the weight of each stack of p those of the stacks that it calls. */
void ux_call_placer_sum(struct ux_call_placer *c, const struct ux_profile *p);

/* The place of a stack's location, as a number in the list, plus one; 0: it has none. */
static inline uint32_t ux_call_placer_at(const struct ux_call_placer *c, const struct ux_profile *p,
					 uint32_t stack)
{
	return c->of_location ? c->of_location[p->stacks.data[stack].location] : 0;
}

#endif
