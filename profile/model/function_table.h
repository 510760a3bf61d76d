/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of strings and functions of a profile message, to which new entries are appended, and
 * the lines of locations, which refer to them. Those of pprof and OTLP differ in field numbers. */
#ifndef UX_FUNCTION_TABLE_H
#define UX_FUNCTION_TABLE_H

#include "out.h"
#include "profile.h"

/* Field numbers. */
struct ux_function_fields {
	uint32_t string; /* of the message that has the tables */
	uint32_t function;
	uint32_t id; /* of a function; 0: it is known by its place in the table */
	uint32_t name;
	uint32_t system_name;
	uint32_t filename;
	uint32_t start_line;
	uint32_t line_function; /* of a line */
	uint32_t line_line;
	uint32_t line_column;
};

/* A function of the message. Equal ones are written once. */
struct ux_function_key {
	uint32_t name, linkage, file, start_line;
};

ux_inline uint64_t ux_function_key_hash(struct ux_function_key k)
{
	return ux_hash_mix(ux_hash_u64((uint64_t)k.name << 32 | k.linkage),
			   (uint64_t)k.file << 32 | k.start_line | UINT64_C(1) << 63);
}

ux_inline bool ux_function_key_eq(struct ux_function_key a, struct ux_function_key b)
{
	return a.name == b.name && a.linkage == b.linkage && a.file == b.file &&
	       a.start_line == b.start_line;
}

UX_MAP(ux_function_places, struct ux_function_key, uint32_t, ux_function_key_hash,
       ux_function_key_eq);

/* What is appended. Failures are latched in the buffers. */
struct ux_function_table {
	const struct ux_profile *profile;
	const struct ux_function_fields *fields;
	struct ux_out strings;
	struct ux_out functions;
	uint64_t n_strings;      /* in the message, with those that are appended */
	uint64_t first_function; /* ID or number of the first one that is appended */
	uint64_t n_functions;    /* that are appended */
	uint32_t *string_of; /* number in the message plus 1, by string of the profile; malloc'ed */
	struct ux_string_numbers demangled; /* number in the message, by linkage name */
	struct ux_function_places places;   /* of functions that are appended */
	uint32_t *function_of; /* of each frame: its function's place plus 1, or 0; malloc'ed */
	/* Of prepared frames, from number first_line on: where each one's line begins in `lines`,
	 * and where the last one ends; malloc'ed. */
	uint32_t *line_of;
	size_t first_line;
	struct ux_out lines;
	struct ux_out inner;
	struct ux_out name;
};

/*
 * Begins with what the message has already. The strings of the profile must be complete. UX_ENOMEM.
 * The table must be released in either case.
 */
enum ux_code ux_function_table_init(struct ux_function_table *t, const struct ux_profile *p,
				    const struct ux_function_fields *fields, uint64_t n_strings,
				    uint64_t first_function, struct ux_error *err) ux_must;
void ux_function_table_deinit(struct ux_function_table *t);

/* Appends a string that the profile does not have, and returns its number. */
uint64_t ux_function_table_put(struct ux_function_table *t, struct ux_bytes text);

/* The number in the message of a string of the profile, which is appended when it is new. */
uint64_t ux_function_table_string(struct ux_function_table *t, uint32_t string);

/*
 * Appends the functions of all frames from number `first` on, in their order, and keeps their lines
 * as fields with that number. That saves time where most of them are needed: neighbours often have
 * the same function. UX_ENOMEM, UX_ELIMIT: the lines have over 4 GiB.
 */
enum ux_code ux_function_table_prepare(struct ux_function_table *t, size_t first, uint32_t number,
				       struct ux_error *err) ux_must;

/* The lines of a location whose frames were prepared. Valid as long as the table. */
static inline struct ux_bytes ux_function_table_lines_of(const struct ux_function_table *t,
							 const struct ux_profile_location *l)
{
	const uint32_t *at = &t->line_of[l->first - t->first_line];
	return ux_bytes(t->lines.data + at[0], at[l->n] - at[0]);
}

/* Releases the lines that were prepared, once they are written. */
void ux_function_table_release_lines(struct ux_function_table *t);

/* Prefetches where the lines are, and the lines, once it is known where they are. */
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

/* Appends the lines of a location, as fields with that number, to a message. UX_ENOMEM. */
enum ux_code ux_function_table_lines(struct ux_function_table *t,
				     const struct ux_profile_location *l, uint32_t number,
				     struct ux_out *message, struct ux_error *err) ux_must;

/* Appends the new functions and strings to `out`. UX_ENOMEM. */
enum ux_code ux_function_table_write(const struct ux_function_table *t, struct ux_out *out,
				     struct ux_error *err) ux_must;

#endif
