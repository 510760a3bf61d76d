/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a unit of code into pieces. */
#include "unit_cutter.h"

void ux_unit_cutter_deinit(struct ux_unit_cutter *c)
{
	ux_gsym_row_vec_deinit(&c->rows);
	ux_code_inline_vec_deinit(&c->inlines);
	ux_gsym_range_vec_deinit(&c->ranges);
	ux_number_vec_deinit(&c->file_numbers);
	ux_code_file_vec_deinit(&c->files);
	ux_open_call_vec_deinit(&c->open);
	ux_word_vec_deinit(&c->maps);
	ux_gsym_drafter_deinit(&c->drafter);
	ux_piece_vec_deinit(&c->functions);
	ux_piece_vec_deinit(&c->gaps);
}

/* Copies the content of a scratch vector to an array in the arena: *(T **)ret, which is NULL when
 * it is empty. The alignment is 4 or 8 bytes; most of the data are rows and ranges. */
static bool cutter_copy(struct ux_arena *arena, const void *data, size_t n, size_t size, void *ret)
{
	size_t align = size % sizeof(uint64_t) == 0 ? _Alignof(uint64_t) : _Alignof(uint32_t);
	void *copy = n > 0 ? ux_arena_alloc_n(arena, n, size, align) : NULL;
	if (n > 0 && !copy)
		return false;
	if (n > 0)
		memcpy(copy, data, n * size);
	memcpy(ret, &copy, sizeof(copy));
	return true;
}

#define KEEP(arena, data, n, ret) cutter_copy((arena), (data), (n), sizeof(*(data)), (ret))

/* Makes a piece of the scratch vectors, with its draft in the arena. */
static bool cutter_add_piece(struct ux_unit_cutter *c, struct ux_piece_vec *list,
			     struct ux_piece piece)
{
	struct ux_gsym_function f = {
		.size = piece.size,
		.rows = c->rows.data,
		.n_rows = c->rows.size,
		.inlines = c->inlines.data,
		.n_inlines = c->inlines.size,
		.ranges = c->ranges.data,
	};
	return ux_gsym_draft_make(&c->drafter, &f, c->arena, &piece.draft) &&
	       ux_piece_vec_append(list, piece);
}

/* Returns hi, or the highest address at which a record that begins at lo can end, if that is lower.
 * Kernel code is in the highest 4 GiB, where lo + UINT32_MAX would overflow. */
static uint64_t cutter_record_end(uint64_t lo, uint64_t hi)
{
	return lo + ux_min(hi - lo, (uint64_t)UINT32_MAX);
}

/* Returns the cost of visiting a function's inlined calls. */
static uint64_t cutter_calls_cost(const struct ux_unit_cutter *c, const struct ux_code_function *f)
{
	uint64_t cost = f->inline_count;
	for (uint32_t i = 0; i < f->inline_count; i++)
		cost += c->unit->inlines[f->inline_first + i].range_count;
	return cost;
}

/* Cuts the rows and inlined calls of one range; visiting the calls costs `steps`. A function that
 * is over the budget, or that another unit has claimed, has only its name. */
static bool cutter_cut_content(struct ux_unit_cutter *c, const struct ux_code_function *f,
			       uint64_t steps, uint64_t lo, uint64_t hi)
{
	c->rows.size = c->inlines.size = c->ranges.size = 0;
	if (f->skipped || !ux_budget_charge(&c->left.steps, 1 + steps))
		return true;
	c->cut_short = false;
	if (!ux_unit_rows_cut(c, f, lo, hi))
		return false;
	if (c->cut_short || !ux_budget_try(&c->left.kept, c->rows.size)) {
		c->rows.size = 0;
		return true;
	}
	if (!ux_unit_calls_cut(c, f, lo, hi))
		return false;
	if (!ux_budget_try(&c->left.kept, (uint64_t)c->inlines.size + c->ranges.size))
		c->inlines.size = c->ranges.size = 0;
	return true;
}

