/* SPDX-License-Identifier: Apache-2.0 */
/* The line tables of a cubin as units. */
#include "cubin_units.h"

#include "cubin_calls.h"
#include "cubin_parts.h"
#include "order.h"
#include "unit_cutter.h"

/* Where a row begins; of several at one pc the last is in force. */
struct place {
	uint64_t pc;
	uint32_t row; /* of its sequence */
};

UX_VEC(place_vec, struct place);
UX_VEC(unit_vec, struct ux_unit_pieces);

static uint64_t identity(uint32_t v)
{
	return ux_hash_u64(v);
}

#define SAME(a, b) ((a) == (b))
UX_MAP(name_map, uint32_t, uint32_t, identity, SAME);

/* Tables on their way to units; released whole. */
struct maker {
	struct ux_module_build *build;
	const struct ux_dwarf_sections *sections;
	struct ux_cubin_parts parts;
	struct ux_cubin_lines lines;
	struct ux_cubin_calls calls;
	struct place_vec places; /* of one sequence */
	struct name_map numbers; /* of inlined functions: by their place in .debug_str */
	struct ux_dwarf_names names;
	struct ux_unit_cutter cutter;
	struct unit_vec units;
	enum ux_source source; /* UX_SOURCE_DWARF or UX_SOURCE_PTX */
	struct ux_bytes table; /* the section */
	uint64_t origin;       /* of its tables' places, so that no two tables share one */
};

static void maker_deinit(struct maker *m)
{
	ux_cubin_parts_deinit(&m->parts);
	ux_cubin_lines_deinit(&m->lines);
	ux_cubin_calls_deinit(&m->calls);
	place_vec_deinit(&m->places);
	name_map_deinit(&m->numbers);
	ux_dwarf_names_deinit(&m->names);
	ux_unit_cutter_deinit(&m->cutter);
	unit_vec_deinit(&m->units);
}

static bool add_name(struct maker *m, const char *text, uint32_t *ret)
{
	*ret = (uint32_t)m->names.list.size;
	return ux_dwarf_text_vec_append(&m->names.list, text) &&
	       ux_dwarf_own_vec_append(&m->names.own, 0);
}

/* The number of an inlined function's name. */
static bool number_of(struct maker *m, uint32_t off, uint32_t *ret)
{
	bool fresh = false;
	uint32_t *slot = name_map_insert(&m->numbers, off, &fresh);
	if (!slot)
		return false;
	if (fresh) {
		const char *text = off != UX_CUBIN_NO_NAME
					   ? ux_dwarf_text_at(m->sections, UX_DWARF_STR, off)
					   : NULL;
		if (!text)
			*slot = UX_CODE_NO_NAME;
		else if (!add_name(m, text, slot))
			return false;
	}
	*ret = *slot;
	return true;
}

static int by_pc(const void *x, const void *y)
{
	const struct place *a = x, *b = y;
	UX_ORDER(a->pc, b->pc);
	UX_ORDER(a->row, b->row);
	return 0;
}

/* The rows of s that are in force somewhere, by pc. */
static bool order_rows(struct maker *m, const struct ux_cubin_sequence *s)
{
	const struct ux_cubin_row *rows = m->lines.rows.data + s->first;
	struct place_vec *p = &m->places;
	bool sorted = true;
	p->size = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		sorted &= i == 0 || rows[i].pc >= rows[i - 1].pc;
		if (!place_vec_append(p, (struct place){rows[i].pc, i}))
			return false;
	}
	if (!sorted)
		qsort(p->data, p->size, sizeof(*p->data), by_pc);
	size_t kept = 0;
	for (size_t i = 0; i < p->size; i++) {
		if (kept > 0 && p->data[kept - 1].pc == p->data[i].pc)
			kept--;
		if (p->data[i].pc < s->hi)
			p->data[kept++] = p->data[i];
	}
	p->size = kept;
	return true;
}

/* The sequence's rows for the cutter. */
static bool give_rows(struct maker *m, const struct ux_cubin_sequence *s)
{
	struct ux_dwarf_lines *out = &m->cutter.lines;
	const struct ux_cubin_row *rows = m->lines.rows.data + s->first;
	struct ux_code_sequence made = {
		.lo = s->lo,
		.hi = s->hi,
		.first = (uint32_t)out->rows.size,
		.count = (uint32_t)m->places.size,
		.off = out->sequences.size,
	};
	for (size_t i = 0; i < m->places.size; i++) {
		const struct ux_cubin_row *r = &rows[m->places.data[i].row];
		if (!ux_code_row_vec_append(&out->rows,
					    (struct ux_code_row){r->pc, r->file, r->line}))
			return false;
	}
	return ux_code_sequence_vec_append(&out->sequences, made);
}

/* The ranges of a call in the tree. */
static bool give_ranges(struct maker *m, const struct ux_cubin_call *call, uint32_t *ret_n)
{
	*ret_n = 0;
	for (uint32_t at = call->range; at != 0; at = m->calls.ranges.data[at].next) {
		const struct ux_cubin_call_range *r = &m->calls.ranges.data[at];
		if (!ux_range_vec_append(&m->cutter.code.ranges, (struct ux_range){r->lo, r->hi}))
			return false;
		++*ret_n;
	}
	return true;
}

