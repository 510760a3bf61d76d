/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a cubin, each address with the innermost one alone. */
#include "cubin_parts.h"

#include "order.h"

/* A symbol's claim; `rank` is its place among the settled ones, the best first. */
struct claim {
	uint64_t lo, hi;
	size_t rank;
	const struct ux_code_symbol *symbol;
};

UX_VEC(claim_vec, struct claim);

static int by_place(const void *x, const void *y)
{
	const struct claim *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(b->hi, a->hi);
	UX_ORDER(a->rank, b->rank);
	return 0;
}

static bool make_claims(const struct ux_code_symbol_vec *symbols, struct claim_vec *out)
{
	for (size_t i = 0; i < symbols->size; i++) {
		const struct ux_code_symbol *s = &symbols->data[i];
		struct claim c = {s->start, s->start + s->size, i, s};
		if (c.lo < c.hi && !claim_vec_append(out, c))
			return false;
	}
	if (out->size > 1)
		qsort(out->data, out->size, sizeof(*out->data), by_place);
	return true;
}

/* [*pos, hi) is of claim c; false when memory is short. */
static bool give(struct ux_cubin_part_vec *list, uint64_t *pos, uint64_t hi, const struct claim *c)
{
	struct ux_cubin_part part = {*pos, hi, c->symbol};
	if (*pos >= hi)
		return true;
	*pos = hi;
	return ux_cubin_part_vec_append(list, part);
}

/* The claims that hold the place at hand are open, the innermost last. */
static bool cut(const struct claim_vec *claims, struct claim_vec *open,
		struct ux_cubin_part_vec *list)
{
	uint64_t pos = 0;
	for (size_t i = 0; i <= claims->size; i++) {
		const struct claim *c = i < claims->size ? &claims->data[i] : NULL;
		uint64_t lo = c ? c->lo : UINT64_MAX;
		for (; open->size > 0 && open->data[open->size - 1].hi <= lo; open->size--)
			if (!give(list, &pos, open->data[open->size - 1].hi,
				  &open->data[open->size - 1]))
				return false;
		if (!c)
			break;
		const struct claim *top = open->size > 0 ? &open->data[open->size - 1] : NULL;
		if (top && top->lo == c->lo && top->hi == c->hi)
			continue; /* another name of it */
		if (top && !give(list, &pos, lo, top))
			return false;
		pos = ux_max(pos, lo);
		if (!claim_vec_append(open, *c))
			return false;
	}
	return true;
}

enum ux_code ux_cubin_parts_make(const struct ux_code_symbol_vec *symbols,
				 struct ux_cubin_parts *ret, struct ux_error *err)
{
	ux_cleanup(claim_vec_deinit) struct claim_vec claims = {0}, open = {0};
	ux_cleanup(ux_cubin_parts_deinit) struct ux_cubin_parts made = {0};
	if (!make_claims(symbols, &claims) || !cut(&claims, &open, &made.list))
		return ux_error_nomem(err);
	made.later = calloc(made.list.size + 1, sizeof(*made.later));
	if (!made.later)
		return ux_error_nomem(err);
	for (size_t i = 0; i <= made.list.size; i++)
		made.later[i] = (uint32_t)i;
	*ret = made;
	made = (struct ux_cubin_parts){0};
	return UX_OK;
}

void ux_cubin_parts_deinit(struct ux_cubin_parts *parts)
{
	ux_cubin_part_vec_deinit(&parts->list);
	free(parts->later);
	*parts = (struct ux_cubin_parts){0};
}

size_t ux_cubin_parts_untold(struct ux_cubin_parts *parts, size_t i)
{
	uint32_t *later = parts->later;
	while (later[i] != i) {
		later[i] = later[later[i]]; /* half the way for whoever comes next */
		i = later[i];
	}
	return i;
}

size_t ux_cubin_parts_find(const struct ux_cubin_parts *parts, uint64_t pc)
{
	size_t lo = 0, hi = parts->list.size;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (parts->list.data[mid].hi <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

void ux_cubin_parts_tell(struct ux_cubin_parts *parts, size_t i)
{
	parts->later[i] = (uint32_t)i + 1;
}

void ux_cubin_parts_tell_all(struct ux_cubin_parts *parts, const struct ux_collection *all)
{
	for (size_t u = 0; u < all->n_units; u++) {
		const struct ux_unit_pieces *unit = &all->units[u];
		for (uint32_t k = 0; k < unit->n_functions; k++) {
			const struct ux_piece *p = &unit->functions[k];
			size_t i = ux_cubin_parts_find(parts, p->start);
			if (p->draft.n_rows > 0 && i < parts->list.size &&
			    parts->list.data[i].lo == p->start)
				ux_cubin_parts_tell(parts, i);
		}
	}
}