static bool cutter_cut_function(struct ux_unit_cutter *c, uint32_t unit,
				const struct ux_code_function *f)
{
	const struct ux_code_unit *u = c->unit;
	uint64_t steps = cutter_calls_cost(c, f);
	bool named = f->name != UX_CODE_NO_NAME;
	for (uint32_t i = 0; i < f->range_count; i++) {
		struct ux_range r = u->ranges[f->range_first + i];
		r.hi = cutter_record_end(r.lo, r.hi);
		if (!ux_budget_charge(&c->left.pieces, 1))
			return true;
		if (!cutter_cut_content(c, f, steps, r.lo, r.hi) ||
		    !cutter_add_piece(
			    c, &c->functions,
			    (struct ux_piece){.start = r.lo,
					      .size = (uint32_t)(r.hi - r.lo),
					      .unit = unit,
					      .name = named ? u->names[f->name] : NULL,
					      .own = named && u->own ? u->own[f->name] : 0,
					      .part = i > 0}))
			return false;
		if (c->claims && c->rows.size > 0)
			ux_claims_add(c->claims, unit, r.lo, (uint32_t)(r.hi - r.lo));
	}
	return true;
}

enum {
	SYMBOLS_CHECKED = 8
};

/*
 * Returns true when a symbol overlaps [lo, hi); only then are rows there useful. Of the symbols
 * that begin before lo only a few are checked, since a symbol that begins before many others hardly
 * ever reaches lo.
 */
static bool cutter_symbol_reaches(const struct ux_unit_cutter *c, uint64_t lo, uint64_t hi)
{
	const struct ux_code_symbol_vec *all = c->symbols->symbols;
	const struct ux_code_symbol *first = all->data;
	const struct ux_code_symbol *s = ux_code_symbol_index_from(c->symbols, lo);
	if (s && s->start < hi)
		return true;
	s = s ? s : ux_code_symbol_vec_end(all);
	for (int i = 0; i < SYMBOLS_CHECKED && s > first; i++, s--) {
		if (s[-1].size > lo - s[-1].start)
			return true;
	}
	return false;
}

static bool cutter_cut_gap(struct ux_unit_cutter *c, uint32_t unit,
			   const struct ux_code_sequence *s, uint64_t lo, uint64_t hi)
{
	if (lo >= hi)
		return true;
	hi = cutter_record_end(lo, hi);
	if (!cutter_symbol_reaches(c, lo, hi))
		return true;
	c->rows.size = c->inlines.size = c->ranges.size = 0;
	c->cut_short = false;
	if (!ux_unit_rows_add(c, s, lo, lo, hi))
		return false;
	if (c->cut_short || !ux_budget_try(&c->left.kept, c->rows.size))
		return true;
	struct ux_piece gap = {.start = lo, .size = (uint32_t)(hi - lo), .unit = unit};
	return cutter_add_piece(c, &c->gaps, gap);
}

static int cutter_compare_ranges(const void *a, const void *b)
{
	const struct ux_range *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

/* Cuts the rows outside of all functions, for symbols that have no function. */
static bool cutter_cut_gaps(struct ux_unit_cutter *c, uint32_t unit)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec taken = {0};
	for (size_t i = 0; i < c->functions.size; i++) {
		const struct ux_piece *p = &c->functions.data[i];
		if (!ux_range_vec_append(&taken, (struct ux_range){p->start, ux_piece_end(p)}))
			return false;
	}
	if (taken.size > 1)
		qsort(taken.data, taken.size, sizeof(*taken.data), cutter_compare_ranges);
	size_t next = 0;
	for (size_t i = 0; i < c->unit->lines.n_sequences; i++) {
		const struct ux_code_sequence *s = &c->unit->lines.sequences[i];
		uint64_t lo = s->lo;
		while (next > 0 && taken.data[next - 1].hi > lo)
			next--; /* sequences may overlap, so that an earlier function may be in this
				   one, too */
		for (; next < taken.size && taken.data[next].lo < s->hi; next++) {
			if (!cutter_cut_gap(c, unit, s, lo, taken.data[next].lo))
				return false;
			lo = ux_max(lo, taken.data[next].hi);
		}
		if (!cutter_cut_gap(c, unit, s, lo, s->hi))
			return false;
	}
	return true;
}

/* Adds the unit's allowance to the budgets. A line table counts only for the first of the units
 * that share it. */
