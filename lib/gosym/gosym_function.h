/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of pclntab, and the calls of their inline trees. */
#ifndef UX_GOSYM_FUNCTION_H
#define UX_GOSYM_FUNCTION_H

#include "gosym.h"

/* A function. Programs are offsets in the table of programs; 0 means "none". Names point into the
 * image. */
struct ux_gosym_function {
	uint64_t lo;
	uint64_t hi;           /* start of the next function; padding may precede it */
	const char *name;      /* NULL: the function has no name */
	uint32_t file_program; /* program with file numbers as values */
	uint32_t line_program; /* program with lines as values */
	uint32_t call_program; /* program with indexes of the inline tree as values */
	uint32_t unit;         /* base of the function's file numbers in the table of files */
	uint64_t tree;         /* pc of the inline tree; 0: no inlined calls */
	uint8_t id;            /* funcID: identifies functions that the runtime treats specially */
};

/*
 * Reads function i, which must be below n_functions. UX_ECORRUPT: its record leaves the table,
 * disagrees with the index about the function's start, or describes an address range that is not
 * code. UX_ENOTFOUND, with err unchanged: the function is empty.
 */
enum ux_code ux_gosym_function_read(const struct ux_gosym *g, uint32_t i,
				    struct ux_gosym_function *ret, struct ux_error *err) ux_must;

/* Returns the funcID of function i; 0: it has none, or its record is damaged. */
uint8_t ux_gosym_function_id(const struct ux_gosym *g, uint32_t i);

/* An inlined call. */
struct ux_gosym_call {
	const char *name;
	uint32_t off;   /* offset of the call instruction in the function; 0 also when none of the
			     call's instructions is left; UX_GOSYM_NO_OFFSET before 1.12, which does
			     not record it */
	int32_t parent; /* index of the call that contains it; -1: the function itself;
			   UX_GOSYM_NO_PARENT: not recorded, and then the parent is the call that
			   the instruction at the offset belongs to */
	int32_t file, line; /* call site; only where the parent is recorded */
	uint8_t id;
};

enum {
	UX_GOSYM_NO_PARENT = -2
};

#define UX_GOSYM_NO_OFFSET UINT32_MAX

/* Reads call i of f's inline tree. Returns false when it leaves the image or has no name. */
bool ux_gosym_call_read(const struct ux_gosym *g, const struct ux_gosym_function *f, uint32_t i,
			struct ux_gosym_call *ret);

/* Returns the offset in g->table.files of the name of the unit's file number `file`;
 * UX_GOSYM_NOWHERE when it has none. The offset is not checked; ux_gosym_text() does that. */
uint32_t ux_gosym_file(const struct ux_gosym *g, uint32_t unit, int32_t file);

/* Reads entry i of the index, where i may be n_functions: a pc, or an offset in the text. Returns
 * false outside of the table. */
bool ux_gosym_index_at(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
		       uint32_t i, uint64_t *ret);

/* Reads the start of function i and the offset of its name from its record. Returns false outside
 * of the table. */
bool ux_gosym_record_head(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
			  uint32_t i, uint64_t *ret_start, uint32_t *ret_name);

#endif
