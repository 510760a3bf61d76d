/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source line that declares the variable at an address. */
#include "debug_sections.h"

#include "dwarf_code.h"

#include <limits.h>

void ux_declarations_close(struct ux_declarations *d)
{
	ux_arena_deinit(&d->texts);
	ux_dwarf_lines_deinit(&d->lines);
	ux_dwarf_units_free(&d->units);
	ux_debug_sections_free(&d->sections);
	ux_object_close(d->object);
	*d = (struct ux_declarations){0};
}

enum ux_code ux_declarations_open(struct ux_declarations *d, struct ux_bytes file,
				  struct ux_error *err)
{
	if (ux_object_format(file) != &ux_object_elf)
		return ux_error_set(err, UX_ENOTFOUND, "not an ELF file");
	UX_TRY(ux_object_open(file, &d->object, err));
	if (!ux_debug_sections_exist(d->object))
		return ux_error_set(err, UX_ENOTFOUND, "no DWARF units");
	/* pages that are read only once need not stay in memory */
	struct ux_spill spill = {.folder = UX_SPILL_FOLDER};
	UX_TRY(ux_debug_sections_load(d->object, 1, &spill, &d->sections, err));
	return ux_dwarf_units_parse(&d->sections.dwarf, &d->units, err);
}

/* Reads the path of the declaration's file. */
static enum ux_code declaration_read(struct ux_declarations *d,
				     const struct ux_dwarf_declared *declared,
				     struct ux_declaration *ret, struct ux_error *err)
{
	const struct ux_range_set none = {0}; /* no ranges, since only the file table is needed */
	struct ux_dwarf_context ctx;
	struct ux_code_path path;
	struct ux_code_last_dir last = {0};
	struct ux_budget budget = {.left = PATH_MAX};
	if (!declared->unit || declared->line == 0)
		return ux_error_set(err, UX_ENOTFOUND, "the variable has no file or line");
	UX_TRY(ux_dwarf_context_open(&d->sections.dwarf, declared->unit, NULL, &ctx, err));
	UX_TRY(ux_dwarf_lines_parse(&ctx, &none, &d->lines, err));
	ret->line = declared->line;
	if (!ux_dwarf_lines_file(&d->lines, declared->file, &path))
		return ux_error_set(err, UX_ENOTFOUND,
				    "the line table has no file %" PRIu64 ", which declares it",
				    declared->file);
	ux_arena_deinit(&d->texts);
	ux_arena_init(&d->texts, 2 * PATH_MAX);
	if (!ux_code_path_split(&path, &d->texts, &budget, &last, &ret->file))
		return ux_arena_fail(&d->texts, err);
	return UX_OK;
}

enum ux_code ux_declarations_find(struct ux_declarations *d, uint64_t pc,
				  struct ux_declaration *ret, struct ux_error *err)
{
	for (size_t i = 0; i < d->units.count; i++) {
		struct ux_dwarf_context ctx;
		struct ux_dwarf_declared declared;
		/* A damaged unit costs only its own variables. */
		if (ux_dwarf_context_open(&d->sections.dwarf, &d->units.list[i], NULL, &ctx,
					  NULL) == UX_OK &&
		    ux_dwarf_variable_find(&ctx, &d->units, pc, &declared, NULL) == UX_OK)
			return declaration_read(d, &declared, ret, err);
	}
	return ux_error_set(err, UX_ENOTFOUND, "no variable begins at 0x%" PRIx64, pc);
}