static void cutter_add_allowance(struct ux_unit_cutter *c)
{
	const struct ux_code_unit *u = c->unit;
	bool fresh = u->table != UX_CODE_NO_TABLE && u->table >= c->tables_seen;
	uint64_t rows = fresh ? u->lines.n_rows : 0, bytes = u->size;
	uint64_t calls = u->n_inlines, ranges = u->n_ranges;
	if (fresh) {
		/* Each row takes at least one byte of the table. */
		c->tables_seen = u->table + ux_max(rows, (uint64_t)1);
		ux_budget_allow(&c->left.text,
				UX_CUT_TEXT_EACH * ux_min((uint64_t)u->n_files, bytes));
	}
	/* Otherwise each batch could have all rows of the same table several times. */
	uint64_t all = rows;
	rows = ux_min(rows, UX_CUT_ROWS_PER_BYTE * bytes);
	ux_budget_allow(&c->left.text, UX_CUT_TEXT_BYTE * bytes);
	ux_budget_allow(&c->left.overlap,
			UX_CUT_OVERLAP_EACH * calls + UX_CUT_OVERLAP_BYTE * bytes);
	ux_budget_allow(&c->left.steps, UX_CUT_STEPS_EACH * (rows + calls + ranges) +
						UX_CUT_STEPS_BYTE * bytes +
						UX_CUT_STEPS_REST * (all - rows));
	ux_budget_allow(&c->left.kept, UX_CUT_KEPT_EACH * (rows + calls) +
					       UX_CUT_KEPT_RANGE * ranges +
					       UX_CUT_KEPT_BYTE * bytes + (all - rows));
	c->left.pieces.left = UX_CUT_PIECES_FREE + bytes / UX_CUT_PIECES_PER_BYTES;
}

static void cutter_clear_exceeded(struct ux_cut_budgets *left)
{
	left->steps.exceeded = left->kept.exceeded = left->text.exceeded = false;
	left->pieces.exceeded = false;
}

static bool cutter_any_exceeded(const struct ux_cut_budgets *left)
{
	return left->steps.exceeded || left->kept.exceeded || left->text.exceeded ||
	       left->pieces.exceeded;
}

static bool cutter_cut_all(struct ux_unit_cutter *c, uint32_t unit)
{
	uint64_t table = c->unit->table;
	c->functions.size = c->gaps.size = 0;
	cutter_clear_exceeded(&c->left);
	cutter_add_allowance(c);
	if (!ux_unit_files_begin(c))
		return false;
	for (size_t i = 0; i < c->unit->n_functions; i++) {
		if (!cutter_cut_function(c, unit, &c->unit->functions[i]))
			return false;
	}
	if (table == UX_CODE_NO_TABLE || (c->gaps_done && c->gaps_of == table))
		return true;
	c->gaps_done = true;
	c->gaps_of = table;
	return cutter_cut_gaps(c, unit);
}

void ux_unit_cutter_begin(struct ux_unit_cutter *c, bool first)
{
	c->gaps_done = false;
	c->tables_seen = 0;
	c->left = (struct ux_cut_budgets){0};
	if (!first)
		return;
	ux_budget_allow(&c->left.steps, UX_CUT_STEPS_FREE);
	ux_budget_allow(&c->left.overlap, UX_CUT_OVERLAP_FREE);
	ux_budget_allow(&c->left.kept, UX_CUT_KEPT_FREE);
	ux_budget_allow(&c->left.text, UX_CUT_TEXT_FREE);
}

enum ux_code ux_unit_cut(struct ux_unit_cutter *c, uint32_t number, const struct ux_code_unit *unit,
			 struct ux_unit_pieces *ret, struct ux_error *err)
{
	c->unit = unit;
	if (!cutter_cut_all(c, number))
		return ux_error_nomem(err);
	if (!KEEP(c->arena, c->functions.data, c->functions.size, &ret->functions) ||
	    !KEEP(c->arena, c->gaps.data, c->gaps.size, &ret->lines) ||
	    !KEEP(c->arena, unit->names, unit->n_names, &ret->names) ||
	    !KEEP(c->arena, c->files.data, c->files.size, &ret->files))
		return ux_arena_fail(c->arena, err);
	ret->n_functions = (uint32_t)c->functions.size;
	ret->n_lines = (uint32_t)c->gaps.size;
	ret->n_names = (uint32_t)unit->n_names;
	ret->n_files = (uint32_t)c->files.size;
	ret->note = unit->note;
	if (!cutter_any_exceeded(&c->left))
		return UX_OK;
	struct ux_error reason = UX_ERROR_INIT;
	(void)ux_error_at(
		&reason, UX_ELIMIT, unit->section, unit->off,
		"functions of the unit overlap too often, or paths are too long; some are left "
		"out");
	ux_code_damage_add(&ret->damage, &reason);
	return UX_OK;
}
