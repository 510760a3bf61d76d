/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits an extraction to a few addresses.
 *
 * The result for an address depends on everything that covers it: symbols, functions, rows outside
 * of functions. So all symbols are read, and each unit whose own entry contains the address or has
 * no addresses at all; other units are not read. The result is still the same as from the whole
 * extraction. Around an address everything is selected up to where no symbol overlaps another,
 * since a symbol's lines come from any unit that it overlaps.
 */
#ifndef UX_ADDRESS_FILTER_H
#define UX_ADDRESS_FILTER_H

#include "code_symbols.h"
#include "collect.h"

struct ux_address_filter {
	struct ux_range_vec ranges; /* sorted, disjoint */
	struct ux_range_vec code; /* the part of `ranges` that is in the text; dropped code is often
				     described at address 0 */
	bool narrowed; /* set by the extraction: the GSYM covers only these ranges. If they contain
			  nothing, there is no GSYM */
};

/* Selects n pcs, in any order. *filter must be zeroed before. Returns false when memory is short.
 * Release with ux_address_filter_deinit(). */
bool ux_address_filter_init(struct ux_address_filter *filter, const uint64_t *pcs, size_t n)
	ux_must;
void ux_address_filter_deinit(struct ux_address_filter *filter);

/* Extends the selection to whole symbols, and to symbols that overlap these. The symbols must be
 * sorted. Call this before the functions below. Returns false when memory is short. */
bool ux_address_filter_widen(struct ux_address_filter *filter,
			     const struct ux_code_symbol_vec *symbols,
			     const struct ux_range_set *text) ux_must;

/* Returns true when part of [lo, hi) is selected, and code. */
bool ux_address_filter_overlaps(const struct ux_address_filter *filter, uint64_t lo, uint64_t hi);

/*
 * Drops the pieces and symbols that overlap neither the selected addresses nor a function that
 * does. UX_ENOMEM.
 */
enum ux_code ux_address_filter_apply(const struct ux_address_filter *filter,
				     struct ux_collection *collection,
				     struct ux_code_symbol_vec *symbols, struct ux_error *err)
	ux_must;

/* Returns true when neither functions nor symbols are left. */
bool ux_address_filter_is_empty(const struct ux_collection *collection,
				const struct ux_code_symbol_vec *symbols);

/* Returns true when the GSYM contains everything that the file has for pc. */
bool ux_address_filter_covers(const struct ux_address_filter *filter, uint64_t pc);

#endif
