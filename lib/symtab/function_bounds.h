/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end in a file that does not name them. */
#ifndef UX_FUNCTION_BOUNDS_H
#define UX_FUNCTION_BOUNDS_H

#include "dwarf_ranges.h"
#include "elf_file.h"

/*
 * The ranges that unwinders go by, which lie in text: of .eh_frame, .debug_frame and .ARM.exidx of
 * elf, sorted and disjoint, as a malloc'ed list in *ret. What is damaged gives fewer; *ret_bad, if
 * not NULL, gets the first reason. None for an ET_REL. UX_ENOMEM.
 */
enum ux_code ux_function_bounds(const struct ux_elf *elf, const struct ux_range_set *text,
				struct ux_range_vec *ret, struct ux_error *ret_bad,
				struct ux_error *err) ux_must;

#endif
