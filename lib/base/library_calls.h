/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a shared library that is loaded only when it is needed. */
#ifndef UX_LIBRARY_CALLS_H
#define UX_LIBRARY_CALLS_H

#include "error.h"

/*
 * Loads soname for the life of the process and writes the addresses of its functions names[0] to
 * names[n - 1] to calls, a struct of n function pointers. UX_EUNSUPPORTED: it is not installed (the
 * message begins with `missing`), or lacks a function; *calls must then not be used. Any thread.
 */
enum ux_code ux_library_calls(const char *soname, const char *missing, const char *const *names,
			      size_t n, void *calls, struct ux_error *err) ux_must;

#endif
