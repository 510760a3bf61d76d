/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the line tables of a cubin as units of code. */
#include "extract_cubin.h"

#include "cubin_line.h"
#include "order.h"
#include "partition.h"

/* --- functions of a cubin: each address belongs to the innermost one -------------------------- */

/* A range that belongs to one function only. */
struct cubin_part {
	uint64_t lo, hi;
	const struct ux_code_symbol *symbol;
};

UX_VEC(cubin_part_vec, struct cubin_part);

/* A zeroed struct is empty. */
struct cubin_parts {
	struct cubin_part_vec list; /* sorted, disjoint */
	uint32_t *later; /* malloc'ed: for each part its own index, or a later one when it has
			    lines; one more entry at the end */
};

/* The range of a symbol. `rank` is its index among the sorted symbols, the best one first. */
struct symbol_span {
	uint64_t lo, hi;
	size_t rank;
	const struct ux_code_symbol *symbol;
};

UX_VEC(span_vec, struct symbol_span);

static int span_compare(const void *x, const void *y)
{
	const struct symbol_span *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(b->hi, a->hi);
	UX_ORDER(a->rank, b->rank);
	return 0;
}

static bool cubin_spans_make(const struct ux_code_symbol_vec *symbols, struct span_vec *out)
{
	for (size_t i = 0; i < symbols->size; i++) {
		const struct ux_code_symbol *s = &symbols->data[i];
		struct symbol_span c = {s->start, s->start + s->size, i, s};
		if (c.lo < c.hi && !span_vec_append(out, c))
			return false;
	}
	if (out->size > 1)
		qsort(out->data, out->size, sizeof(*out->data), span_compare);
	return true;
}

/* Appends the part [*pos, hi) of span c. Returns false when memory is short. */
static bool cubin_parts_append(struct cubin_part_vec *list, uint64_t *pos, uint64_t hi,
			       const struct symbol_span *c)
{
	struct cubin_part part = {*pos, hi, c->symbol};
	if (*pos >= hi)
		return true;
	*pos = hi;
	return cubin_part_vec_append(list, part);
}

/* Cuts the spans into parts. `open` has the spans that contain the current address, the innermost
 * last. */
static bool cubin_parts_cut(const struct span_vec *spans, struct span_vec *open,
			    struct cubin_part_vec *list)
{
	uint64_t pos = 0;
	for (size_t i = 0; i <= spans->size; i++) {
		const struct symbol_span *c = i < spans->size ? &spans->data[i] : NULL;
		uint64_t lo = c ? c->lo : UINT64_MAX;
		for (; open->size > 0 && open->data[open->size - 1].hi <= lo; open->size--)
			if (!cubin_parts_append(list, &pos, open->data[open->size - 1].hi,
						&open->data[open->size - 1]))
				return false;
		if (!c)
			break;
		const struct symbol_span *top = open->size > 0 ? &open->data[open->size - 1] : NULL;
		if (top && top->lo == c->lo && top->hi == c->hi)
			continue; /* another name of the same range */
		if (top && !cubin_parts_append(list, &pos, lo, top))
			return false;
		pos = ux_max(pos, lo);
		if (!span_vec_append(open, *c))
			return false;
	}
	return true;
}

static void cubin_parts_deinit(struct cubin_parts *parts)
{
	cubin_part_vec_deinit(&parts->list);
	free(parts->later);
	*parts = (struct cubin_parts){0};
}

/*
 * Cuts the ranges of the symbols, which are sorted, into disjoint parts. Where symbols overlap, the
 * addresses belong to the one that begins later, and then to the shorter one. A kernel with a
 * function inside of it becomes two or more parts.
 */
static enum ux_code cubin_parts_make(const struct ux_code_symbol_vec *symbols,
				     struct cubin_parts *ret, struct ux_error *err)
{
	ux_cleanup(span_vec_deinit) struct span_vec spans = {0}, open = {0};
	ux_cleanup(cubin_parts_deinit) struct cubin_parts made = {0};
	if (!cubin_spans_make(symbols, &spans) || !cubin_parts_cut(&spans, &open, &made.list))
		return ux_error_nomem(err);
	made.later = calloc(made.list.size + 1, sizeof(*made.later));
	if (!made.later)
		return ux_error_nomem(err);
	for (size_t i = 0; i <= made.list.size; i++)
		made.later[i] = (uint32_t)i;
	*ret = made;
	made = (struct cubin_parts){0};
	return UX_OK;
}

/* Returns the first part from index i on that has no lines yet; the number of parts if all have
 * lines. Skipping thousands of parts is cheap, since paths are compressed. */
