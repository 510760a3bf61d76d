/* SPDX-License-Identifier: Apache-2.0 */
/* Split units. */
#include "dwarf_split.h"

const char *ux_dwarf_split_section_name(enum ux_dwarf_section section)
{
	static const char *const names[UX_DWARF_SECTION_COUNT] = {
		[UX_DWARF_INFO] = ".debug_info.dwo",
		[UX_DWARF_ABBREV] = ".debug_abbrev.dwo",
		[UX_DWARF_LINE] = ".debug_line.dwo",
		[UX_DWARF_STR] = ".debug_str.dwo",
		[UX_DWARF_STR_OFFSETS] = ".debug_str_offsets.dwo",
		[UX_DWARF_RNGLISTS] = ".debug_rnglists.dwo",
	};
	assert((unsigned)section < UX_DWARF_SECTION_COUNT);
	return names[section];
}

struct ux_dwarf_sections ux_dwarf_split_sections(const struct ux_dwarf_sections *dwo,
						 const struct ux_dwarf_sections *linked)
{
	struct ux_dwarf_sections both = {.swap = linked->swap};
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		both.data[i] = ux_dwarf_split_section_name(i) ? dwo->data[i] : linked->data[i];
	return both;
}

/* The unit's ID, from its header or from its entry. */
static enum ux_code id_of(const struct ux_dwarf_sections *sections,
			  const struct ux_dwarf_unit *unit, bool *ret_has, uint64_t *ret)
{
	struct ux_dwarf_context ctx;
	*ret = unit->dwo_id;
	*ret_has = unit->type == DW_UT_split_compile;
	if (unit->version >= 5)
		return UX_OK;
	enum ux_code code = ux_dwarf_context_open(sections, unit, NULL, &ctx, NULL);
	*ret_has = code == UX_OK && ctx.has_dwo_id;
	*ret = *ret_has ? ctx.dwo_id : 0;
	return code == UX_ENOMEM ? code : UX_OK;
}

/* Units of either side of DWARF 5 are not mixed up. */
static int by_id(const void *x, const void *y)
{
	const struct ux_dwarf_split_id *a = x, *b = y;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	if ((a->version < 5) != (b->version < 5))
		return a->version < 5 ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

enum ux_code ux_dwarf_split_ids_find(const struct ux_dwarf_sections *sections,
				     const struct ux_dwarf_units *units,
				     struct ux_dwarf_split_ids *ret, struct ux_error *err)
{
	struct ux_dwarf_split_ids ids = {.list = calloc(units->count + 1, sizeof(*ids.list))};
	bool ascending = true;
	if (!ids.list)
		return ux_error_nomem(err);
	for (size_t i = 0; i < units->count; i++) {
		struct ux_dwarf_split_id *id = &ids.list[ids.count];
		bool has_id = false;
		*id = (struct ux_dwarf_split_id){.unit = (uint32_t)i,
						 .version = units->list[i].version};
		if (id_of(sections, &units->list[i], &has_id, &id->id) != UX_OK) {
			ux_dwarf_split_ids_free(&ids);
			return ux_error_nomem(err);
		}
		ascending &= !has_id || ids.count == 0 || by_id(id - 1, id) <= 0;
		ids.count += has_id;
	}
	if (!ascending)
		qsort(ids.list, ids.count, sizeof(*ids.list), by_id);
	*ret = ids;
	return UX_OK;
}

void ux_dwarf_split_ids_free(struct ux_dwarf_split_ids *ids)
{
	free(ids->list);
	*ids = (struct ux_dwarf_split_ids){0};
}

enum ux_code ux_dwarf_split_open(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units,
				 const struct ux_dwarf_split_ids *ids,
				 const struct ux_dwarf_context *skeleton,
				 struct ux_dwarf_context *ret, struct ux_error *err)
{
	struct ux_dwarf_split_id want = {.id = skeleton->dwo_id,
					 .version = skeleton->unit->version};
	size_t lo = 0, hi = ids->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (by_id(&ids->list[mid], &want) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	const struct ux_dwarf_split_id *found = lo < ids->count ? &ids->list[lo] : NULL;
	if (!found || found->id != want.id || (found->version < 5) != (want.version < 5))
		return ux_error_set(err, UX_ENOTFOUND, "no unit of the ID %016" PRIx64 " in it",
				    skeleton->dwo_id);
	return ux_dwarf_context_open_split(sections, &units->list[found->unit], skeleton, ret, err);
}
