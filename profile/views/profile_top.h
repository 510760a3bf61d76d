/* SPDX-License-Identifier: Apache-2.0 */
/* The functions, or lines, that account for the values of a profile. */
#ifndef UX_PROFILE_TOP_H
#define UX_PROFILE_TOP_H

#include "functions.h"

/* A function, or one of its lines. */
struct ux_top_row {
	uint32_t function; /* index in the table's functions */
	uint32_t file;     /* a string of the profile; 0: unknown */
	uint32_t line;     /* 0: unknown, or the row is of a whole function */
	int64_t self;      /* value of samples that were taken in it */
	int64_t total; /* value of samples whose stacks contain it; a recursive function counts once
			*/
	uint32_t location; /* the location with the largest value, else any of its locations */
	uint64_t heaviest; /* absolute value of the largest value, which is the one of `location` */
};

UX_VEC(ux_top_rows, struct ux_top_row);

/* Zeroed = empty. Rows are ordered by `self`, then `total`, the largest first, then by name. */
struct ux_top {
	struct ux_functions functions;
	struct ux_top_rows rows;
	int64_t sum; /* sum over all samples */
};

enum ux_top_level {
	UX_TOP_FUNCTIONS,
	UX_TOP_LINES,
};

struct ux_top_options {
	size_t type; /* index of a value; it must exist, unless there are no values */
	enum ux_top_level level;
	enum ux_demangle_mode demangle;
	size_t names_max; /* bytes of the names of functions; 0: UX_PROFILE_BYTES_MAX */
};

/*
 * Makes a table. It must be released in either case. UX_ENOMEM; UX_ELIMIT: also if the names are
 * over their limit.
 */
enum ux_code ux_top_make(struct ux_top *t, const struct ux_profile *p,
			 const struct ux_top_options *options, struct ux_error *err) ux_must;
void ux_top_deinit(struct ux_top *t);

/* Orders the rows by `total`, then `self`. */
void ux_top_order_by_total(struct ux_top *t);

#endif