static size_t cubin_parts_next_open(struct cubin_parts *parts, size_t i)
{
	assert(i <= parts->list.size);
	uint32_t *later = parts->later;
	while (later[i] != i) {
		later[i] = later[later[i]]; /* path halving */
		i = later[i];
	}
	return i;
}

/* Returns the first part that ends after pc. */
static size_t cubin_parts_find(const struct cubin_parts *parts, uint64_t pc)
{
	return ux_partition_point(i, 0, parts->list.size, parts->list.data[i].hi <= pc);
}

/* Marks part i as having lines. */
static void cubin_parts_done(struct cubin_parts *parts, size_t i)
{
	assert(i < parts->list.size);
	parts->later[i] = (uint32_t)i + 1;
}

/* Marks the parts that begin where a function with lines of the collection begins. */
static void cubin_parts_done_by(struct cubin_parts *parts, const struct ux_collection *all)
{
	for (size_t u = 0; u < all->n_units; u++) {
		const struct ux_unit_pieces *unit = &all->units[u];
		for (uint32_t k = 0; k < unit->n_functions; k++) {
			const struct ux_piece *p = &unit->functions[k];
			size_t i = cubin_parts_find(parts, p->start);
			if (p->draft.n_rows > 0 && i < parts->list.size &&
			    parts->list.data[i].lo == p->start)
				cubin_parts_done(parts, i);
		}
	}
}

/* --- one line table --------------------------------------------------------------------------- */

/* The start of a row. Of several rows at one pc the last one is in effect. */
struct row_start {
	uint64_t pc;
	uint32_t row; /* index in the sequence */
};

UX_VEC(row_start_vec, struct row_start);
UX_VEC(cubin_name_vec, const char *);

static uint64_t name_hash(uint32_t v)
{
	return ux_hash_u64(v);
}

#define SAME(a, b) ((a) == (b))
UX_MAP(name_map, uint32_t, uint32_t, name_hash, SAME);

/* The reader of the line tables of one section. The vectors hold the current unit until the next
 * table is read. */
struct cubin_reader {
	struct ux_module_build *build;
	const struct ux_dwarf_sections *sections;
	struct cubin_parts parts;
	struct ux_cubin_lines table;
	struct ux_cubin_calls calls;
	struct row_start_vec starts; /* starts of the rows of one sequence */
	struct name_map numbers;     /* names of inlined functions, by offset in .debug_str */
	struct cubin_name_vec names;
	struct ux_code_function_vec functions;
	struct ux_code_inline_vec inlines;
	struct ux_range_vec ranges;
	struct ux_code_row_vec rows;
	struct ux_code_sequence_vec sequences;
	enum ux_source source; /* UX_SOURCE_DWARF or UX_SOURCE_PTX */
	struct ux_bytes bytes; /* contents of the section */
	const char *section;   /* the section's name */
	struct ux_cur cur;     /* after the current table */
	uint64_t off;          /* offset of the current table */
	uint64_t origin; /* added to tables' offsets, which makes them unique across sections */
};

enum {
	NOTE_UNIT = 1, /* the unit has functions (ux_code_unit.note) */
};

static void cubin_reader_deinit(struct cubin_reader *m)
{
	cubin_parts_deinit(&m->parts);
	ux_cubin_lines_deinit(&m->table);
	ux_cubin_calls_deinit(&m->calls);
	row_start_vec_deinit(&m->starts);
	name_map_deinit(&m->numbers);
	cubin_name_vec_deinit(&m->names);
	ux_code_function_vec_deinit(&m->functions);
	ux_code_inline_vec_deinit(&m->inlines);
	ux_range_vec_deinit(&m->ranges);
	ux_code_row_vec_deinit(&m->rows);
	ux_code_sequence_vec_deinit(&m->sequences);
}

static bool cubin_add_name(struct cubin_reader *m, const char *text, uint32_t *ret)
{
	*ret = (uint32_t)m->names.size;
	return cubin_name_vec_append(&m->names, text);
}

/* Sets *ret to the number of an inlined function's name. */
static bool cubin_name_number(struct cubin_reader *m, uint32_t off, uint32_t *ret)
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
		else if (!cubin_add_name(m, text, slot))
			return false;
	}
	*ret = *slot;
	return true;
}

static int row_start_compare(const void *x, const void *y)
{
	const struct row_start *a = x, *b = y;
	UX_ORDER(a->pc, b->pc);
	UX_ORDER(a->row, b->row);
	return 0;
}

