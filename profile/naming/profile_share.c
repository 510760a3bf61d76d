/* SPDX-License-Identifier: Apache-2.0 */
/* Computes which share of a profile has names. */
#include "profile_symbolize.h"

void ux_profile_share_deinit(struct ux_profile_share *s)
{
	free(s->of_module);
	*s = (struct ux_profile_share){0};
}

/* Adds the weight of one sample to each module that lacks names in its stack. A module is counted
 * once: `counted` has the sample in which it was counted last. */
static void profile_share_add(const struct ux_profile *p, uint32_t stack, uint64_t weight,
			      size_t sample, size_t *counted, struct ux_profile_share *share)
{
	for (uint32_t s = stack; s != 0; s = p->stacks.data[s].caller) {
		const struct ux_profile_location *l =
			&p->locations.data[p->stacks.data[s].location];
		if (counted[l->module] == sample || ux_profile_is_named(p, l))
			continue;
		counted[l->module] = sample;
		share->of_module[l->module] += weight;
	}
}

enum ux_code ux_profile_share(const struct ux_profile *p, struct ux_profile_share *ret,
			      struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) size_t *counted = calloc(p->modules.size, sizeof(*counted));
	*ret = (struct ux_profile_share){.of_module = calloc(p->modules.size, sizeof(uint64_t))};
	if (!counted || !ret->of_module) {
		ux_profile_share_deinit(ret);
		return ux_error_nomem(err);
	}
	for (size_t i = 0; i < p->samples.size; i++) {
		const struct ux_profile_sample *sample = &p->samples.data[i];
		int64_t value = p->n_types > 0 ? *ux_profile_sample_values(p, sample) : 1;
		uint64_t weight = value < 0 ? -(uint64_t)value : (uint64_t)value;
		const struct ux_profile_stack *leaf = &p->stacks.data[sample->stack];
		ret->weight += weight;
		if (ux_profile_is_named(p, &p->locations.data[leaf->location]))
			ret->named += weight;
		profile_share_add(p, sample->stack, weight, i + 1, counted, ret);
	}
	return UX_OK;
}
