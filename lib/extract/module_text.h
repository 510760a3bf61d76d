/* SPDX-License-Identifier: Apache-2.0 */
/* Where a module keeps its code. */
#ifndef UX_MODULE_TEXT_H
#define UX_MODULE_TEXT_H

#include "dwarf_ranges.h"
#include "elf_file.h"

/*
 * The executable sections of elf (of its executable segments when it has no section table), sorted
 * and disjoint, as a malloc'ed list in *ret. A separate debug file's sections have no content, but
 * the same places.
 */
enum ux_code ux_module_text(const struct ux_elf *elf, struct ux_range_vec *ret,
			    struct ux_error *err) ux_must;

/* Appends [lo, lo + size) unless it is empty or passes the end of the address space. */
enum ux_code ux_module_text_add(struct ux_range_vec *list, uint64_t lo, uint64_t size,
				struct ux_error *err) ux_must;

/* Sorts, and cuts what overlaps what came before: no linker makes that, but the search relies on
 * it. */
void ux_module_text_settle(struct ux_range_vec *list);

#endif