/* Collects the rows of s that are in effect for some address, sorted by pc. */
static bool cubin_order_rows(struct cubin_reader *m, const struct ux_cubin_sequence *s)
{
	const struct ux_cubin_row *rows = m->table.rows.data + s->first;
	struct row_start_vec *p = &m->starts;
	bool sorted = true;
	p->size = 0;
	for (uint32_t i = 0; i < s->count; i++) {
		sorted &= i == 0 || rows[i].pc >= rows[i - 1].pc;
		if (!row_start_vec_append(p, (struct row_start){rows[i].pc, i}))
			return false;
	}
	if (!sorted)
		qsort(p->data, p->size, sizeof(*p->data), row_start_compare);
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

/* Adds the sequence's rows to the unit. */
static bool cubin_add_rows(struct cubin_reader *m, const struct ux_cubin_sequence *s)
{
	const struct ux_cubin_row *rows = m->table.rows.data + s->first;
	struct ux_code_sequence made = {
		.lo = s->lo,
		.hi = s->hi,
		.first = (uint32_t)m->rows.size,
		.count = (uint32_t)m->starts.size,
		.off = m->sequences.size,
	};
	for (size_t i = 0; i < m->starts.size; i++) {
		const struct ux_cubin_row *r = &rows[m->starts.data[i].row];
		if (!ux_code_row_vec_append(&m->rows,
					    (struct ux_code_row){r->pc, r->file, r->line}))
			return false;
	}
	return ux_code_sequence_vec_append(&m->sequences, made);
}

/* Adds the ranges of a call of the tree. */
static bool cubin_add_ranges(struct cubin_reader *m, const struct ux_cubin_call *call,
			     uint32_t *ret_n)
{
	*ret_n = 0;
	for (uint32_t at = call->range; at != 0; at = m->calls.ranges.data[at].next) {
		const struct ux_cubin_call_range *r = &m->calls.ranges.data[at];
		if (!ux_range_vec_append(&m->ranges, (struct ux_range){r->lo, r->hi}))
			return false;
		++*ret_n;
	}
	return true;
}

/* Adds the tree at calls.root as inlined calls of the last function. */
static bool cubin_add_calls(struct cubin_reader *m)
{
	for (uint32_t at = m->calls.root; (at = ux_cubin_calls_next(&m->calls, at)) != 0;) {
		const struct ux_cubin_call *call = &m->calls.calls.data[at];
		struct ux_code_inline made = {
			.call_file = call->key.file,
			.call_line = call->key.line,
			.depth = call->depth,
			.range_first = (uint32_t)m->ranges.size,
		};
		if (!cubin_name_number(m, call->key.name, &made.name) ||
		    !cubin_add_ranges(m, call, &made.range_count) ||
		    !ux_code_inline_vec_append(&m->inlines, made))
			return false;
	}
	return true;
}

/* Returns the index of the row in effect at pc, which must lie in the sequence. */
static size_t row_start_find(const struct row_start_vec *starts, uint64_t pc)
{
	assert(starts->size > 0);
	return ux_partition_point(i, 1, starts->size, starts->data[i].pc <= pc) - 1;
}

/* Adds the inlined calls of the part to the tree, as far as the sequence covers it. */
static bool cubin_grow_tree(struct cubin_reader *m, const struct ux_cubin_sequence *s,
			    const struct cubin_part *part)
{
	const struct row_start_vec *p = &m->starts;
	uint64_t lo = ux_max(part->lo, s->lo), hi = ux_min(part->hi, s->hi);
	if (!ux_cubin_calls_root(&m->calls))
		return false;
	for (size_t i = row_start_find(p, lo); i < p->size && p->data[i].pc < hi; i++) {
		uint64_t from = ux_max(p->data[i].pc, lo);
		uint64_t to = i + 1 < p->size ? ux_min(p->data[i + 1].pc, hi) : hi;
		if (!ux_cubin_calls_add(&m->calls, &m->table, s, p->data[i].row, from, to))
			return false;
	}
	return true;
}

static bool cubin_add_function(struct cubin_reader *m, const struct ux_cubin_sequence *s,
			       const struct cubin_part *part)
{
	struct ux_code_function f = {
		.sequence = UX_CODE_NO_SEQUENCE,
		.range_first = (uint32_t)m->ranges.size,
		.range_count = 1,
		.inline_first = (uint32_t)m->inlines.size,
	};
	if (!cubin_add_name(m, part->symbol->name, &f.name) ||
	    !ux_range_vec_append(&m->ranges, (struct ux_range){part->lo, part->hi}) ||
	    !cubin_grow_tree(m, s, part) || !cubin_add_calls(m))
		return false;
	f.inline_count = (uint32_t)m->inlines.size - f.inline_first;
	return ux_code_function_vec_append(&m->functions, f);
}

/* Adds the functions for which the sequence has lines and no earlier sequence had. */
static bool cubin_add_functions(struct cubin_reader *m, const struct ux_cubin_sequence *s)
{
	struct cubin_parts *parts = &m->parts;
	bool begun = false;
	size_t i = cubin_parts_next_open(parts, cubin_parts_find(parts, s->lo));
	for (; i < parts->list.size && parts->list.data[i].lo < s->hi;
	     i = cubin_parts_next_open(parts, i + 1)) {
		if (!begun && (!cubin_order_rows(m, s) || !cubin_add_rows(m, s)))
			return false;
		begun = true;
		if (!cubin_add_function(m, s, &parts->list.data[i]))
			return false;
		cubin_parts_done(parts, i);
	}
	return true;
}

/* Empties the current unit. */
static bool cubin_begin_unit(struct cubin_reader *m)
{
	m->rows.size = m->sequences.size = m->names.size = 0;
	m->functions.size = m->inlines.size = m->ranges.size = 0;
	name_map_deinit(&m->numbers);
	return ux_cubin_calls_begin(&m->calls, m->table.rows.size);
}

static int cubin_sequence_compare(const void *x, const void *y)
{
	const struct ux_cubin_sequence *a = x, *b = y;
	UX_ORDER(a->lo, b->lo);
	UX_ORDER(a->first, b->first);
	return 0;
}

/* Keeps only the sequences that begin in text, and cuts them at the end of their section. nvlink
 * leaves sequences of functions that it dropped at address 0. */
static void cubin_drop_unplaced(struct cubin_reader *m)
{
	struct ux_range_set text = ux_module_build_text(m->build);
	struct ux_cubin_sequence_vec *all = &m->table.sequences;
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

/* Makes a unit of the table. There is one sequence for each code section; of sequences that
 * overlap, the one that begins first is used. */
static bool cubin_fill_unit(struct cubin_reader *m)
{
	struct ux_cubin_sequence_vec *all = &m->table.sequences;
	uint64_t covered = 0;
	cubin_drop_unplaced(m);
	if (!cubin_begin_unit(m))
		return false;
	if (all->size > 1)
		qsort(all->data, all->size, sizeof(*all->data), cubin_sequence_compare);
	for (size_t i = 0; i < all->size; i++) {
		if (all->data[i].lo < covered)
			continue;
		covered = all->data[i].hi;
		if (!cubin_add_functions(m, &all->data[i]))
			return false;
	}
	return true;
}

/* Rows for PTX have file 0, and their tables have no file names. This adds the one file. */
static bool cubin_name_ptx(struct ux_cubin_lines *lines)
{
	if (lines->files.size > 0)
		return true;
	for (size_t i = 0; i < lines->rows.size; i++)
		lines->rows.data[i].file = 1;
	return ux_cubin_file_vec_append(&lines->files,
					(struct ux_cubin_file){.name = UX_CUBIN_PTX_FILE});
}

/* Reads the next table. Damage costs the rest of the table. */
static enum ux_code cubin_reader_open(void *ctx, const struct ux_code_request *request,
				      bool *ret_open, uint64_t *ret_cost, struct ux_error *err)
{
	struct cubin_reader *m = ctx;
	struct ux_extract_stats *stats = &m->build->stats;
	struct ux_error reason = UX_ERROR_INIT;
	(void)request;
	*ret_cost = 0;
	m->off = m->origin + ux_cur_off(&m->cur);
	enum ux_code code = ux_cubin_lines_read(&m->cur, &m->table, &reason);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		ux_module_build_bad_unit(m->build, &reason);
	if (m->source == UX_SOURCE_PTX && !cubin_name_ptx(&m->table))
		return ux_error_nomem(err);
	if (!cubin_fill_unit(m))
		return ux_error_nomem(err);
	*ret_open = m->functions.size > 0;
	if (*ret_open && m->source == UX_SOURCE_DWARF && stats->dwarf_version == 0)
		stats->dwarf_version = m->table.version;
	return UX_OK;
}

static bool cubin_path(const void *ctx, uint32_t file, struct ux_code_path *ret,
		       uint16_t *ret_column)
{
	(void)ret_column;
	const struct cubin_reader *m = ctx;
	if (file == 0 || file > m->table.files.size || !m->table.files.data[file - 1].name)
		return false;
	const struct ux_cubin_file *f = &m->table.files.data[file - 1];
	*ret = (struct ux_code_path){
		.dir = f->dir - 1 < m->table.dirs.size ? m->table.dirs.data[f->dir - 1] : NULL,
		.name = f->name,
	};
	return true;
}

static enum ux_code cubin_reader_read(void *ctx, const struct ux_code_request *request,
				      struct ux_code_unit *ret, struct ux_error *err)
{
	struct cubin_reader *m = ctx;
	(void)err;
	if (m->calls.steps.exceeded || m->calls.room.exceeded) {
		struct ux_error reason = UX_ERROR_INIT;
		(void)ux_error_at(
			&reason, UX_ELIMIT, ".debug_line", m->off,
			"inlined calls are nested too deeply, or paths are too long; some are "
			"left out");
		ux_code_damage_add(request->damage, &reason);
	}
	*ret = (struct ux_code_unit){
		.functions = m->functions.data,
		.n_functions = m->functions.size,
		.inlines = m->inlines.data,
		.n_inlines = m->inlines.size,
		.ranges = m->ranges.data,
		.n_ranges = m->ranges.size,
		.names = m->names.data,
		.n_names = m->names.size,
		.lines = {.rows = m->rows.data,
			  .n_rows = m->rows.size,
			  .sequences = m->sequences.data,
			  .n_sequences = m->sequences.size},
		.table = m->off,
		.path = cubin_path,
		.path_ctx = m,
		.n_files = m->table.files.size,
		.size = m->table.size,
		.section = ".debug_line",
		.off = m->off,
		.note = NOTE_UNIT,
	};
	return UX_OK;
}

static uint64_t cubin_reader_weigh(void *ctx, uint32_t wave, uint32_t unit)
{
	(void)wave;
	(void)ctx;
	(void)unit;
	return 1; /* all units are in one batch */
}

static uint32_t cubin_count_tables(const struct cubin_reader *m)
{
	struct ux_cur c = m->cur;
	uint32_t n = 0;
	for (; ux_cur_more(&c); n++)
		ux_cubin_lines_skip(&c);
	return n;
}

/* Removes the units without functions. */
static void cubin_drop_empty(struct ux_collection *all)
{
	size_t kept = 0;
	for (size_t u = 0; u < all->n_units; u++) {
		struct ux_unit_pieces unit = all->units[u];
		if (unit.note != NOTE_UNIT)
			continue;
		unit.note = 0;
		for (uint32_t i = 0; i < unit.n_functions; i++)
			unit.functions[i].unit = (uint32_t)kept;
		for (uint32_t i = 0; i < unit.n_lines; i++)
			unit.lines[i].unit = (uint32_t)kept;
		all->units[kept++] = unit;
	}
	all->n_units = kept;
}

static enum ux_code cubin_collect(struct cubin_reader *m, struct ux_error *err)
{
	struct ux_module_build *b = m->build;
	ux_cleanup(ux_collection_free) struct ux_collection made = {0};
	m->cur = ux_cur_make(m->bytes, m->section, m->sections->swap);
	struct ux_code_reader reader = {
		.ctx = m,
		.workers = 1,
		.n_units = cubin_count_tables(m),
		.ordered = true,
		.rows_max = UINT64_MAX,
		.weigh = cubin_reader_weigh,
		.open = cubin_reader_open,
		.read = cubin_reader_read,
	};
	struct ux_collect_options options = {
		.symbols = &b->symbols, .threads = 1, .spill = b->spill};
	UX_TRY(cubin_parts_make(&b->symbols, &m->parts, err));
	cubin_parts_done_by(&m->parts, &b->collection);
	UX_TRY(ux_collect_units(&reader, &options, &made, err));
	cubin_drop_empty(&made);
	for (size_t i = 0; i < made.n_units; i++)
		b->stats.found[m->source] += made.units[i].n_functions;
	return ux_module_build_add_collection(b, &made, err);
}

enum ux_code ux_cubin_units_add(struct ux_module_build *build,
				const struct ux_dwarf_sections *sections, struct ux_error *err)
{
	ux_cleanup(cubin_reader_deinit) struct cubin_reader m = {
		.build = build,
		.sections = sections,
		.source = UX_SOURCE_DWARF,
		.bytes = sections->data[UX_DWARF_LINE],
		.section = ".debug_line",
	};
	return cubin_collect(&m, err);
}

enum ux_code ux_cubin_units_add_ptx(struct ux_module_build *build,
				    const struct ux_dwarf_sections *sections, struct ux_bytes ptx,
				    struct ux_error *err)
{
	ux_cleanup(cubin_reader_deinit) struct cubin_reader m = {
		.build = build,
		.sections = sections,
		.source = UX_SOURCE_PTX,
		.bytes = ptx,
		.section = ".nv_debug_line_sass",
		.origin = sections->data[UX_DWARF_LINE].size,
	};
	return cubin_collect(&m, err);
}
