/* SPDX-License-Identifier: Apache-2.0 */
/* One unit's code and lines into pieces. */
#include "unit_cutter.h"

#include "source_path.h"

void ux_unit_cutter_deinit(struct ux_unit_cutter *c)
{
	ux_dwarf_code_deinit(&c->code);
	ux_dwarf_lines_deinit(&c->lines);
	ux_gsym_row_vec_deinit(&c->rows);
	ux_code_inline_vec_deinit(&c->inlines);
	ux_gsym_range_vec_deinit(&c->ranges);
	ux_number_vec_deinit(&c->file_numbers);
	ux_code_file_vec_deinit(&c->files);
	ux_open_call_vec_deinit(&c->open);
	ux_gsym_drafter_deinit(&c->drafter);
	ux_piece_vec_deinit(&c->functions);
	ux_piece_vec_deinit(&c->gaps);
}

/*
 * A scratch vector's content as an exact array in the arena: *(T **)ret, NULL when it is empty. The
 * arena hands out 4- or 8-byte places: most of what is kept are rows and ranges.
 */
static bool keep(struct ux_arena *arena, const void *data, size_t n, size_t size, void *ret)
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

#define KEEP(arena, vec, ret) keep((arena), (vec).data, (vec).size, sizeof(*(vec).data), (ret))

/* Our number of a file of the line table; makes one when it is new. False when memory is short. */
static bool file_number(struct ux_unit_cutter *c, uint64_t file, uint32_t *ret)
{
	*ret = 0;
	struct ux_code_path path;
	if (file >= c->file_numbers.size || c->file_numbers.data[file] != 0) {
		*ret = file < c->file_numbers.size ? c->file_numbers.data[file] - 1 : 0;
		return true;
	}
	if (ux_dwarf_lines_file(&c->lines, file, &path)) {
		struct ux_code_file made = {0};
		if (!ux_source_path_split(&path, c->arena, &c->left.text, &c->last_path,
					  &c->last_dir, &made))
			return false;
		c->starved |= c->left.text == 0;
		*ret = (uint32_t)c->files.size;
		if (!ux_code_file_vec_append(&c->files, made))
			return false;
	}
	c->file_numbers.data[file] = *ret + 1;
	return true;
}

/* Empties the file numbers: one for each file of the table, none met yet. */
static bool begin_files(struct ux_unit_cutter *c)
{
	size_t n = c->lines.files.size + 1;
	c->files.size = 0;
	c->last_dir = NULL;
	if (!ux_number_vec_reserve(&c->file_numbers, n) ||
	    !ux_code_file_vec_append(&c->files, (struct ux_code_file){"", ""}) ||
	    !ux_code_file_vec_append(&c->files, (struct ux_code_file){"", ""}))
		return false;
	memset(c->file_numbers.data, 0, n * sizeof(*c->file_numbers.data));
	c->file_numbers.size = n;
	return true;
}

/* Appends a row at pc unless it says what the one before says; one at the same place replaces it.
 */
static bool add_row(struct ux_unit_cutter *c, uint32_t off, uint32_t line, uint32_t file)
{
	struct ux_gsym_row_vec *rows = &c->rows;
	struct ux_gsym_row row = {off, line, file};
	if (rows->size > 0 && rows->data[rows->size - 1].off == off)
		rows->size--;
	if (rows->size > 0 && rows->data[rows->size - 1].line == line &&
	    rows->data[rows->size - 1].file == file)
		return true;
	return ux_gsym_row_vec_append(rows, row);
}

