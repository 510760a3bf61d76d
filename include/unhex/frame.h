/* SPDX-License-Identifier: Apache-2.0 */
/* One frame of an answer. */
#ifndef UNHEX_FRAME_H
#define UNHEX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No address has more frames: 256 inlined calls in each other, and the function. */
enum {
	UX_FRAMES_MOST = 257
};

/* The name of functions of which a stripped file has only the bounds. */
#define UX_NO_NAME "<no name>"

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

/* Some neighbours in an array of frames: the answer for one address of many. */
struct ux_frame_span {
	uint32_t first; /* index of the innermost one */
	uint32_t n;     /* 0: nothing is known */
};

/*
 * Takes the answer for address `index` of many. The array is the callee's to read until it returns;
 * the strings live on. False ends the batch.
 */
typedef bool ux_frames_fn(void *ctx, size_t index, const struct ux_frame *frames, size_t n);

#endif
