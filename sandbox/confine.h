/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up everything but memory, a processor and the descriptors that are open. */
#ifndef UX_CONFINE_H
#define UX_CONFINE_H

#include "base.h"
#include "error.h"

struct ux_confine_limits {
	uint64_t address_space; /* bytes; 0: no bound. Not with a sanitizer, whose shadow is larger
				 */
	uint64_t file_size;     /* bytes that a file may grow to */
	unsigned cpu_seconds;
};

/*
 * For good, and for what the process may become: it can open nothing, connect to nothing, start
 * nothing and end nobody; opening fails with EACCES, since libraries ask for files without need,
 * and what reading bytes never needs ends the process by SIGSYS. No core is written, a tracer of
 * the same user gets no hold, and where the parent's thread ends it ends too. Call it with one
 * thread. UX_EIO, UX_EUNSUPPORTED: the kernel does not do that; nothing hostile may be read then.
 * Source: seccomp(2), prctl(2), getrlimit(2).
 */
enum ux_code ux_confine(const struct ux_confine_limits *limits, struct ux_error *err) ux_must;

#endif
