/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the pc of a frame in the file of its module. */
#ifndef UX_CRASH_ADDRESS_H
#define UX_CRASH_ADDRESS_H

#include "crash_line.h"
#include "crash_source.h"

/* The pc, or the reason why it is unknown. */
struct ux_crash_pc {
	bool known;
	uint64_t pc;
	const char *why; /* NULL: its module was not found */
};

/*
 * Converts a settled frame (ux_crash_report_settle()) by the first of these that applies:
 *
 * 1. The text has an address of the file. 2. A position in the file, by the file's segments. 3. In
 * the kernel, whose addresses move at each boot: function and offset (6). 4. An address of the
 * process, if the file has code there and is not position-independent. An
 *    offset from the module's start has precedence, except under valgrind, which does not print
 *    one: there it is only assumed.
 * 5. An offset from the module's start. 6. A function and an offset from it. Of several functions
 * with the name, the address of the
 *    process, the size that Linux prints, and the place in the page decide. A function of another
 *    size belongs to another build.
 *
 * `reasons` holds the texts of specific reasons; when it is full, general reasons are used instead.
 */
enum ux_code ux_crash_locate(struct ux_crash_source *s, const struct ux_crash_found *m,
			     const struct ux_crash_frame *f, struct ux_arena *reasons,
			     struct ux_crash_pc *ret, struct ux_error *err) ux_must;

#endif
