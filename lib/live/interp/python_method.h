/* SPDX-License-Identifier: Apache-2.0 */
/* Methods of classes before CPython 3.11. */
#ifndef UX_PYTHON_METHOD_H
#define UX_PYTHON_METHOD_H

#include "python_object.h"

/*
 * The function with that code object that a class of the first argument has under the code's own
 * name: as a method, class method, static method or property. `first` is the argument's address.
 * 0: none. The layouts are those of 3.7 to 3.10, which are alike (Include/cpython/object.h,
 * Objects/dict-common.h).
 */
uint64_t ux_python_method_find(struct ux_python *p, uint64_t first, uint64_t code) ux_must;

/* The function at addr, or of the method object there, if it has this code; else 0. */
uint64_t ux_python_function_of(struct ux_python *p, uint64_t addr, uint64_t code) ux_must;

#endif
