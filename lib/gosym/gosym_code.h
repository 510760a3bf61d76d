/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a Go program as a unit of code: their rows, and the address ranges of the calls
 * that were inlined into them. */
#ifndef UX_GOSYM_CODE_H
#define UX_GOSYM_CODE_H

#include "bytes.h"
#include "code_unit.h"
#include "gosym_function.h"
#include "map.h"
#include "vec.h"

/* The programs of pclntab, which assign a value to each instruction of a function. */

/* The value of the instructions before offset `end` and after the previous step's end. Offsets
 * count in bytes from the function's start. */
struct ux_gosym_step {
	uint32_t end;
	int32_t value;
};

UX_VEC(ux_gosym_step_vec, struct ux_gosym_step);

enum {
	/* Steps that do not advance are accepted as long as they exceed the number of advancing
	 * ones by at most this. Programs for s390x have some. */
	UX_GOSYM_STILL_FREE = 16,
};

enum ux_gosym_steps_outcome {
	UX_GOSYM_STEPS_READ,
	UX_GOSYM_STEPS_DAMAGED, /* the steps before the damage are in *ret */
	UX_GOSYM_STEPS_NOMEM,
};

/*
 * Replaces *ret by the steps of the program at off, which are ascending and do not exceed `size`.
 * Offset 0 means "no program", and gives no steps. A program is pairs of LEB128s: a zigzag-encoded
 * difference of values, and a difference of offsets in units of `quantum`. A value difference of 0
 * ends it, except in the first pair (runtime/symtab.go, step()). The work is bounded by the
 * function's size, whatever the program contains.
 */
enum ux_gosym_steps_outcome ux_gosym_steps_read(struct ux_bytes programs, uint64_t off,
						unsigned quantum, uint32_t size,
						struct ux_gosym_step_vec *ret);

/* Returns the value at an offset in the function; -1 outside of the steps. */
int32_t ux_gosym_steps_at(const struct ux_gosym_step_vec *steps, uint32_t off);

/* A node of the tree of inlined calls while it is built. */
struct ux_gosym_node {
	uint32_t index;     /* index of the call in Go's inline tree */
	int32_t file, line; /* file and line of the call site */
	uint32_t parent;
	uint32_t depth;
	uint32_t first_child, last_child, next; /* children are in the order of their code */
	uint32_t last_part, n_parts;
	const char *name;
	bool hidden;
};

/* A range of the code of a call, as offsets from the function's start. */
struct ux_gosym_part {
	uint32_t node;
	uint32_t lo, hi;
};

UX_VEC(ux_gosym_node_vec, struct ux_gosym_node);
UX_VEC(ux_gosym_part_vec, struct ux_gosym_part);

enum {
	UX_GOSYM_DEPTH_MAX = 128, /* nesting of calls; real programs reach 20 */
	/* The ranges of all calls of a function may be UX_GOSYM_PARTS_EACH for each step of its
	 * program, plus UX_GOSYM_PARTS_FREE. Real programs need up to 3 for each step. */
	UX_GOSYM_PARTS_EACH = 16,
	UX_GOSYM_PARTS_FREE = 4096,
};

ux_inline bool ux_gosym_key_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(ux_gosym_number_map, uint64_t, uint32_t, ux_hash_u64, ux_gosym_key_eq);
UX_VEC(ux_gosym_name_vec, const char *);
UX_VEC(ux_gosym_file_vec, uint32_t);

/* A unit of code, with functions added one by one, and the buffers for building it. Zeroed is ready
 * for use. */
struct ux_gosym_code {
	struct ux_code_function_vec functions;
	struct ux_code_inline_vec inlines;
	struct ux_range_vec ranges;
	struct ux_code_row_vec rows;
	struct ux_code_sequence_vec sequences;
	struct ux_gosym_name_vec names;
	struct ux_gosym_file_vec files; /* offsets in the table of file names; [0] means "none" */
	uint64_t bytes;                 /* bytes of code */

	/* Facts about the function that was added last. */
	uint32_t size;      /* bytes of code without padding */
	const char *damage; /* describes the damage that was left out; NULL: none */

	const struct ux_gosym *tables;
	struct ux_gosym_number_map file_numbers; /* key: offset of the file's name */
	/* numbers of inlined functions' names; key: address of the name */
	struct ux_gosym_number_map name_numbers;
	struct ux_gosym_step_vec line_steps, file_steps, call_steps;
	struct ux_gosym_node_vec nodes;
	bool start_is_lost; /* the caller of the call at the first instruction is unknown */
	struct ux_gosym_part_vec parts;
};

/* Empties the unit. The functions that are added to it next are from these tables. Returns false
 * when memory is short. */
bool ux_gosym_code_begin(struct ux_gosym_code *code, const struct ux_gosym *tables) ux_must;

/*
 * Adds function f with its rows and inlined calls to the unit. Frames of inlined functions that the
 * compiler generated (wrappers of methods) are left out, as in Go's own tracebacks: the calls in
 * such a frame become calls of its caller. Damage is described in code->damage; it costs the lines
 * after it, or all inlined calls. The ranges of a call are ascending, do not touch each other, lie
 * in a range of the parent and do not overlap a sibling's. Fails only when memory is short.
 */
enum ux_code ux_gosym_code_add(struct ux_gosym_code *code, const struct ux_gosym_function *f,
			       struct ux_error *err) ux_must;

/* Returns the unit, which is valid until the next function is added. */
struct ux_code_unit ux_gosym_code_unit(const struct ux_gosym_code *code);
void ux_gosym_code_deinit(struct ux_gosym_code *code);

#endif
