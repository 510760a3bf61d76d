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
#include "string_table.h"

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
