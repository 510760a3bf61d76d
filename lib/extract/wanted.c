/* SPDX-License-Identifier: Apache-2.0 */
/* The few addresses that an extraction is for. */
#include "wanted.h"

#include "dwarf_ranges.h"
#include "order.h"

void ux_wanted_deinit(struct ux_wanted *wanted)
{
	ux_range_vec_deinit(&wanted->ranges);
	ux_range_vec_deinit(&wanted->code);
	wanted->narrowed = false;
}

static int by_lo(const void *a, const void *b)
{
	const struct ux_range *x = a, *y = b;
	UX_ORDER(x->lo, y->lo);
	UX_ORDER(x->hi, y->hi);
	return 0;
}

/* Sorts ranges and joins those that overlap or touch. */
static void tidy(struct ux_range_vec *ranges)
{
	struct ux_range *r = ranges->data;
	size_t kept = 0;
	if (ranges->size < 2)
		return;
	qsort(r, ranges->size, sizeof(*r), by_lo);
	for (size_t i = 1; i < ranges->size; i++) {
		if (r[i].lo <= r[kept].hi)
			r[kept].hi = ux_max(r[kept].hi, r[i].hi);
		else
			r[++kept] = r[i];
	}
	ranges->size = kept + 1;
}

bool ux_wanted_init(struct ux_wanted *wanted, const uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* The last address has no end that could be written. */
		uint64_t lo = ux_min(pcs[i], UINT64_MAX - 1);
		if (!ux_range_vec_append(&wanted->ranges, (struct ux_range){lo, lo + 1}))
			return false;
	}
	tidy(&wanted->ranges);
	return true;
}

/* The first range that ends behind pc. */
static size_t find(const struct ux_range_vec *ranges, uint64_t pc)
{
	size_t lo = 0, hi = ranges->size;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (ranges->data[mid].hi <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool meets(const struct ux_range_vec *ranges, uint64_t lo, uint64_t hi)
{
	size_t i = find(ranges, lo);
	return i < ranges->size && ranges->data[i].lo < hi;
}

bool ux_wanted_meets(const struct ux_wanted *wanted, uint64_t lo, uint64_t hi)
{
	return meets(&wanted->code, lo, hi);
}

bool ux_wanted_has(const struct ux_wanted *wanted, uint64_t pc)
{
	pc = ux_min(pc, UINT64_MAX - 1);
	return !wanted->narrowed || meets(&wanted->ranges, pc, pc + 1);
}

/* Makes the ranges that [lo, hi) meets as long; ranges only grow towards each other, so that their
 * order stays. */
static void widen(struct ux_range_vec *ranges, uint64_t lo, uint64_t hi)
{
	for (size_t i = find(ranges, lo); i < ranges->size && ranges->data[i].lo < hi; i++) {
		struct ux_range *r = &ranges->data[i];
		uint64_t before = i > 0 ? r[-1].hi : 0;
		bool last = i + 1 == ranges->size;
		r->lo = ux_max(ux_min(r->lo, lo), before);
		r->hi = ux_max(r->hi, last ? hi : ux_min(hi, r[1].lo));
	}
}

bool ux_wanted_widen(struct ux_wanted *wanted, const struct ux_code_symbol_vec *symbols,
		     const struct ux_range_set *text)
{
	const struct ux_range_vec sections = {.data = (void *)text->list, .size = text->count};
	const struct ux_code_symbol *s = symbols->data;
	for (size_t i = 0, end; i < symbols->size; i = end) {
		uint64_t hi = s[i].start + s[i].size;
		for (end = i + 1; end < symbols->size && s[end].start < hi; end++)
			hi = ux_max(hi, s[end].start + s[end].size);
		widen(&wanted->ranges, s[i].start, hi);
	}
	tidy(&wanted->ranges);
	wanted->code.size = 0;
	for (size_t i = 0; i < wanted->ranges.size; i++) {
		struct ux_range r = wanted->ranges.data[i];
		if (meets(&sections, r.lo, r.hi) && !ux_range_vec_append(&wanted->code, r))
			return false;
	}
	return true;
}

bool ux_wanted_unit(const struct ux_wanted *wanted, const struct ux_dwarf_context *ctx,
		    struct ux_range_vec *scratch)
{
	if (!ux_dwarf_unit_ranges(ctx, scratch))
		return true;
	for (size_t i = 0; i < scratch->size; i++)
		if (ux_wanted_meets(wanted, scratch->data[i].lo, scratch->data[i].hi))
			return true;
	return false;
}

/* Leaves the pieces that meet the ranges. */
static uint32_t trim(struct ux_piece *pieces, uint32_t n, const struct ux_range_vec *ranges)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n; i++)
		if (meets(ranges, pieces[i].start, ux_piece_end(&pieces[i])))
			pieces[kept++] = pieces[i];
	return kept;
}

/* The whole of the functions that tell something of what is wanted, and that itself. */
static bool gather(const struct ux_wanted *wanted, const struct ux_collection *collection,
		   struct ux_range_vec *out)
{
	for (size_t i = 0; i < wanted->code.size; i++)
		if (!ux_range_vec_append(out, wanted->code.data[i]))
			return false;
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++) {
			const struct ux_piece *p = &unit->functions[i];
			struct ux_range r = {p->start, ux_piece_end(p)};
			if (ux_wanted_meets(wanted, r.lo, r.hi) && !ux_range_vec_append(out, r))
				return false;
		}
	}
	tidy(out);
	return true;
}

enum ux_code ux_wanted_trim(const struct ux_wanted *wanted, struct ux_collection *collection,
			    struct ux_code_symbol_vec *symbols, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec all = {0};
	size_t kept = 0;
	if (!gather(wanted, collection, &all))
		return ux_error_nomem(err);
	for (size_t u = 0; u < collection->n_units; u++) {
		struct ux_unit_pieces *unit = &collection->units[u];
		unit->n_functions = trim(unit->functions, unit->n_functions, &all);
		unit->n_lines = trim(unit->lines, unit->n_lines, &all);
	}
	for (size_t i = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		if (meets(&all, s->start, s->start + s->size))
			symbols->data[kept++] = *s;
	}
	symbols->size = kept;
	return UX_OK;
}

bool ux_wanted_nothing(const struct ux_collection *collection,
		       const struct ux_code_symbol_vec *symbols)
{
	for (size_t u = 0; u < collection->n_units; u++)
		if (collection->units[u].n_functions > 0)
			return false;
	return symbols->size == 0;
}
