/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of pclntab that give each instruction of a function a value. */
#ifndef UX_GOSYM_STEPS_H
#define UX_GOSYM_STEPS_H

#include "bytes.h"
#include "vec.h"

/* The value up to the instruction at `end`, in bytes from the function's start. */
struct ux_gosym_step {
	uint32_t end;
	int32_t value;
};

UX_VEC(ux_gosym_step_vec, struct ux_gosym_step);

enum {
	/* Steps that take no place: so many, and as many as take one. s390x has some. */
	UX_GOSYM_STILL_FREE = 16,
};

enum ux_gosym_steps_outcome {
	UX_GOSYM_STEPS_READ,
	UX_GOSYM_STEPS_DAMAGED, /* what came before that is there */
	UX_GOSYM_STEPS_NOMEM,
};

/*
 * Replaces *ret by the steps of the program at off, ascending and none past `size`; of offset 0,
 * which means that there is no program, none. A program is pairs of LEB128s, a zigzag difference of
 * values and one of places in units of `quantum`; a difference of 0 ends it unless it is the first
 * (runtime/symtab.go, step()). So work is bounded by the function's size, whatever a program says.
 */
enum ux_gosym_steps_outcome ux_gosym_steps_read(struct ux_bytes programs, uint64_t off,
						unsigned quantum, uint32_t size,
						struct ux_gosym_step_vec *ret);

/* The value at a place; -1 outside of the steps. */
int32_t ux_gosym_steps_at(const struct ux_gosym_step_vec *steps, uint32_t place);

#endif
