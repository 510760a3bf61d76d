/* SPDX-License-Identifier: Apache-2.0 */
/* Where code is in an object: its sections, and functions in a file that does not name them. */
#ifndef UX_FUNCTION_BOUNDS_H
#define UX_FUNCTION_BOUNDS_H

#include "code_range.h"
#include "object.h"

/*
 * The executable sections of object (of its executable segments when it has no sections), sorted
 * and disjoint, in *ret, which is empty before. A separate debug file has the same ones, without
 * content.
 */
enum ux_code ux_object_text(const struct ux_object *object, struct ux_range_vec *ret,
			    struct ux_error *err) ux_must;

/* Zeroed is empty. */
struct ux_function_bounds {
	struct ux_range_vec list; /* sorted and disjoint */
	bool complete;            /* every function of the file has its range */
};

/*
 * The ranges of functions in text: of the object's own list of starts, which is complete; else the
 * ranges that unwinders use, of .eh_frame, .debug_frame and .ARM.exidx. Damage in those costs
 * ranges; *ret_bad gets the first reason. None for an object that is yet to be linked.
 * UX_ECORRUPT: the list of starts leaves the file. UX_ENOMEM.
 */
enum ux_code ux_function_bounds_read(const struct ux_object *object,
				     const struct ux_range_set *text,
				     struct ux_function_bounds *ret, struct ux_error *ret_bad,
				     struct ux_error *err) ux_must;
void ux_function_bounds_deinit(struct ux_function_bounds *bounds);

#endif
