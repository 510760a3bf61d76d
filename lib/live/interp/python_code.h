/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects of a CPython: what they are called, where they come from. */
#ifndef UX_PYTHON_CODE_H
#define UX_PYTHON_CODE_H

#include "python_object.h"

/* What a code object says; its memory is the arena's that it was read into. */
struct ux_python_code {
	const char *name; /* qualified from 3.11 on; "" unknown */
	const char *file;
	int32_t first_line;
	uint64_t instrs;       /* address of the first instruction */
	uint64_t instrs_size;  /* bytes; 0 unknown */
	struct ux_bytes lines; /* the line table */
	uint64_t fields[4];    /* where name, file and lines are; the type */
	uint64_t mark;         /* of the name's text */
};

/*
 * Reads the code object at addr. *ret_found: false when there is none, or it was replaced while it
 * was read; single strings that do not hold together are "".
 */
enum ux_code ux_python_code_read(struct ux_python *p, uint64_t addr, struct ux_arena *a,
				 struct ux_python_code *ret, bool *ret_found, struct ux_error *err)
	ux_must;

/* True when there still is the code object that was read from addr, with the same name. */
bool ux_python_code_holds(struct ux_python *p, uint64_t addr, const struct ux_python_code *code)
	ux_must;

/*
 * The line of the instruction at `offset` bytes; 0: unknown. What lies in front of the first
 * instruction (a frame that has not begun) is on the function's first line.
 */
uint32_t ux_python_code_line(struct ux_python *p, const struct ux_python_code *code,
			     int64_t offset);

#endif
