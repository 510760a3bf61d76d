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

/* Programs of pclntab that give each instruction of a function a value. */

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

/* A call while it is put into its place. */
struct ux_gosym_node {
	uint32_t index;     /* in the inline tree */
	int32_t file, line; /* of the call */
	uint32_t parent;
	uint32_t depth;
	uint32_t first_child, last_child, next; /* in the order of their code */
	uint32_t last_part, n_parts;
	const char *name;
	bool hidden;
};

/* Code of a call, in bytes from the function's start. */
struct ux_gosym_part {
	uint32_t node;
	uint32_t lo, hi;
};

UX_VEC(ux_gosym_node_vec, struct ux_gosym_node);
UX_VEC(ux_gosym_part_vec, struct ux_gosym_part);

enum {
	UX_GOSYM_DEPTH_MOST = 128, /* real ones go to 20 */
	/* Ranges of all calls of a function: for each step of its program, and some. Real ones come
	 * to 3 a step. */
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

/*
 * Functions as a unit of code, in the order in which they were added, with working memory. Zeroed
 * is ready.
 */
struct ux_gosym_code {
	struct ux_code_function_vec functions;
	struct ux_code_inline_vec inlines;
	struct ux_range_vec ranges;
	struct ux_code_row_vec rows;
	struct ux_code_sequence_vec sequences;
	struct ux_gosym_name_vec names;
	struct ux_gosym_file_vec files; /* offsets of names in the table of files; [0] is none */
	uint64_t bytes;                 /* of code */

	/* The function added last. */
	uint32_t size;      /* bytes that the compiler made, without padding */
	const char *damage; /* what of the function is damaged and left out; NULL: nothing is */

	const struct ux_gosym *tables;
	struct ux_gosym_number_map file_numbers; /* by offset */
	struct ux_gosym_number_map name_numbers; /* of inlined functions, by address */
	struct ux_gosym_step_vec line_steps, file_steps, call_steps;
	struct ux_gosym_node_vec nodes;
	struct ux_gosym_part_vec parts;
};

/* Empties the unit; what is added to it next is of these tables. False when memory is short. */
bool ux_gosym_code_begin(struct ux_gosym_code *code, const struct ux_gosym *tables) ux_must;

/*
 * Adds function f to the unit, with what its programs have. Frames that the compiler made up
 * (wrappers of methods) and that were inlined are left out as Go's own tracebacks leave them out:
 * what stands in them is called from where they are called. Damage is in code->damage and costs the
 * lines behind it, or all inlined calls. Ranges of calls are ascending, not touching, each in one
 * of the parent's, and in no sibling's. Fails for want of memory only.
 */
enum ux_code ux_gosym_code_add(struct ux_gosym_code *code, const struct ux_gosym_function *f,
			       struct ux_error *err) ux_must;

/* The unit as it is; good until more is added. */
struct ux_code_unit ux_gosym_code_unit(const struct ux_gosym_code *code);
void ux_gosym_code_deinit(struct ux_gosym_code *code);

#endif
