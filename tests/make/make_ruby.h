/* SPDX-License-Identifier: Apache-2.0 */
/* An image of memory with a Ruby in it: a thread, a stack of four frames. */
#ifndef UX_MAKE_RUBY_H
#define UX_MAKE_RUBY_H

#include "make_interp.h"
#include "unhex/interp.h"

enum {
	MAKE_RUBY_ROOM = 8192,
};

enum make_ruby_version {
	MAKE_RUBY_31,
	MAKE_RUBY_33,
};

struct make_ruby_shape;

struct make_ruby {
	const struct make_ruby_shape *shape;
	uint32_t frame;                /* bytes of one */
	uint8_t image[MAKE_RUBY_ROOM]; /* the memory from MAKE_INTERP_BASE on */
	size_t size;
	struct ux_interp_root root;
	uint64_t native;   /* for 3.3: the system's number of the thread */
	uint64_t context;  /* execution context of the thread */
	uint64_t frames;   /* the innermost frame; the others follow it */
	uint64_t iseqs[2]; /* "run" of "a.rb" from line 10 on, "<main>" of "a.rb" */
	uint64_t words[2]; /* their first instructions */
};

/* Fills it: "run" stands on line 12, called by a C function, called by "<main>" on line 1. Of the
 * 600 words of "run" each eighth begins a line. */
void make_ruby(struct make_ruby *m, enum make_ruby_version version);

void make_ruby_put(struct make_ruby *m, uint64_t addr, uint64_t value);

#endif
