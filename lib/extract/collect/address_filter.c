/* SPDX-License-Identifier: Apache-2.0 */
/* Limits an extraction to a few addresses. */
#include "address_filter.h"

void ux_address_filter_deinit(struct ux_address_filter *filter)
{
	ux_range_vec_deinit(&filter->ranges);
	ux_range_vec_deinit(&filter->code);
	filter->narrowed = false;
}

bool ux_address_filter_init(struct ux_address_filter *filter, const uint64_t *pcs, size_t n)
{
	assert(filter->ranges.size == 0);
	for (size_t i = 0; i < n; i++) {
		/* The last address has no end that fits into 64 bits. */
		uint64_t lo = ux_min(pcs[i], UINT64_MAX - 1);
		if (!ux_range_vec_append(&filter->ranges, (struct ux_range){lo, lo + 1}))
			return false;
	}
	ux_range_vec_normalize(&filter->ranges);
	return true;
}

static bool filter_overlaps(const struct ux_range_vec *ranges, uint64_t lo, uint64_t hi)
{
	struct ux_range_set set = ux_range_vec_set(ranges);
	return ux_range_set_overlaps(&set, lo, hi);
}

bool ux_address_filter_overlaps(const struct ux_address_filter *filter, uint64_t lo, uint64_t hi)
{
	return filter_overlaps(&filter->code, lo, hi);
}

bool ux_address_filter_covers(const struct ux_address_filter *filter, uint64_t pc)
{
	pc = ux_min(pc, UINT64_MAX - 1);
	return !filter->narrowed || filter_overlaps(&filter->ranges, pc, pc + 1);
}

/* Extends the ranges that [lo, hi) overlaps to cover it. Ranges only grow towards each other, so
 * that they stay sorted. */
static void filter_widen(struct ux_range_vec *ranges, uint64_t lo, uint64_t hi)
{
	struct ux_range_set set = ux_range_vec_set(ranges);
	for (size_t i = ux_range_set_from(&set, lo); i < set.count && set.list[i].lo < hi; i++) {
		struct ux_range *r = &ranges->data[i];
		uint64_t before = i > 0 ? r[-1].hi : 0;
		bool last = i + 1 == ranges->size;
		r->lo = ux_max(ux_min(r->lo, lo), before);
		r->hi = ux_max(r->hi, last ? hi : ux_min(hi, r[1].lo));
	}
}

/* Gives back the memory of ranges that have become parts of others: a million addresses are in
 * some ten thousand functions. */
static void filter_shrink(struct ux_range_vec *ranges)
{
	size_t n = ux_max(ranges->size, (size_t)1);
	struct ux_range *less =
		n < ranges->cap ? ux_spill_realloc(ranges->spill, ranges->data, n * sizeof(*less))
				: NULL;
	if (!less)
		return;
	ranges->data = less;
	ranges->cap = n;
}

bool ux_address_filter_widen(struct ux_address_filter *filter,
			     const struct ux_code_symbol_vec *symbols,
			     const struct ux_range_set *text)
{
	const struct ux_code_symbol *s = symbols->data;
	for (size_t i = 0, end; i < symbols->size; i = end) {
		uint64_t hi = s[i].start + s[i].size;
		for (end = i + 1; end < symbols->size && s[end].start < hi; end++)
			hi = ux_max(hi, s[end].start + s[end].size);
		filter_widen(&filter->ranges, s[i].start, hi);
	}
	ux_range_vec_normalize(&filter->ranges);
	filter_shrink(&filter->ranges);
	filter->code.size = 0;
	for (size_t i = 0; i < filter->ranges.size; i++) {
		struct ux_range r = filter->ranges.data[i];
		if (ux_range_set_overlaps(text, r.lo, r.hi) &&
		    !ux_range_vec_append(&filter->code, r))
			return false;
	}
	return true;
}

/* Keeps only the pieces that overlap the ranges, and returns their number. */
static uint32_t filter_pieces(struct ux_piece *pieces, uint32_t n,
			      const struct ux_range_vec *ranges)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (filter_overlaps(ranges, pieces[i].start, ux_piece_end(&pieces[i])))
			pieces[kept++] = pieces[i];
	return kept;
}

/* Collects the selected ranges, and the whole ranges of functions that overlap them. */
static bool filter_gather(const struct ux_address_filter *filter,
			  const struct ux_collection *collection, struct ux_range_vec *out)
{
	for (size_t i = 0; i < filter->code.size; i++)
		if (!ux_range_vec_append(out, filter->code.data[i]))
			return false;
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++) {
			const struct ux_piece *p = &unit->functions[i];
			struct ux_range r = {p->start, ux_piece_end(p)};
			if (ux_address_filter_overlaps(filter, r.lo, r.hi) &&
			    !ux_range_vec_append(out, r))
				return false;
		}
	}
	ux_range_vec_normalize(out);
	return true;
}

enum ux_code ux_address_filter_apply(const struct ux_address_filter *filter,
				     struct ux_collection *collection,
				     struct ux_code_symbol_vec *symbols, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec all = {0};
	size_t kept = 0;
	if (!filter_gather(filter, collection, &all))
		return ux_error_nomem(err);
	for (size_t u = 0; u < collection->n_units; u++) {
		struct ux_unit_pieces *unit = &collection->units[u];
		unit->n_functions = filter_pieces(unit->functions, unit->n_functions, &all);
		unit->n_lines = filter_pieces(unit->lines, unit->n_lines, &all);
	}
	for (size_t i = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		if (filter_overlaps(&all, s->start, s->start + s->size))
			symbols->data[kept++] = *s;
	}
	symbols->size = kept;
	return UX_OK;
}

bool ux_address_filter_is_empty(const struct ux_collection *collection,
				const struct ux_code_symbol_vec *symbols)
{
	for (size_t u = 0; u < collection->n_units; u++)
		if (collection->units[u].n_functions > 0)
			return false;
	return symbols->size == 0;
}
