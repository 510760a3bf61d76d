/* SPDX-License-Identifier: Apache-2.0 */
/* Qualified names of running functions before CPython 3.11. */
#ifndef UX_PYTHON_QUALNAME_H
#define UX_PYTHON_QUALNAME_H

#include "interp_chain.h"
#include "python_object.h"

/*
 * The qualified name of the function that runs in a frame, in the arena. Code objects have none
 * before 3.11, but what was called has: the generator that the frame belongs to; a function that is
 * still on the caller's value stack, where the interpreter keeps it until the call returns; a
 * method of the first argument's class. "" when none is found: a function, no method, that C code
 * called. caller may be NULL.
 */
enum ux_code ux_python_qualname(struct ux_python *p, const struct ux_raw_frame *frame,
				const struct ux_raw_frame *caller, struct ux_arena *a,
				const char **ret, struct ux_error *err) ux_must;

#endif
