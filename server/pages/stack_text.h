/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses out of stacks as people paste them: what one line contains. */
#ifndef UX_STACK_TEXT_H
#define UX_STACK_TEXT_H

#include "bytes.h"
#include "unhex/ids.h"

enum {
	UX_STACK_ADDRESSES_MOST = 16 /* of one line */
};

/* Slices are of the line. */
struct ux_stack_line {
	struct ux_bytes id;   /* of a module, as ux_id_parse() takes it; empty: there is none */
	struct ux_bytes name; /* path or name of a module's file; empty: there is none */
	uint64_t pcs[UX_STACK_ADDRESSES_MOST];
	size_t n;
	bool more; /* there were over UX_STACK_ADDRESSES_MOST */
};

/*
 * Understood, with whatever else is on the line:
 *
 *   gnu:93ac61ec... 0x29d90 0x1139     an ID, also alone: it holds for the lines after it
 *   93ac61ec5a8eb1396f9fbd350e3169a5   32 hex digits and more are a build ID
 *   0x29d90   171664   29d9c           addresses; digits alone only where the line has nothing else
 *   /usr/lib/libc.so.6+0x29d90         a file and where in it, as sanitizers and backtrace(3)
 *   ./prog(+0x1139) [0x5555...139]     write it: then other numbers of the line are addresses
 *   #1 0x7f...d90 n/a (libc.so.6 + 0x29d90)                       in the process, and left out
 *   #00 pc 0004ba2c  /system/lib/libc.so (abort+68) (BuildId: 9d...)      Android's
 */
void ux_stack_line_parse(struct ux_bytes line, struct ux_stack_line *ret);

#endif
