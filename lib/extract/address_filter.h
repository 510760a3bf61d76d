/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few addresses that an extraction is for, when it is not for all of them.
 *
 * What is told of an address is decided by what covers it: symbols, functions, rows outside of
 * functions. So it takes the symbols, and the units that say they have the address or do not say
 * what they have; the others can be left unread, and the answer is that of the whole extraction.
 * Around an address everything is wanted up to where no symbol overlaps another: a symbol's lines
 * are of any units that it touches.
 */
#ifndef UX_ADDRESS_FILTER_H
#define UX_ADDRESS_FILTER_H

#include "code_symbols.h"
#include "collect.h"

struct ux_address_filter {
	struct ux_range_vec ranges; /* sorted, disjoint */
	struct ux_range_vec code;   /* those of them that are in the text: at 0 is much of what
					     a linker dropped */
	bool narrowed; /* by the extraction: its GSYM tells of these ranges alone; there may be
			  nothing to be told, and no GSYM */
};

/* Wants each of n pcs, in any order. False when memory is short. Zeroed before; to be deinited. */
bool ux_address_filter_init(struct ux_address_filter *filter, const uint64_t *pcs, size_t n)
	ux_must;
void ux_address_filter_deinit(struct ux_address_filter *filter);

/*
 * Wants the whole of the symbols there, and of those that overlap them. They are settled. To be
 * called before what follows. False when memory is short.
 */
bool ux_address_filter_widen(struct ux_address_filter *filter,
			     const struct ux_code_symbol_vec *symbols,
			     const struct ux_range_set *text) ux_must;

/* True when part of [lo, hi) is wanted, and code. */
bool ux_address_filter_overlaps(const struct ux_address_filter *filter, uint64_t lo, uint64_t hi);

/*
 * Leaves of pieces and symbols those that tell something of what is wanted, or of a function that
 * does. UX_ENOMEM.
 */
enum ux_code ux_address_filter_apply(const struct ux_address_filter *filter,
				     struct ux_collection *collection,
				     struct ux_code_symbol_vec *symbols, struct ux_error *err)
	ux_must;

/* True when neither functions nor symbols are left. */
bool ux_address_filter_is_empty(const struct ux_collection *collection,
				const struct ux_code_symbol_vec *symbols);

/* True when the GSYM that was made tells all there is to be told of pc. */
bool ux_address_filter_covers(const struct ux_address_filter *filter, uint64_t pc);

#endif
