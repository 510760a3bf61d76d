/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the places of a profile's locations. */
#include "call_place.h"

void ux_call_placer_deinit(struct ux_call_placer *c)
{
	ux_call_places_deinit(&c->list);
	free(c->of_location);
	free(c->weights);
	*c = (struct ux_call_placer){0};
}

/* Sets for each module the text of its ID; 0: the module has no pages. */
static enum ux_code placer_read_ids(const struct ux_profile *p, ux_has_pages_fn *has_pages,
				    void *ctx, struct ux_strings *strings, uint32_t *ids,
				    struct ux_error *err)
{
	char text[UX_ID_TEXT];
	for (size_t i = 1; i < p->modules.size; i++) {
		const struct ux_id *id = &p->modules.data[i].id;
		if (id->size > 0 && has_pages(ctx, id))
			UX_TRY(ux_strings_add(strings, ux_bytes_cstr(ux_id_format(id, text)),
					      &ids[i], err));
	}
	return UX_OK;
}

enum ux_code ux_call_placer_add(struct ux_call_placer *c, const struct ux_profile *p,
				ux_has_pages_fn *has_pages, void *ctx, struct ux_strings *strings,
				struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) uint32_t *ids = calloc(p->modules.size, sizeof(*ids));
	free(c->of_location);
	free(c->weights);
	c->of_location = calloc(p->locations.size, sizeof(*c->of_location));
	c->weights = calloc(p->stacks.size, sizeof(*c->weights));
	if (!ids || !c->of_location || !c->weights)
		return ux_error_nomem(err);
	UX_TRY(placer_read_ids(p, has_pages, ctx, strings, ids, err));
	for (size_t i = 1; i < p->locations.size; i++) {
		struct ux_call_place place = {.id = ids[p->locations.data[i].module]};
		if (!ux_call_place_pc(p, (uint32_t)i, &place.pc) || place.id == 0)
			continue;
		if (c->list.size >= UINT32_MAX - 1)
			return ux_error_set(err, UX_ELIMIT, "more than %u call sites",
					    UINT32_MAX - 1);
		if (!ux_call_places_append(&c->list, place))
			return ux_error_nomem(err);
		c->of_location[i] = (uint32_t)c->list.size;
	}
	return UX_OK;
}

void ux_call_placer_sum(struct ux_call_placer *c, const struct ux_profile *p)
{
	for (size_t i = p->stacks.size; i-- > 1;) /* callers have lower numbers */
		c->weights[p->stacks.data[i].caller] += c->weights[i];
}
