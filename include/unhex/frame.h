/* SPDX-License-Identifier: Apache-2.0 */
/* One frame of an answer. */
#ifndef UNHEX_FRAME_H
#define UNHEX_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Lookups give a list, innermost first; all but the last are `inlined`. The strings belong to
 * whatever was looked in and live as long as it; they are never NULL, "" means unknown.
 */
struct ux_frame {
	const char *function; /* linkage name */
	const char *dir;      /* of the source file */
	const char *base;     /* name of the source file */
	uint32_t line;        /* 0 when unknown */
	bool inlined;
	uint64_t offset; /* bytes from the start of the function's (inlined: of the call's first)
			    range */
};

#endif
