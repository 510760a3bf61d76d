/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assigns the numbers that names and files of all units have in one GSYM. Only names and files that
 * a piece uses get one. Names are in the order of units, and within a unit in its own order. Files
 * are sorted by how often they are used, since small numbers take fewer bytes.
 */
#ifndef UX_NUMBERING_H
#define UX_NUMBERING_H

#include "collect.h"
#include "map.h"
#include "out.h"

/* A slot of the hash table keyed by text; off 0 is an empty slot. The text itself is in the table's
 * bytes. */
struct ux_string_slot {
	uint32_t hash;
	uint32_t off;
};

/* A slot of the hash table keyed by pointer; NULL is an empty slot. */
struct ux_string_known {
	const char *text;
	uint32_t off;
};

/*
 * The string table of a GSYM: each text once, in the order in which they are first added. It keeps
 * pointers to the texts that were added, so that they must outlive it. A pointer that was seen
 * before needs no hashing of its text; that is nearly always the case, since linkers merge
 * .debug_str.
 */
enum {
	UX_STRINGS_AHEAD = 8 /* how many texts ahead ux_string_table_prefetch() should be called */
};

struct ux_string_table {
	struct ux_out bytes;          /* begins with a NUL: offset 0 is "" */
	struct ux_string_slot *slots; /* malloc'ed, open addressing, at most 3/4 full */
	struct ux_string_known *known;
	size_t n_slots, slots_cap; /* powers of two, or 0 */
	size_t n_known, known_cap;
	uint64_t limit; /* bytes to which it may grow */
	unsigned shift; /* offsets count in units of 2^shift bytes */
	bool no_memory;
	bool too_large; /* over the limit */
};

/*
 * limit: bytes of all texts with their NULs. It is capped at what 32-bit offsets can reach, which
 * is 4 GiB in units of 1. Texts of the input may be suffixes of one another, and then add up to far
 * more than they take there. Each text begins at a multiple of 2^shift; shift 0 wastes nothing.
 */
void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift);
void ux_string_table_deinit(struct ux_string_table *table);

/* Adds text and returns its offset in units of 2^shift; NULL and "" have 0. After a failure it
 * returns 0, and ux_string_table_status() has the error. */
uint32_t ux_string_table_add(struct ux_string_table *table, const char *text);

/* Prefetches the memory that adding text will access: the text and its slot are not in the CPU's
 * caches as a rule. */
void ux_string_table_prefetch(const struct ux_string_table *table, const char *text);

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
	/* The pieces sorted by unit, the first one of each unit, and the first slot of each unit in
	 * `uses` and `numbers`, which have the unit's names and then its files. */
	uint32_t *by_unit;
	uint32_t *first_piece;
	size_t *first_slot;
	uint32_t *uses; /* of a name: 0 or 1; of a file: the number of references */
	uint32_t *numbers;
	struct ux_string_table strings;
	struct ux_file_map known;
	struct ux_file_vec files; /* [0] is none */
};

/* Finds the names and files that the pieces refer to, on several threads. Call
 * ux_numbering_deinit() also after a failure. */
enum ux_code ux_numbering_init(struct ux_numbering *n, const struct ux_collection *collection,
			       const struct ux_piece_vec *pieces, unsigned threads,
			       struct ux_error *err) ux_must;
void ux_numbering_deinit(struct ux_numbering *n);

/* Numbers everything, replacing earlier numbers. limit and shift are those of the string table.
 * UX_ELIMIT: the strings do not fit. */
enum ux_code ux_numbering_assign(struct ux_numbering *n, uint64_t limit, unsigned shift,
				 struct ux_error *err) ux_must;

/* Returns the numbers of a unit; call ux_numbering_assign() first. */
struct ux_gsym_numbers ux_numbering_of(const struct ux_numbering *n, uint32_t unit);

#endif
