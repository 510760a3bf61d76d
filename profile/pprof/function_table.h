/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of strings and functions of a Profile message, to which new entries are appended, and
 * the lines of locations, which refer to them. */
#ifndef UX_FUNCTION_TABLE_H
#define UX_FUNCTION_TABLE_H

#include "function_key.h"
#include "out.h"
#include "profile.h"

/* The appended entries. Failures are latched in the buffers. */
struct ux_function_table {
	const struct ux_profile *profile;
	struct ux_out strings;
	struct ux_out functions;
	uint64_t n_strings;      /* in the message, including appended ones */
	uint64_t first_function; /* ID of the first appended function */
	uint64_t n_functions;    /* appended functions */
	uint32_t *string_of; /* number in the message plus 1, by string of the profile; malloc'ed */
	struct ux_string_numbers demangled; /* number in the message, by linkage name */
	struct ux_function_places places;   /* places of appended functions */
	uint32_t *function_of; /* for each frame: its function's place plus 1; 0: none; malloc'ed */
	/* For prepared frames, from number first_line on: where each line begins in `lines`, and
	 * where the last one ends; malloc'ed. */
	uint32_t *line_of;
	size_t first_line;
	struct ux_out lines;
	struct ux_out inner;
	struct ux_out name;
};

/*
 * Starts after the entries that the message already has. The strings of the profile must be
 * complete. UX_ENOMEM. The table must be released in either case.
 */
enum ux_code ux_function_table_init(struct ux_function_table *t, const struct ux_profile *p,
				    uint64_t n_strings, uint64_t first_function,
				    struct ux_error *err) ux_must;
void ux_function_table_deinit(struct ux_function_table *t);

/* Appends a string that the profile lacks, and returns its number. */
uint64_t ux_function_table_put(struct ux_function_table *t, struct ux_bytes text);

/* Returns the index in the message of a string of the profile; appends the string if it is new. */
uint64_t ux_function_table_string(struct ux_function_table *t, uint32_t string);

/*
 * Appends the functions of all frames from number `first` on, in their order, and keeps their
 * lines. This saves time if most of them are needed: neighbours often have the same
 * function. UX_ENOMEM, UX_ELIMIT: the lines have over 4 GiB.
 */
enum ux_code ux_function_table_prepare(struct ux_function_table *t, size_t first,
				       struct ux_error *err) ux_must;

/* Returns the lines of a location whose frames were prepared. Valid as long as the table. */
static inline struct ux_bytes ux_function_table_lines_of(const struct ux_function_table *t,
							 const struct ux_profile_location *l)
{
	const uint32_t *at = &t->line_of[l->first - t->first_line];
	return ux_bytes(t->lines.data + at[0], at[l->n] - at[0]);
}

/* Releases the prepared lines after they were written. */
void ux_function_table_release_lines(struct ux_function_table *t);

/* Prefetches the position of the lines, then the lines. */
static inline void ux_function_table_prefetch_place(const struct ux_function_table *t,
						    const struct ux_profile_location *l)
{
	if (l->n > 0 && l->first >= t->first_line)
		__builtin_prefetch(&t->line_of[l->first - t->first_line]);
}

static inline void ux_function_table_prefetch(const struct ux_function_table *t,
					      const struct ux_profile_location *l)
{
	if (l->n > 0 && l->first >= t->first_line)
		__builtin_prefetch(t->lines.data + t->line_of[l->first - t->first_line]);
}

/* Appends the lines of a location to its message. UX_ENOMEM. */
enum ux_code ux_function_table_lines(struct ux_function_table *t,
				     const struct ux_profile_location *l, struct ux_out *message,
				     struct ux_error *err) ux_must;

/* Appends the new functions and strings to `out`. UX_ENOMEM. */
enum ux_code ux_function_table_write(const struct ux_function_table *t, struct ux_out *out,
				     struct ux_error *err) ux_must;

#endif
