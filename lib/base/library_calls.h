/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a shared library that is loaded only when it is needed. */
#ifndef UX_LIBRARY_CALLS_H
#define UX_LIBRARY_CALLS_H

#include "error.h"

#include <pthread.h>

/*
 * Loads soname for the life of the process and writes the addresses of its functions names[0] to
 * names[n - 1] to calls, a struct of n function pointers. UX_EUNSUPPORTED: it is not installed (the
 * message begins with `missing`), or lacks a function; *calls must then not be used. Any thread.
 */
enum ux_code ux_library_calls(const char *soname, const char *missing, const char *const *names,
			      size_t n, void *calls, struct ux_error *err) ux_must;

/*
 * A library with functions that the whole program shares, with the arguments of ux_library_calls().
 */
struct ux_library {
	const char *soname, *missing;
	const char *const *names;
	size_t n;
	void *calls;
	pthread_mutex_t lock; /* guards the fields below */
	bool tried;
	enum ux_code code; /* result of the first attempt */
	struct ux_error error;
};

#define UX_LIBRARY(soname_, missing_, names_, calls_)                                          \
	{                                                                                      \
		.soname = (soname_), .missing = (missing_), .names = (names_),                 \
		.n = ux_countof(names_), .calls = (calls_), .lock = PTHREAD_MUTEX_INITIALIZER, \
		.error = UX_ERROR_INIT                                                         \
	}

/* Loads it with the first call; later calls return the same result. Any thread. */
enum ux_code ux_library_load(struct ux_library *library, struct ux_error *err) ux_must;

#endif
