/* SPDX-License-Identifier: Apache-2.0 */
/* An image of memory with a CPython in it: one interpreter, two threads, a stack of three. */
#ifndef UX_MAKE_PYTHON_H
#define UX_MAKE_PYTHON_H

#include "make_interp.h"
#include "unhex/interp.h"

enum {
	MAKE_PYTHON_ROOM = 8192,
};

struct make_python {
	uint8_t image[MAKE_PYTHON_ROOM]; /* the memory from MAKE_INTERP_BASE on */
	size_t size;
	struct ux_interp_root root;
	uint64_t thread;    /* the first thread state */
	uint64_t innermost; /* where it points to its innermost frame */
	uint64_t frames[3]; /* innermost first */
	uint64_t codes[3];
	uint64_t instr; /* offset of the instruction that each stands at */
};

/* Fills it with a Python of version 0x0308 to 0x030e; the functions are "C.inner" (before 3.11:
 * "inner") of "a.py", line 12, "ф" of "é.py", line 22, and "<module>" of "a.py", line 32. The
 * second thread runs nothing. */
void make_python(struct make_python *m, uint32_t version);

/* Writes a word into the image. */
void make_python_put(struct make_python *m, uint64_t addr, uint64_t value);

#endif