/* The tree at calls.root as inlined calls of the last function. */
static bool give_calls(struct maker *m)
{
	struct ux_dwarf_code *code = &m->cutter.code;
	for (uint32_t at = m->calls.root; (at = ux_cubin_calls_next(&m->calls, at)) != 0;) {
		const struct ux_cubin_call *call = &m->calls.calls.data[at];
		struct ux_code_inline made = {
			.call_file = call->key.file,
			.call_line = call->key.line,
			.depth = call->depth,
			.range_first = (uint32_t)code->ranges.size,
		};
		if (!number_of(m, call->key.name, &made.name) ||
		    !give_ranges(m, call, &made.range_count) ||
		    !ux_code_inline_vec_append(&code->inlines, made))
			return false;
	}
	return true;
}

/* The row that is in force at pc, which lies in the sequence. */
static size_t place_at(const struct place_vec *places, uint64_t pc)
{
	size_t lo = 0, hi = places->size;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;
		if (places->data[mid].pc <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* The inlined calls of the part, as far as the sequence goes. */
static bool grow_tree(struct maker *m, const struct ux_cubin_sequence *s,
		      const struct ux_cubin_part *part)
{
	const struct place_vec *p = &m->places;
	uint64_t lo = ux_max(part->lo, s->lo), hi = ux_min(part->hi, s->hi);
	if (!ux_cubin_calls_root(&m->calls))
		return false;
	for (size_t i = place_at(p, lo); i < p->size && p->data[i].pc < hi; i++) {
		uint64_t from = ux_max(p->data[i].pc, lo);
		uint64_t to = i + 1 < p->size ? ux_min(p->data[i + 1].pc, hi) : hi;
		if (!ux_cubin_calls_add(&m->calls, &m->lines, s, p->data[i].row, from, to))
			return false;
	}
	return true;
}

static bool give_function(struct maker *m, const struct ux_cubin_sequence *s,
			  const struct ux_cubin_part *part)
{
	struct ux_dwarf_code *code = &m->cutter.code;
	struct ux_code_function f = {
		.sequence = UX_CODE_NO_SEQUENCE,
		.range_first = (uint32_t)code->ranges.size,
		.range_count = 1,
		.inline_first = (uint32_t)code->inlines.size,
	};
	if (!add_name(m, part->symbol->name, &f.name) ||
	    !ux_range_vec_append(&code->ranges, (struct ux_range){part->lo, part->hi}) ||
	    !grow_tree(m, s, part) || !give_calls(m))
		return false;
	f.inline_count = (uint32_t)code->inlines.size - f.inline_first;
	return ux_code_function_vec_append(&code->functions, f);
}

/* The functions that the sequence has lines of and no other had. */
static bool give_functions(struct maker *m, const struct ux_cubin_sequence *s)
{
	struct ux_cubin_parts *parts = &m->parts;
	bool begun = false;
	size_t i = ux_cubin_parts_untold(parts, ux_cubin_parts_find(parts, s->lo));
	for (; i < parts->list.size && parts->list.data[i].lo < s->hi;
	     i = ux_cubin_parts_untold(parts, i + 1)) {
		if (!begun && (!order_rows(m, s) || !give_rows(m, s)))
			return false;
		begun = true;
		if (!give_function(m, s, &parts->list.data[i]))
			return false;
		ux_cubin_parts_tell(parts, i);
	}
	return true;
}

/* Files and directories, and no rows yet. */
static bool begin_unit(struct maker *m, uint64_t off)
{
	struct ux_dwarf_code *code = &m->cutter.code;
	struct ux_dwarf_lines *out = &m->cutter.lines;
	out->rows.size = out->sequences.size = out->files.size = out->dirs.size = 0;
	code->functions.size = code->inlines.size = code->ranges.size = 0;
	code->bytes = m->lines.size;
	m->names.list.size = m->names.own.size = 0;
	name_map_deinit(&m->numbers);
	out->version = 2;
	out->source = (struct ux_dwarf_lines_source){.sections = m->sections, .off = off};
	for (size_t i = 0; i < m->lines.dirs.size; i++)
		if (!ux_dwarf_text_vec_append(&out->dirs, m->lines.dirs.data[i]))
			return false;
	for (size_t i = 0; i < m->lines.files.size; i++) {
		const struct ux_cubin_file *f = &m->lines.files.data[i];
		struct ux_dwarf_line_file file = {.name = f->name, .dir = f->dir};
		if (!ux_dwarf_line_file_vec_append(&out->files, file))
			return false;
	}
	return ux_cubin_calls_begin(&m->calls, m->lines.rows.size);
}

static int by_lo(const void *x, const void *y)
{
	const struct ux_cubin_sequence *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(a->first, b->first);
	return 0;
}

/*
 * Keeps the sequences that begin in text, cut at the end of their section. nvlink leaves those of
 * functions that it dropped, at address 0.
 */
static void keep_placed(struct maker *m)
{
	struct ux_range_set text = ux_module_build_text(m->build);
	struct ux_cubin_sequence_vec *all = &m->lines.sequences;
	size_t kept = 0;
	for (size_t i = 0; i < all->size; i++) {
		struct ux_cubin_sequence s = all->data[i];
		const struct ux_range *section = ux_range_set_find(&text, s.lo);
		if (!section)
			continue;
		s.hi = ux_min(s.hi, section->hi);
		all->data[kept++] = s;
	}
	all->size = kept;
}

/* Of sequences that overlap the one that begins first stays: there is one for each section of code.
 */
static bool fill_unit(struct maker *m, uint64_t off)
{
	struct ux_cubin_sequence_vec *all = &m->lines.sequences;
	uint64_t covered = 0;
	keep_placed(m);
	if (!begin_unit(m, off))
		return false;
	if (all->size > 1)
		qsort(all->data, all->size, sizeof(*all->data), by_lo);
	for (size_t i = 0; i < all->size; i++) {
		if (all->data[i].lo < covered)
			continue;
		covered = all->data[i].hi;
		if (!give_functions(m, &all->data[i]))
			return false;
	}
	return true;
}

static enum ux_code cut_unit(struct maker *m, uint64_t off, struct ux_error *err)
{
	struct ux_unit_pieces unit = {0};
	uint32_t number = (uint32_t)(m->build->collection.n_units + m->units.size);
	UX_TRY(ux_unit_cut(&m->cutter, number, &m->names, &unit, err));
	if (m->cutter.starved || m->calls.starved) {
		unit.bad = 1;
		(void)ux_error_at(&unit.reason, UX_ELIMIT, ".debug_line", off,
				  "inlined calls of the table are too deep, or its paths too long; "
				  "some is left out");
	}
	return unit_vec_append(&m->units, unit) ? UX_OK : ux_error_nomem(err);
}

/* Rows for PTX have file 0, and no table has names of files. */
static bool name_ptx(struct ux_cubin_lines *lines)
{
	if (lines->files.size > 0)
		return true;
	for (size_t i = 0; i < lines->rows.size; i++)
		lines->rows.data[i].file = 1;
	return ux_cubin_file_vec_append(&lines->files,
					(struct ux_cubin_file){.name = UX_CUBIN_PTX_FILE});
}

/* The table at c; damage costs what follows it in the table. */
static enum ux_code read_table(struct maker *m, struct ux_cur *c, struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	uint64_t off = m->origin + ux_cur_off(c);
	enum ux_code code = ux_cubin_lines_read(c, &m->lines, &reason);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		ux_module_build_bad(m->build, &reason);
	if (m->source == UX_SOURCE_PTX && !name_ptx(&m->lines))
		return ux_error_nomem(err);
	if (!fill_unit(m, off))
		return ux_error_nomem(err);
	if (m->cutter.code.functions.size == 0)
		return UX_OK;
	if (m->source == UX_SOURCE_DWARF && m->build->stats.dwarf_version == 0)
		m->build->stats.dwarf_version = m->lines.version;
	return cut_unit(m, off, err);
}

static enum ux_code add_units(struct maker *m, struct ux_error *err)
{
	struct ux_module_build *b = m->build;
	const char *section = m->source == UX_SOURCE_PTX ? ".nv_debug_line_sass" : ".debug_line";
	struct ux_cur c = ux_cur_make(m->table, section, m->sections->swap);
	UX_TRY(ux_cubin_parts_make(&b->symbols, &m->parts, err));
	ux_cubin_parts_tell_all(&m->parts, &b->collection);
	m->cutter.arena = &b->extra;
	m->cutter.symbols = &b->symbols;
	ux_unit_cutter_begin(&m->cutter, /* first= */ true);
	while (ux_cur_more(&c))
		UX_TRY(read_table(m, &c, err));
	for (size_t i = 0; i < m->units.size; i++)
		b->stats.found[m->source] += m->units.data[i].n_functions;
	return ux_module_build_add_units(b, m->units.data, m->units.size, err);
}

enum ux_code ux_cubin_units_add(struct ux_module_build *build,
				const struct ux_dwarf_sections *sections, struct ux_error *err)
{
	ux_cleanup(maker_deinit) struct maker m = {
		.build = build,
		.sections = sections,
		.source = UX_SOURCE_DWARF,
		.table = sections->data[UX_DWARF_LINE],
	};
	return add_units(&m, err);
}

enum ux_code ux_cubin_units_add_ptx(struct ux_module_build *build,
				    const struct ux_dwarf_sections *sections, struct ux_bytes ptx,
				    struct ux_error *err)
{
	ux_cleanup(maker_deinit) struct maker m = {
		.build = build,
		.sections = sections,
		.source = UX_SOURCE_PTX,
		.table = ptx,
		.origin = sections->data[UX_DWARF_LINE].size,
	};
	return add_units(&m, err);
}