/* The row of the sequence that is in force at pc, which lies in it. */
static uint32_t row_at(const struct ux_code_row *rows, uint32_t count, uint64_t pc)
{
	uint32_t lo = 0, hi = count;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (rows[mid].pc <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/* Takes steps from those that are left; false when they are used up. */
static bool spend(struct ux_unit_cutter *c, uint64_t steps)
{
	bool ok = steps <= c->left.steps;
	c->left.steps -= ok ? steps : c->left.steps;
	c->starved |= !ok;
	return ok;
}

/* The same file as that of the row before, most of the time. */
ux_inline bool row_file(struct ux_unit_cutter *c, uint32_t file, uint32_t *last, uint32_t *number)
{
	if (ux_likely(file == *last))
		return true;
	if (!file_number(c, file, number))
		return false;
	*number = *number ? *number : UX_FILE_NAMELESS;
	*last = file;
	return true;
}

/* Adds the sequence's rows of [from, hi), with offsets from lo; from lies in the sequence. */
static bool add_sequence(struct ux_unit_cutter *c, const struct ux_code_sequence *s, uint64_t lo,
			 uint64_t from, uint64_t hi)
{
	const struct ux_code_row *rows = c->lines.rows.data + s->first;
	uint32_t first = row_at(rows, s->count, from), end = row_at(rows, s->count, hi - 1) + 1;
	uint32_t last = ~rows[first].file, number = 0;
	if (first >= end)
		return true;
	if (!spend(c, end - first)) {
		c->cut_short = true;
		return true;
	}
	if (!ux_gsym_row_vec_reserve(&c->rows, c->rows.size + (end - first)))
		return false;
	for (const struct ux_code_row *row = rows + first; row < rows + end; row++) {
		if (ux_unlikely(c->rows.size >= c->left.kept)) {
			c->starved = c->cut_short = true;
			return true;
		}
		if (!row_file(c, row->file, &last, &number) ||
		    !add_row(c, (uint32_t)(ux_max(row->pc, from) - lo), row->line, number))
			return false;
	}
	return true;
}

/* Adds a row that says "neither file nor line from pc on". */
static bool add_hole(struct ux_unit_cutter *c, uint64_t lo, uint64_t pc)
{
	return add_row(c, (uint32_t)(pc - lo), 0, UX_FILE_NAMELESS);
}

/* Adds the rows of the sequences from s on, which are disjoint, in [lo, hi). */
static bool add_sequences(struct ux_unit_cutter *c, const struct ux_code_sequence *s,
			  const struct ux_code_sequence *end, uint64_t lo, uint64_t hi)
{
	uint64_t covered = lo;
	for (; s < end && s->lo < hi; s++) {
		if (s->hi <= covered)
			continue;
		if (s->lo > covered && !add_hole(c, lo, covered))
			return false;
		if (!add_sequence(c, s, lo, ux_max(covered, s->lo), hi))
			return false;
		covered = s->hi;
	}
	return c->rows.size == 0 || covered >= hi || add_hole(c, lo, covered);
}

/*
 * The rows of f's range [lo, hi) into c->rows. Where the table has nothing, in front of, between or
 * behind its sequences, a row of line 0 says so. Where sequences overlap, the one that began first
 * keeps what it has, unless f says which is its own.
 */
static bool cut_rows(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
		     uint64_t hi)
{
	const struct ux_code_sequence *own = NULL;
	c->rows.size = 0;
	if (f->sequence != UX_CODE_NO_SEQUENCE)
		own = ux_dwarf_lines_sequence(&c->lines, f->sequence, lo);
	if (own)
		return add_sequences(c, own, own + 1, lo, hi);
	if (c->lines.sequences.size == 0)
		return true;
	return add_sequences(c, c->lines.sequences.data + ux_dwarf_lines_find(&c->lines, lo),
			     ux_code_sequence_vec_end(&c->lines.sequences), lo, hi);
}

static int by_lo(const void *a, const void *b)
{
	const struct ux_gsym_range *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Sorts ranges from `first` on and joins those that overlap or touch. */
static void tidy_ranges(struct ux_gsym_range_vec *ranges, size_t first)
{
	size_t n = ranges->size - first, kept = 0;
	struct ux_gsym_range *r = ranges->data + first;
	if (n < 2)
		return;
	for (size_t i = 1; i < n; i++) {
		if (r[i - 1].lo > r[i].lo) {
			qsort(r, n, sizeof(*r), by_lo);
			break;
		}
	}
	for (size_t i = 1; i < n; i++) {
		if (r[i].lo <= r[kept].hi)
			r[kept].hi = ux_max(r[kept].hi, r[i].hi);
		else
			r[++kept] = r[i];
	}
	ranges->size = first + kept + 1;
}

/* Adds the parts of DIE ranges that lie in the piece [lo, hi). */
static bool add_ranges(struct ux_unit_cutter *c, const struct ux_code_inline *node, uint64_t lo,
		       uint64_t hi)
{
	const struct ux_range *own = c->code.ranges.data + node->range_first;
	for (uint32_t i = 0; i < node->range_count; i++) {
		uint64_t from = ux_max(own[i].lo, lo), to = ux_min(own[i].hi, hi);
		struct ux_gsym_range r = {(uint32_t)(from - lo), (uint32_t)(to - lo)};
		if (from < to && !ux_gsym_range_vec_append(&c->ranges, r))
			return false;
	}
	return true;
}

/* The ranges of the calls inlined directly into `node`, which has none, stand in for its own. */
static bool add_children_ranges(struct ux_unit_cutter *c, const struct ux_code_inline *node,
				const struct ux_code_inline *end, uint64_t lo, uint64_t hi)
{
	for (const struct ux_code_inline *child = node + 1;
	     child < end && child->depth > node->depth && spend(c, 1); child++) {
		if (child->depth == node->depth + 1 && !add_ranges(c, child, lo, hi))
			return false;
	}
	return true;
}

/*
 * Cuts the ranges from `first` on, tidy, to those of the parent, which are tidy too: one pass over
 * both, whose result replaces them.
 */
static bool clip(struct ux_gsym_range_vec *ranges, uint32_t first,
		 const struct ux_code_inline *parent)
{
	uint32_t end = (uint32_t)ranges->size;
	uint32_t p = parent->range_first, p_end = p + parent->range_count;
	for (uint32_t i = first; i < end && p < p_end;) {
		struct ux_gsym_range own = ranges->data[i], outer = ranges->data[p];
		struct ux_gsym_range both = {ux_max(own.lo, outer.lo), ux_min(own.hi, outer.hi)};
		if (both.lo < both.hi && !ux_gsym_range_vec_append(ranges, both))
			return false;
		if (own.hi < outer.hi)
			i++;
		else
			p++;
	}
	size_t kept = ranges->size - end;
	memmove(ranges->data + first, ranges->data + end, kept * sizeof(*ranges->data));
	ranges->size = first + kept;
	return true;
}

/* The ranges of one inlined call, cut to the piece and to its parent, at the end of c->ranges. */
static bool cut_inline(struct ux_unit_cutter *c, const struct ux_code_inline *node,
		       const struct ux_code_inline *end, uint64_t lo, uint64_t hi,
		       const struct ux_code_inline *parent)
{
	uint32_t first = (uint32_t)c->ranges.size;
	if (!add_ranges(c, node, lo, hi) ||
	    (node->range_count == 0 && !add_children_ranges(c, node, end, lo, hi)))
		return false;
	tidy_ranges(&c->ranges, first);
	return clip(&c->ranges, first, parent);
}

/* Adds one inlined call to the piece [lo, hi); *ret_kept is false when nothing of it lies there. */
static bool add_inline(struct ux_unit_cutter *c, const struct ux_code_inline *node,
		       const struct ux_code_inline *end, uint64_t lo, uint64_t hi, bool *ret_kept)
{
	c->open.size = ux_min(c->open.size, (size_t)node->depth);
	struct ux_open_call *parent = &c->open.data[c->open.size - 1];
	struct ux_code_inline made = {
		.name = node->name,
		.call_line = node->call_line,
		.depth = (uint32_t)c->open.size,
		.range_first = (uint32_t)c->ranges.size,
	};
	/* ranges[0] is the function's own */
	struct ux_code_inline whole = {.range_first = 0, .range_count = 1};
	if (c->open.size > 1)
		whole = c->inlines.data[parent->index];
	*ret_kept = false;
	if (!cut_inline(c, node, end, lo, hi, &whole))
		return false;
	made.range_count = (uint32_t)c->ranges.size - made.range_first;
	if (made.range_count == 0)
		return true;
	c->overlap |= c->ranges.data[made.range_first].lo < parent->children;
	parent->children = ux_max(parent->children, c->ranges.data[c->ranges.size - 1].hi);
	*ret_kept = true;
	struct ux_open_call open = {(uint32_t)c->inlines.size, 0};
	return file_number(c, node->call_file, &made.call_file) &&
	       ux_open_call_vec_append(&c->open, open) &&
	       ux_code_inline_vec_append(&c->inlines, made);
}

/*
 * The calls inlined into function f in [lo, hi) into c->inlines and c->ranges. What leaves its
 * parent is cut to it; what has nothing left is dropped with everything inlined into it.
 */
static bool cut_inlines(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t lo,
			uint64_t hi)
{
	c->inlines.size = c->ranges.size = c->open.size = 0;
	c->overlap = false;
	if (f->inline_count == 0)
		return true;
	const struct ux_code_inline *node = c->code.inlines.data + f->inline_first;
	const struct ux_code_inline *end = node + f->inline_count;
	if (!ux_gsym_range_vec_append(&c->ranges, (struct ux_gsym_range){0, (uint32_t)(hi - lo)}) ||
	    !ux_open_call_vec_append(&c->open, (struct ux_open_call){0, 0}))
		return false;
	while (node < end) {
		const struct ux_code_inline *now = node++;
		bool kept = false;
		if (!add_inline(c, now, end, lo, hi, &kept))
			return false;
		while (!kept && node < end && node->depth > now->depth)
			node++;
	}
	return !c->overlap || ux_inline_overlap_settle(&c->inlines, &c->ranges, &c->left.overlap);
}

/* The scratch vectors as a piece, drafted into the arena. */
static bool keep_piece(struct ux_unit_cutter *c, struct ux_piece_vec *list, struct ux_piece piece)
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

/* hi, or as far as a record that begins at lo can reach; lo may be in the highest 4 GiB, as a
 * kernel's code is. */
static uint64_t record_end(uint64_t lo, uint64_t hi)
{
	return lo + ux_min(hi - lo, (uint64_t)UINT32_MAX);
}

/* What looking at a function's inlined calls costs. */
static uint64_t calls_cost(const struct ux_unit_cutter *c, const struct ux_code_function *f)
{
	uint64_t cost = f->inline_count;
	for (uint32_t i = 0; i < f->inline_count; i++)
		cost += c->code.inlines.data[f->inline_first + i].range_count;
	return cost;
}

/* Takes n rows, calls and ranges from what may be kept; false when that is used up. */
static bool afford(struct ux_unit_cutter *c, uint64_t n)
{
	bool ok = n <= c->left.kept;
	c->left.kept -= ok ? n : 0;
	c->starved |= !ok;
	return ok;
}

/* Rows and inlined calls of one range, of which looking at the calls costs `steps`; what is over
 * the bounds has its name alone, as has what another unit tells. */
static bool cut_content(struct ux_unit_cutter *c, const struct ux_code_function *f, uint64_t steps,
			uint64_t lo, uint64_t hi)
{
	c->rows.size = c->inlines.size = c->ranges.size = 0;
	if (f->skipped || !spend(c, 1 + steps))
		return true;
	c->cut_short = false;
	if (!cut_rows(c, f, lo, hi))
		return false;
	if (c->cut_short || !afford(c, c->rows.size)) {
		c->rows.size = 0;
		return true;
	}
	if (!cut_inlines(c, f, lo, hi))
		return false;
	if (!afford(c, (uint64_t)c->inlines.size + c->ranges.size))
		c->inlines.size = c->ranges.size = 0;
	return true;
}

static bool cut_function(struct ux_unit_cutter *c, uint32_t unit,
			 const struct ux_dwarf_names *names, const struct ux_code_function *f)
{
	uint64_t steps = calls_cost(c, f);
	bool named = f->name != UX_CODE_NO_NAME;
	for (uint32_t i = 0; i < f->range_count; i++) {
		struct ux_range r = c->code.ranges.data[f->range_first + i];
		r.hi = record_end(r.lo, r.hi);
		if (c->pieces_left == 0) {
			c->starved = true;
			return true;
		}
		c->pieces_left--;
		if (!cut_content(c, f, steps, r.lo, r.hi) ||
		    !keep_piece(c, &c->functions,
				(struct ux_piece){.start = r.lo,
						  .size = (uint32_t)(r.hi - r.lo),
						  .unit = unit,
						  .name = named ? names->list.data[f->name] : NULL,
						  .own = named ? names->own.data[f->name] : 0}))
			return false;
		if (c->claims && c->rows.size > 0)
			ux_claims_add(c->claims, unit, r.lo, (uint32_t)(r.hi - r.lo));
	}
	return true;
}

enum {
	SYMBOLS_ASKED = 8
};

/*
 * True when a symbol has a part of [lo, hi): only then has somebody use for the rows there. Of
 * those that begin in front of it, few are asked: one that began before many others hardly reaches
 * here.
 */
static bool symbol_reaches(const struct ux_unit_cutter *c, uint64_t lo, uint64_t hi)
{
	const struct ux_code_symbol *first = c->symbols->data;
	const struct ux_code_symbol *s = ux_code_symbols_from(c->symbols, lo);
	if (s && s->start < hi)
		return true;
	s = s ? s : ux_code_symbol_vec_end(c->symbols);
	for (int i = 0; i < SYMBOLS_ASKED && s > first; i++, s--) {
		if (s[-1].size > lo - s[-1].start)
			return true;
	}
	return false;
}

static bool cut_gap(struct ux_unit_cutter *c, uint32_t unit, const struct ux_code_sequence *s,
		    uint64_t lo, uint64_t hi)
{
	if (lo >= hi)
		return true;
	hi = record_end(lo, hi);
	if (!symbol_reaches(c, lo, hi))
		return true;
	c->rows.size = c->inlines.size = c->ranges.size = 0;
	c->cut_short = false;
	if (!add_sequence(c, s, lo, lo, hi))
		return false;
	if (c->cut_short || !afford(c, c->rows.size))
		return true;
	struct ux_piece gap = {.start = lo, .size = (uint32_t)(hi - lo), .unit = unit};
	return keep_piece(c, &c->gaps, gap);
}

static int by_start(const void *a, const void *b)
{
	const struct ux_range *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

/* The rows outside of all functions: a symbol may still want them. */
static bool cut_gaps(struct ux_unit_cutter *c, uint32_t unit)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec taken = {0};
	for (size_t i = 0; i < c->functions.size; i++) {
		const struct ux_piece *p = &c->functions.data[i];
		if (!ux_range_vec_append(&taken, (struct ux_range){p->start, ux_piece_end(p)}))
			return false;
	}
	if (taken.size > 1)
		qsort(taken.data, taken.size, sizeof(*taken.data), by_start);
	size_t next = 0;
	for (size_t i = 0; i < c->lines.sequences.size; i++) {
		const struct ux_code_sequence *s = &c->lines.sequences.data[i];
		uint64_t lo = s->lo;
		while (next > 0 && taken.data[next - 1].hi > lo)
			next--; /* sequences may overlap */
		for (; next < taken.size && taken.data[next].lo < s->hi; next++) {
			if (!cut_gap(c, unit, s, lo, taken.data[next].lo))
				return false;
			lo = ux_max(lo, taken.data[next].hi);
		}
		if (!cut_gap(c, unit, s, lo, s->hi))
			return false;
	}
	return true;
}

/* What the unit adds to the bounds; a line table counts for the first of the units that share it.
 */
static void add_bounds(struct ux_unit_cutter *c)
{
	const struct ux_dwarf_code *code = &c->code;
	bool fresh = c->lines.source.sections && c->lines.source.off >= c->lines_seen;
	uint64_t rows = fresh ? c->lines.rows.size : 0, bytes = code->bytes;
	uint64_t calls = code->inlines.size, ranges = code->ranges.size;
	if (fresh) {
		/* The table takes a byte a row at least. */
		c->lines_seen = c->lines.source.off + ux_max(rows, (uint64_t)1);
		c->left.text += UX_CUT_TEXT_EACH * ux_min((uint64_t)c->lines.files.size, bytes);
	}
	/* Else each batch could have all rows of one table. */
	rows = ux_min(rows, UX_CUT_ROWS_PER_BYTE * bytes);
	c->left.text += UX_CUT_TEXT_BYTE * bytes;
	c->left.overlap += UX_CUT_OVERLAP_EACH * calls + UX_CUT_OVERLAP_BYTE * bytes;
	c->left.steps += UX_CUT_STEPS_EACH * (rows + calls + ranges) + UX_CUT_STEPS_BYTE * bytes;
	c->left.kept += UX_CUT_KEPT_EACH * (rows + calls) + UX_CUT_KEPT_RANGE * ranges +
			UX_CUT_KEPT_BYTE * bytes;
	c->pieces_left = UX_CUT_PIECES_FREE + bytes / UX_CUT_PIECES_PER_BYTES;
}

static bool cut_all(struct ux_unit_cutter *c, uint32_t unit, const struct ux_dwarf_names *names)
{
	c->functions.size = c->gaps.size = 0;
	c->starved = false;
	add_bounds(c);
	if (!begin_files(c))
		return false;
	for (size_t i = 0; i < c->code.functions.size; i++) {
		if (!cut_function(c, unit, names, &c->code.functions.data[i]))
			return false;
	}
	if (!c->lines.source.sections || (c->gaps_done && c->gaps_of == c->lines.source.off))
		return true;
	c->gaps_done = true;
	c->gaps_of = c->lines.source.off;
	return cut_gaps(c, unit);
}

void ux_unit_cutter_begin(struct ux_unit_cutter *c, bool first)
{
	c->gaps_done = false;
	c->lines_seen = 0;
	c->left = (struct ux_cut_bounds){0};
	if (first)
		c->left = (struct ux_cut_bounds){
			.steps = UX_CUT_STEPS_FREE,
			.overlap = UX_CUT_OVERLAP_FREE,
			.kept = UX_CUT_KEPT_FREE,
			.text = UX_CUT_TEXT_FREE,
		};
}

enum ux_code ux_unit_cut(struct ux_unit_cutter *c, uint32_t unit,
			 const struct ux_dwarf_names *names, struct ux_unit_pieces *ret,
			 struct ux_error *err)
{
	if (!cut_all(c, unit, names))
		return ux_error_nomem(err);
	if (!KEEP(c->arena, c->functions, &ret->functions) ||
	    !KEEP(c->arena, c->gaps, &ret->lines) || !KEEP(c->arena, names->list, &ret->names) ||
	    !KEEP(c->arena, c->files, &ret->files))
		return ux_arena_fail(c->arena, err);
	ret->n_functions = (uint32_t)c->functions.size;
	ret->n_lines = (uint32_t)c->gaps.size;
	ret->n_names = (uint32_t)names->list.size;
	ret->n_files = (uint32_t)c->files.size;
	return UX_OK;
}
