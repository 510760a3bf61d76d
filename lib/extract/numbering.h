/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers that names and files of all units get in one GSYM. Only what a piece refers to is
 * numbered. Names are in the order of units, and within one in its own; files are in the order of
 * how often they are referred to, since small numbers take fewer bytes.
 */
#ifndef UX_NUMBERING_H
#define UX_NUMBERING_H

#include "collect.h"
#include "map.h"
#include "out.h"

/* The strings of a GSYM: each once, in the order they are first asked for. */

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

struct ux_file_pair {
	uint32_t dir;
	uint32_t base;
};

ux_inline uint64_t ux_file_pair_hash(struct ux_file_pair p)
{
	return ux_hash_u64((uint64_t)p.dir << 32 | p.base);
}

ux_inline bool ux_file_pair_eq(struct ux_file_pair a, struct ux_file_pair b)
{
	return a.dir == b.dir && a.base == b.base;
}

UX_MAP(ux_file_map, struct ux_file_pair, uint32_t, ux_file_pair_hash, ux_file_pair_eq);
UX_VEC(ux_file_vec, struct ux_gsym_file_entry);

struct ux_numbering {
	const struct ux_collection *collection;
	const struct ux_piece_vec *pieces;
	/* Of each unit its pieces, and where its names and then its files are in uses and numbers.
	 */
	uint32_t *by_unit;
	uint32_t *first_piece;
	size_t *first_slot;
	uint32_t *uses; /* a name: 0 or 1; a file: how often */
	uint32_t *numbers;
	struct ux_string_table strings;
	struct ux_file_map known;
	struct ux_file_vec files; /* [0] is none */
};

/*
 * Finds what the pieces refer to, on several threads. Give the numbering back with
 * ux_numbering_deinit(), even after a failure.
 */
enum ux_code ux_numbering_init(struct ux_numbering *n, const struct ux_collection *collection,
			       const struct ux_piece_vec *pieces, unsigned threads,
			       struct ux_error *err) ux_must;
void ux_numbering_deinit(struct ux_numbering *n);

/*
 * Numbers everything, replacing the numbers given before; limit and shift are the string table's.
 * UX_ELIMIT when it is too small.
 */
enum ux_code ux_numbering_assign(struct ux_numbering *n, uint64_t limit, unsigned shift,
				 struct ux_error *err) ux_must;

/* The numbers of a unit, once assigned. */
struct ux_gsym_numbers ux_numbering_of(const struct ux_numbering *n, uint32_t unit);

#endif
