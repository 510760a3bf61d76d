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
#include "spill_vec.h"

enum {
	UX_STRINGS_AHEAD = 8, /* how many texts ahead ux_string_table_prefetch() should be called */
};

#define UX_STRING_UNMEASURED UINT32_MAX

/* A text for a string table. Threads measure many of them before one thread adds them all. */
struct ux_string {
	const char *text; /* NULL and "" need no measuring */
	uint32_t size;    /* UX_STRING_UNMEASURED: neither size nor hash is known */
	uint32_t hash;
};

UX_SPILL_VEC(ux_string_vec, struct ux_string);

ux_inline struct ux_string ux_string_of(const char *text)
{
	return (struct ux_string){.text = text, .size = UX_STRING_UNMEASURED};
}

/*
 * Measures up to n texts until *left bytes are used up, and subtracts the bytes that were read. Any
 * thread.
 */
void ux_strings_measure(struct ux_string *strings, size_t n, uint64_t *left);

/* A slot of the hash table keyed by text; off 0 is an empty slot. */
struct ux_string_slot {
	const char *text;
	uint32_t hash;
	uint32_t off;
};

/* A text of the table and its place. */
struct ux_string_entry {
	const char *text;
	uint64_t at;
	uint32_t size;
};

UX_SPILL_VEC(ux_string_entry_vec, struct ux_string_entry);

ux_inline bool ux_string_pointer_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(ux_string_late, uint64_t, uint32_t, ux_hash_u64, ux_string_pointer_eq);

/*
 * The string table of a GSYM: each text once, in the order of the first additions. It keeps
 * pointers to the added texts, which must outlive it. First each text gets its offset; at the end
 * several threads write the bytes.
 */
struct ux_string_table {
	struct ux_spill *spill;       /* regions for large data; NULL: data are in memory */
	struct ux_string_slot *slots; /* open addressing, at most 3/4 full */
	size_t n_slots, slots_cap;    /* powers of two, or 0 */
	struct ux_string_entry_vec entries;
	uint64_t size;  /* bytes of all texts so far; begins with a NUL: offset 0 is "" */
	uint64_t limit; /* largest size in bytes */
	struct ux_string_late
		late;   /* offsets of texts that were not measured before they were added */
	unsigned shift; /* offsets count in units of 2^shift bytes */
	bool no_memory;
	bool too_large; /* over the limit */
	uint8_t *data;  /* made by ux_string_table_make() */
};

/*
 * limit: bytes of all texts with their NULs. It is capped at the range of 32-bit offsets, which is
 * 4 GiB in units of 1. Texts of the input may be suffixes of one another, and then add up to far
 * more than they take there. Each text begins at a multiple of 2^shift; shift 0 wastes nothing.
 * expected: rough number of different texts. spill: where large parts are; NULL: in memory.
 */
void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift,
			  size_t expected, struct ux_spill *spill);
void ux_string_table_deinit(struct ux_string_table *table);

/* Adds the text and returns its offset in units of 2^shift; NULL and "" have 0. After a failure it
 * returns 0, and ux_string_table_status() has the error. */
uint32_t ux_string_table_add(struct ux_string_table *table, const struct ux_string *string);

/* Prefetches the slot that adding a measured text will access; it is usually not in the CPU's
 * caches. */
void ux_string_table_prefetch(const struct ux_string_table *table, const struct ux_string *string);

enum ux_code ux_string_table_status(const struct ux_string_table *table, struct ux_error *err)
	ux_must;

/* Makes the bytes of the table; call it once, after everything was added without failure. */
enum ux_code ux_string_table_make(struct ux_string_table *table, unsigned threads,
				  struct ux_error *err) ux_must;

/* Returns the bytes that ux_string_table_make() made. */
ux_inline struct ux_bytes ux_string_table_bytes(const struct ux_string_table *table)
{
	return ux_bytes(table->data, (size_t)table->size);
}

struct ux_file_pair {
	uint32_t dir;
	uint32_t base;
	uint32_t column; /* 0: unknown */
};

ux_inline uint64_t ux_file_pair_hash(struct ux_file_pair p)
{
	return ux_hash_u64((uint64_t)p.dir << 32 | p.base) ^
	       p.column * UINT64_C(0x9e3779b97f4a7c15);
}

ux_inline bool ux_file_pair_eq(struct ux_file_pair a, struct ux_file_pair b)
{
	return a.dir == b.dir && a.base == b.base && a.column == b.column;
}

UX_MAP(ux_file_map, struct ux_file_pair, uint32_t, ux_file_pair_hash, ux_file_pair_eq);
UX_VEC(ux_file_vec, struct ux_gsym_file_entry);

/* A file that the units of a group use. */
struct ux_numbering_file {
	struct ux_string dir, base;
	uint16_t column; /* 0: unknown */
	uint64_t uses;
};

UX_SPILL_VEC(ux_numbering_file_vec, struct ux_numbering_file);

/* The names and files that consecutive units use, each pointer once, in the order of first use.
 * Threads make the groups, so that few texts are left for the one thread that numbers them. */
struct ux_numbering_group {
	struct ux_string_vec names;
	struct ux_numbering_file_vec files;
	uint32_t *numbers; /* final numbers, of the names and then of the files */
};

struct ux_numbering_worker;

struct ux_numbering {
	const struct ux_collection *collection;
	const struct ux_piece_vec *pieces;
	unsigned threads;
	struct ux_spill *spill; /* regions for large arrays; NULL: they are in memory */
	uint64_t text_each;     /* bytes of texts that may be read for one group */
	struct ux_numbering_group *groups;
	size_t n_groups;
	struct ux_numbering_worker *workers; /* one for each thread */
	struct ux_string *piece_names;       /* name of each piece, in their order */
	/* The pieces sorted by unit, the first one of each unit, and the first slot of each unit in
	 * `local` and `numbers`, which have the unit's names and then its files. */
	uint32_t *by_unit;
	uint32_t *first_piece;
	size_t *first_slot;
	uint32_t *local; /* 1 + index in the group; 0: not used */
	uint32_t *numbers;
	struct ux_string_table strings;
	struct ux_file_map known;
	struct ux_file_vec files;     /* [0] is "no file" */
	struct ux_column_vec columns; /* columns of `files` */
};

/* Finds the names and files that the pieces refer to, on several threads. text_max bounds the bytes
 * of names and paths that this reads; ux_numbering_assign() reads texts over that. spill: where
 * large arrays are; NULL: in memory. Call ux_numbering_deinit() also after a failure. */
enum ux_code ux_numbering_init(struct ux_numbering *n, const struct ux_collection *collection,
			       const struct ux_piece_vec *pieces, unsigned threads,
			       uint64_t text_max, struct ux_spill *spill, struct ux_error *err)
	ux_must;
void ux_numbering_deinit(struct ux_numbering *n);

/* Numbers everything on the calling thread, replacing earlier numbers. limit and shift are passed
 * to the string table. UX_ELIMIT: the strings do not fit. */
enum ux_code ux_numbering_assign(struct ux_numbering *n, uint64_t limit, unsigned shift,
				 struct ux_error *err) ux_must;

/* Gives the numbers to the units, on several threads; call ux_numbering_assign() first. */
enum ux_code ux_numbering_spread(struct ux_numbering *n, struct ux_error *err) ux_must;

/* Returns the numbers of a unit; call ux_numbering_spread() first. */
struct ux_gsym_numbers ux_numbering_of(const struct ux_numbering *n, uint32_t unit);

#endif
