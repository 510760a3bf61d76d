/* SPDX-License-Identifier: Apache-2.0 */
/* Skeletons that all stand for one split unit. */
#include "split_twins.h"

#include "vec.h"

struct skeleton {
	uint64_t id;
	size_t unit;
};

UX_VEC(skeleton_vec, struct skeleton);

static int skeleton_compare(const void *x, const void *y)
{
	const struct skeleton *a = x, *b = y;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static bool skeleton_id(const struct ux_dwarf_sections *sections, const struct ux_dwarf_unit *unit,
			uint64_t *ret)
{
	struct ux_dwarf_context ctx;
	if (unit->version >= 5) {
		*ret = unit->dwo_id;
		return unit->type == DW_UT_skeleton;
	}
	if (unit->end - unit->off > UX_SKELETON_MOST ||
	    ux_dwarf_context_open(sections, unit, NULL, &ctx, NULL) != UX_OK)
		return false;
	*ret = ctx.dwo_id;
	return ux_dwarf_is_skeleton(&ctx);
}

enum ux_code ux_split_twins_find(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units, bool **ret,
				 struct ux_error *err)
{
	ux_cleanup(skeleton_vec_deinit) struct skeleton_vec list = {0};
	ux_cleanup(ux_free_ptr) bool *twins = calloc(units->count + 1, sizeof(*twins));
	if (!twins)
		return ux_error_nomem(err);
	for (size_t i = 0; i < units->count; i++) {
		struct skeleton s = {.unit = i};
		if (skeleton_id(sections, &units->list[i], &s.id) && !skeleton_vec_append(&list, s))
			return ux_error_nomem(err);
	}
	if (list.size > 1)
		qsort(list.data, list.size, sizeof(*list.data), skeleton_compare);
	for (size_t i = UX_SPLIT_TWINS_MOST; i < list.size; i++)
		if (list.data[i].id == list.data[i - UX_SPLIT_TWINS_MOST].id)
			twins[list.data[i].unit] = true;
	*ret = ux_take(&twins);
	return UX_OK;
}
