/* SPDX-License-Identifier: Apache-2.0 */
/* One function of pclntab, and one call of its inline tree. */
#ifndef UX_GOSYM_FUNCTION_H
#define UX_GOSYM_FUNCTION_H

#include "gosym.h"

/* The programs are offsets, 0 where there is none. Names are the image's. */
struct ux_gosym_function {
	uint64_t lo;
	uint64_t hi;           /* where the next one begins: padding may be in front of it */
	const char *name;      /* NULL: it has none */
	uint32_t file_program; /* numbers of files */
	uint32_t line_program; /* lines */
	uint32_t call_program; /* places in the inline tree */
	uint32_t unit;         /* where the numbers of files begin in the table of files */
	uint64_t tree;         /* pc of the inline tree; 0: nothing was inlined */
	uint8_t id;            /* what the runtime knows it as */
};

/*
 * Function number i, below n_functions. UX_ECORRUPT: its record leaves the table, it is not where
 * the record says, or not in code; UX_ENOTFOUND, with nothing said in err: it is empty.
 */
enum ux_code ux_gosym_function_read(const struct ux_gosym *g, uint32_t i,
				    struct ux_gosym_function *ret, struct ux_error *err) ux_must;

/* What the runtime knows function i as; 0: nothing, or its record is damaged. */
uint8_t ux_gosym_function_id(const struct ux_gosym *g, uint32_t i);

/* A function that was inlined. */
struct ux_gosym_call {
	const char *name;
	uint32_t place; /* of the call itself, in the function; 0 also when nothing is left of it;
			   UX_GOSYM_NO_PLACE: before 1.12 it is not told */
	int32_t parent; /* number of the call that it stands in; -1: in the function,
			   UX_GOSYM_NO_PARENT: not told, see there what stands at its place */
	int32_t file, line; /* of the call, where the parent is told */
	uint8_t id;
};

enum {
	UX_GOSYM_NO_PARENT = -2
};

#define UX_GOSYM_NO_PLACE UINT32_MAX

/* The call number i of f's inline tree; false when it leaves the image or has no name. */
bool ux_gosym_call_read(const struct ux_gosym *g, const struct ux_gosym_function *f, uint32_t i,
			struct ux_gosym_call *ret);

/* The offset in g->table.files of the name of the unit's file number `file`; UX_GOSYM_NOWHERE: it
 * has none. Whether there is text is ux_gosym_text()'s to say. */
uint32_t ux_gosym_file(const struct ux_gosym *g, uint32_t unit, int32_t file);

/* The index's entry i, up to and with n_functions: a pc, or an offset in the text. */
bool ux_gosym_index_at(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
		       uint32_t i, uint64_t *ret);

/* Where function i begins by its own record, and its name's offset. */
bool ux_gosym_record_head(const struct ux_gosym_image *image, const struct ux_gosym_table *t,
			  uint32_t i, uint64_t *ret_start, uint32_t *ret_name);

#endif
