/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where code is in an object: its executable sections, and the bounds of functions without symbols.
 */
#ifndef UX_FUNCTION_BOUNDS_H
#define UX_FUNCTION_BOUNDS_H

#include "code_range.h"
#include "object.h"

/*
 * Sets *ret, which is empty before, to the executable sections of object, or to its executable
 * segments when it has no sections; sorted and disjoint. A separate debug file has the same
 * sections, without content.
 */
enum ux_code ux_object_text(const struct ux_object *object, struct ux_range_vec *ret,
			    struct ux_error *err) ux_must;

/* Zeroed is empty. */
struct ux_function_bounds {
	struct ux_range_vec list; /* sorted and disjoint; its spill may be set before reading */
	bool complete;            /* every function of the file has its range */
};

/*
 * Reads the ranges of functions in text: from the object's own list of starts, which is complete,
 * else from the unwind tables .eh_frame, .debug_frame and .ARM.exidx. Damaged entries of the unwind
 * tables are skipped; *ret_bad gets the first reason. A relocatable object has none. UX_ECORRUPT:
 * the list of starts exceeds the file. UX_ENOMEM.
 */
enum ux_code ux_function_bounds_read(const struct ux_object *object,
				     const struct ux_range_set *text,
				     struct ux_function_bounds *ret, struct ux_error *ret_bad,
				     struct ux_error *err) ux_must;
void ux_function_bounds_deinit(struct ux_function_bounds *bounds);

#endif
