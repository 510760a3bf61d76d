/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the DWARF of a Mach-O file: in a dSYM bundle beside it, or in the objects from which it was
 * linked. */
#include "dsym.h"
#include "extract_object.h"

/* Uses a bundle beside the executable like a debug file that the caller supplied. */
static enum ux_code macho_find_debug(struct ux_extraction *x, struct ux_error *err)
{
	const struct ux_extract_options *o = x->build.options;
	struct ux_id id = x->exe->format->id(x->exe);
	if (!o->path || !ux_extract_includes(o, UX_SOURCE_DWARF) || ux_debug_sections_exist(x->exe))
		return UX_OK;
	return ux_dsym_find(&id, o->path, &x->found, err);
}

/* Adds an object's units, numbered after the existing ones. */
static enum ux_code macho_add_units(struct ux_module_build *b, const struct ux_collection *object,
				    struct ux_error *err)
{
	uint32_t first = (uint32_t)b->collection.n_units;
	for (size_t i = 0; i < object->n_units; i++) {
		struct ux_unit_pieces *unit = &object->units[i];
		for (uint32_t k = 0; k < unit->n_functions; k++)
			unit->functions[k].unit += first;
		for (uint32_t k = 0; k < unit->n_lines; k++)
			unit->lines[k].unit += first;
	}
	if (object->bad_headers > 0)
		ux_module_build_bad_unit(b, &object->reason);
	return ux_module_build_add_units(b, object->units, object->n_units, err);
}

/* Reads DWARF by the debug map, unless no path is known as a starting point. */
static enum ux_code macho_read_map(struct ux_extraction *x, struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	const struct ux_extract_options *o = b->options;
	struct ux_debug_map *map = &x->map;
	UX_TRY(ux_debug_map_open(map, ux_macho_of(x->exe), err));
	b->stats.map_objects = map->n_objects;
	b->stats.map_missing = map->n_objects;
	if (!o->path || map->n_objects == 0)
		return UX_OK;
	/* The size of the data is not known before the objects are open. */
	ux_module_build_limit(b, UINT64_MAX);
	UX_TRY(ux_debug_map_read(map, b->threads, b->spill, err));
	b->stats.map_missing = map->missing;
	b->stats.map_changed = map->changed;
	if (map->damaged > 0)
		ux_module_build_bad_source(b, &map->bad);
	for (size_t i = 0; i < map->n_objects; i++)
		UX_TRY(macho_add_units(b, ux_debug_map_collection(map, i), err));
	ux_module_build_dwarf(b, ux_debug_map_info(map));
	return UX_OK;
}

const struct ux_extract_steps ux_extract_macho = {
	.format = &ux_object_macho,
	.expected = "a symbol table or DWARF with functions",
	.find_debug = macho_find_debug,
	.read_elsewhere = macho_read_map,
};
