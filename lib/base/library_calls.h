/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a shared library that is loaded when it is needed. */
#ifndef UX_LIBRARY_CALLS_H
#define UX_LIBRARY_CALLS_H

#include "error.h"

/*
 * Loads soname for the life of the process and writes the addresses of its n names to calls, a
 * struct of as many function pointers. UX_EUNSUPPORTED: it is not installed (the message begins
 * with `missing`), or has no such name; *calls is not to be used then. Any thread.
 */
enum ux_code ux_library_calls(const char *soname, const char *missing, const char *const *names,
			      size_t n, void *calls, struct ux_error *err) ux_must;

#endif
