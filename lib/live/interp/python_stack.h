/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CPython and their stacks. */
#ifndef UX_PYTHON_STACK_H
#define UX_PYTHON_STACK_H

#include "interp_teller.h"
#include "python_object.h"

/*
 * Begins with the _PyRuntime at root->addr: from 3.13 on it says its version and layout itself,
 * before it has to be in root->version. *ret_hex is the version as PY_VERSION_HEX has it.
 * UX_EUNSUPPORTED: a version we do not know, or none; UX_ECORRUPT: what is there cannot be one.
 */
enum ux_code ux_python_init(struct ux_python *p, const struct ux_memory_reader *reader,
			    const struct ux_interp_root *root, uint32_t *ret_hex,
			    struct ux_error *err) ux_must;

/* Tells each thread; the codes of ux_interp_walk(). */
enum ux_code ux_python_walk(struct ux_python *p, struct ux_interp_teller *t, struct ux_error *err)
	ux_must;

/* One code object: the codes of ux_interp_resolve(). Strings are in the arena. */
enum ux_code ux_python_resolve(struct ux_python *p, uint64_t code, uint64_t offset,
			       struct ux_arena *a, struct ux_interp_frame *ret,
			       struct ux_error *err) ux_must;

#endif
