/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of a GSYM: each once, in the order they are first asked for. */
#ifndef UX_STRING_TABLE_H
#define UX_STRING_TABLE_H

#include "out.h"

/* A place of the table by text; off 0 is empty. The text itself lies in the table's bytes. */
struct ux_string_place {
	uint32_t hash;
	uint32_t off;
};

/* A place of the table by pointer; NULL is empty. */
struct ux_string_known {
	const char *text;
	uint32_t off;
};

/*
 * Keeps pointers to the texts it was given: they must outlive it. The same place in memory is the
 * same text, which spares nearly all hashing, since linkers merge .debug_str.
 */
enum {
	UX_STRINGS_AHEAD = 8 /* how far ahead of its adding a text is expected */
};

struct ux_string_table {
	struct ux_out bytes;            /* begins with a NUL: offset 0 is "" */
	struct ux_string_place *places; /* malloc'ed, open addressing, at most 3/4 full */
	struct ux_string_known *known;  /* the same */
	size_t n_places, places_cap;    /* powers of two, or 0 */
	size_t n_known, known_cap;
	uint64_t limit; /* bytes that it may grow to */
	unsigned shift; /* offsets are counted in steps of 2^shift bytes */
	bool no_memory;
	bool too_large; /* over the limit */
};

/*
 * limit: bytes of all texts with their NULs; at most as many count as 32 bits reach, which is 4 GiB
 * in steps of 1. Texts may be ends of one another in the input, and then add up to far more than
 * they take there. Each text begins at a multiple of 2^shift: shift 0 wastes nothing.
 */
void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift);
void ux_string_table_deinit(struct ux_string_table *table);

/* The offset of text, in steps (NULL and "" are 0). After a failure: 0, and status says it. */
uint32_t ux_string_table_add(struct ux_string_table *table, const char *text);

/* Fetches what adding text is going to touch: neither it nor its place are in any cache. */
void ux_string_table_expect(const struct ux_string_table *table, const char *text);

enum ux_code ux_string_table_status(const struct ux_string_table *table, struct ux_error *err)
	ux_must;

#endif
