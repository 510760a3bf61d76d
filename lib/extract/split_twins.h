/* SPDX-License-Identifier: Apache-2.0 */
/* Skeletons that all stand for one split unit. */
#ifndef UX_SPLIT_TWINS_H
#define UX_SPLIT_TWINS_H

#include "dwarf_unit.h"

enum {
	/* Skeletons of one ID whose split unit is read; an object that is linked twice makes two.
	 * Thousands that a stranger makes would read it thousands of times. */
	UX_SPLIT_TWINS_MOST = 4,
	UX_SKELETON_MOST = 512, /* bytes of a unit that is likely to be a skeleton */
};

/*
 * Sets (*ret)[i] for each unit i whose ID that many units before it have; *ret is malloc'ed, the
 * caller's. Opens the units of DWARF 4 that may be skeletons, whose ID is in their entry.
 * UX_ENOMEM.
 */
enum ux_code ux_split_twins_find(const struct ux_dwarf_sections *sections,
				 const struct ux_dwarf_units *units, bool **ret,
				 struct ux_error *err) ux_must;

#endif
