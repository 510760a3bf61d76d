/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a CPython and their stacks. */
#ifndef UX_PYTHON_STACK_H
#define UX_PYTHON_STACK_H

#include "interp_stack.h"
#include "python_object.h"

/*
 * Opens the CPython whose _PyRuntime is at root->addr. From 3.13 on _PyRuntime describes the
 * version and the layout; for older versions root->version must be set. *ret_hex is the version in
 * the format of PY_VERSION_HEX. UX_EUNSUPPORTED: an unknown version. UX_ECORRUPT: there is no
 * _PyRuntime at that address.
 */
enum ux_code ux_python_init(struct ux_python *p, const struct ux_memory_reader *reader,
			    const struct ux_interp_root *root, uint32_t *ret_hex,
			    struct ux_error *err) ux_must;

/*
 * Returns whether the list of interpreters is complete and a thread of the main one runs Python
 * code. Other data can look like _PyRuntime to ux_python_init(), but has no frames. False also for
 * an interpreter that runs nothing at the moment.
 */
bool ux_python_is_sound(struct ux_python *p) ux_must;

/* Reports each thread. Returns the codes of ux_interp_walk(). */
enum ux_code ux_python_walk(struct ux_python *p, struct ux_stack_walker *t, struct ux_error *err)
	ux_must;

/* Resolves one code object. Strings are in the arena. Returns the codes of ux_interp_resolve(). */
enum ux_code ux_python_resolve(struct ux_python *p, uint64_t code, uint64_t offset,
			       struct ux_arena *a, struct ux_interp_frame *ret,
			       struct ux_error *err) ux_must;

#endif
