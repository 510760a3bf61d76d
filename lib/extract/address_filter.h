/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits an extraction to a few addresses.
 *
 * The result for an address depends on what covers it: symbols, functions, rows outside of
 * functions. So all symbols are read, and the units whose own entry has the address or has no
 * addresses at all; the others are left unread, and the result is that of the whole extraction.
 * Around an address everything is selected up to where no symbol overlaps another, since a symbol's
 * lines come from any unit that it overlaps.
 */
#ifndef UX_ADDRESS_FILTER_H
#define UX_ADDRESS_FILTER_H

#include "code_symbols.h"
#include "collect.h"

struct ux_address_filter {
	struct ux_range_vec ranges; /* sorted, disjoint */
	struct ux_range_vec code;   /* those of them that are in the text: at 0 is much of what
					     a linker dropped */
	bool narrowed; /* by the extraction: its GSYM has these ranges alone; there may be
			  nothing in them, and no GSYM */
};

/* Selects each of n pcs, in any order. False when memory is short. Zeroed before; to be deinited.
 */
bool ux_address_filter_init(struct ux_address_filter *filter, const uint64_t *pcs, size_t n)
	ux_must;
void ux_address_filter_deinit(struct ux_address_filter *filter);

/*
 * Selects the whole of the symbols there, and of those that overlap them. The symbols are sorted.
 * To be called before what follows. False when memory is short.
 */
bool ux_address_filter_widen(struct ux_address_filter *filter,
			     const struct ux_code_symbol_vec *symbols,
			     const struct ux_range_set *text) ux_must;

/* True when part of [lo, hi) is selected, and code. */
bool ux_address_filter_overlaps(const struct ux_address_filter *filter, uint64_t lo, uint64_t hi);

/*
 * Drops the pieces and symbols that overlap neither the selected addresses nor a function that
 * does. UX_ENOMEM.
 */
enum ux_code ux_address_filter_apply(const struct ux_address_filter *filter,
				     struct ux_collection *collection,
				     struct ux_code_symbol_vec *symbols, struct ux_error *err)
	ux_must;

/* True when neither functions nor symbols are left. */
bool ux_address_filter_is_empty(const struct ux_collection *collection,
				const struct ux_code_symbol_vec *symbols);

/* True when the GSYM that was made has all that there is for pc. */
bool ux_address_filter_covers(const struct ux_address_filter *filter, uint64_t pc);

#endif
