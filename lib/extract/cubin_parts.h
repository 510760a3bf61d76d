/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a cubin, each address with the innermost one alone. */
#ifndef UX_CUBIN_PARTS_H
#define UX_CUBIN_PARTS_H

#include "collect.h"

/* A range that one function has for itself. */
struct ux_cubin_part {
	uint64_t lo, hi; /* pc */
	const struct ux_code_symbol *symbol;
};

UX_VEC(ux_cubin_part_vec, struct ux_cubin_part);

/* Zeroed is empty. */
struct ux_cubin_parts {
	struct ux_cubin_part_vec list; /* ascending, disjoint */
	uint32_t *later;               /* malloc'ed: of each, itself, or some later one when
					  it is told; one more at the end */
};

/*
 * Cuts up what the symbols, which are settled, claim: of those that overlap the one that begins
 * later, then the shorter, has the addresses. A kernel with a function inside of it becomes two or
 * more parts.
 */
enum ux_code ux_cubin_parts_make(const struct ux_code_symbol_vec *symbols,
				 struct ux_cubin_parts *ret, struct ux_error *err) ux_must;
void ux_cubin_parts_deinit(struct ux_cubin_parts *parts);

/* The first part from number i on that nobody has told; the number of parts when there is none.
 * Cheap also behind thousands of told ones. */
size_t ux_cubin_parts_untold(struct ux_cubin_parts *parts, size_t i);

/* The first part that ends behind pc. */
size_t ux_cubin_parts_find(const struct ux_cubin_parts *parts, uint64_t pc);

/* Part i has its lines. */
void ux_cubin_parts_tell(struct ux_cubin_parts *parts, size_t i);

/* All that begin where a function of the collection does that has lines are told. */
void ux_cubin_parts_tell_all(struct ux_cubin_parts *parts, const struct ux_collection *all);

#endif
