/* SPDX-License-Identifier: Apache-2.0 */
/* Places of a profile's code: the keys under which pages about frames are found. */
#ifndef UX_CALL_PLACE_H
#define UX_CALL_PLACE_H

#include "profile.h"

/* Returns whether there are pages about the frames of modules with this ID. */
typedef bool ux_has_pages_fn(void *ctx, const struct ux_id *id);

struct ux_call_place {
	uint32_t id; /* the module's ID as text: a string's number */
	uint64_t pc; /* for a call: the address of the byte before the return address */
};

UX_VEC(ux_call_places, struct ux_call_place);

/* Sets the address under which a location's code is found. False: it has no such address, or no
 * module with an ID. */
static inline bool ux_call_place_pc(const struct ux_profile *p, uint32_t location, uint64_t *ret)
{
	const struct ux_profile_location *l = &p->locations.data[location];
	*ret = l->address - (l->returns && l->address > 0);
	return l->kind == UX_PROFILE_PC && p->modules.data[l->module].id.size > 0;
}

/* The places of one profile's locations; several profiles may follow one another. Zeroed: no
 * location has a place. */
struct ux_call_placer {
	struct ux_call_places list;
	uint32_t *of_location; /* for locations of the last profile: number in the list, plus one;
				* 0: none */
	double *weights;       /* for each stack of the last profile: the weight of its samples and
				* its callees' samples */
};

void ux_call_placer_deinit(struct ux_call_placer *c);

/*
 * Adds the places of p's locations in modules that have pages. The strings get the texts of IDs.
 * Weights are zero for each stack; the caller adds the weights of its samples, then calls
 * ux_call_placer_sum(). UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_call_placer_add(struct ux_call_placer *c, const struct ux_profile *p,
				ux_has_pages_fn *has_pages, void *ctx, struct ux_strings *strings,
				struct ux_error *err) ux_must;

/* Adds to each stack's weight the weights of the stacks that it calls. */
void ux_call_placer_sum(struct ux_call_placer *c, const struct ux_profile *p);

/* Returns the place of a stack's location, as a number in the list, plus one; 0: none. */
static inline uint32_t ux_call_placer_at(const struct ux_call_placer *c, const struct ux_profile *p,
					 uint32_t stack)
{
	return c->of_location ? c->of_location[p->stacks.data[stack].location] : 0;
}

#endif
