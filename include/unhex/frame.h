/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, the results of lookups. */
#ifndef UNHEX_FRAME_H
#define UNHEX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most frames that an address can have: 256 nested inlined calls, and the function. */
enum {
	UX_FRAMES_MAX = 257
};

/* The name of a function with known bounds only, as in a stripped file. */
#define UX_NO_NAME "<no name>"

/*
 * One frame. A lookup returns a list of frames, innermost first; all but the last are `inlined`.
 * The strings belong to the object that looked up the address and are valid as long as it is. They
 * are never NULL; "" means unknown.
 */
struct ux_frame {
	const char *function; /* linkage name */
	const char *dir;      /* directory of the source file */
	const char *base;     /* name of the source file */
	uint32_t line;        /* 0 when unknown */
	bool inlined;
	uint16_t column; /* 0 when unknown; see UX_MODULE_COLUMNS */
	uint64_t offset; /* Bytes from the start of the function's range; for an inlined call, from
			    the start of the call's first range. */
};

/* Consecutive elements of an array of frames: the frames of one address. */
struct ux_frame_span {
	uint32_t first; /* index of the innermost one */
	uint32_t n;     /* 0: nothing is known about the address */
};

/*
 * Receives the frames of address number `index`. The array is valid only during the call; the
 * strings stay valid. Returning false ends the batch.
 */
typedef bool ux_frames_fn(void *ctx, size_t index, const struct ux_frame *frames, size_t n);

#endif
