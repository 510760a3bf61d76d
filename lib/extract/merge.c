/* SPDX-License-Identifier: Apache-2.0 */
/* Merges functions and symbols, so that each address has one piece. */
#include "pack.h"

#include "elf_defs.h"
#include "function_name.h"
#include "misplaced.h"
#include "order.h"
#include "pool.h"

enum {
	NAMES_AHEAD =
		8, /* functions whose names are prefetched; memory takes as long as that many */

	NESTED_PART = 8, /* room for one more piece of so many, cut by those inside of it */

	/* bytes of names that are compared when nothing else decides an order */
	NAMES_COMPARED = 1 << 12,

	/* Budget for comparing names of symbols with those of functions, in bytes: so many for each
	 * function, plus a fixed amount. Real files need up to 100 for each. */
	NAME_WORK_EACH = 1 << 9,
	NAME_WORK_FREE = 1 << 24,

	/* Budget of inlined calls and ranges that are visited for cutting functions that contain
	 * others, and of symbols inside of functions. When it is used up, only the rows are cut,
	 * and entries get no names of their own. */
	CALL_WORK_MOST = 1 << 26,
	CALL_WORK_KEPT = 32, /* cost of copying a call */

	/* Budget of rows for entries inside of functions, since thousands of symbols may each cover
	 * the rest of a function with thousands of rows. When it is used up, entries get no names
	 * of their own. */
	ENTRY_ROWS_MOST = 1 << 22,
};

struct merger {
	const struct ux_code_symbol_vec *symbols;
	struct ux_arena *arena;
	struct ux_arena *names;
	uint64_t *call_work; /* what is left of CALL_WORK_MOST */
	struct ux_gsym_drafter *drafter;
	struct ux_error *err;
	struct ux_piece_vec *out;
	struct ux_spill *spill; /* of large lists */
};

/*
 * Sorts by start, and then longer functions first. Of equal ranges the one that is used comes
 * first: that of the first unit with rows. GNU ld points the debug information of all dropped
 * copies of a COMDAT function at the copy it kept, which is that of the first object file.
 */
static int by_range(const void *x, const void *y)
{
	const struct ux_piece *a = x, *b = y;
	UX_ORDER(a->start, b->start);
	UX_ORDER(b->size, a->size);
	UX_ORDER(a->draft.n_rows == 0, b->draft.n_rows == 0);
	UX_ORDER(a->unit, b->unit);
	UX_ORDER(b->draft.n_inlines, a->draft.n_inlines);
	if (a->name == b->name)
		return 0;
	return strncmp(a->name ? a->name : "", b->name ? b->name : "", NAMES_COMPARED);
}

static void sort(struct ux_piece_vec *pieces)
{
	ux_sort_by_start_spilled(pieces->data, pieces->size, sizeof(*pieces->data), by_range,
				 pieces->spill);
}

static enum ux_code push(struct ux_piece_vec *list, struct ux_piece piece, struct ux_error *err)
{
	return ux_piece_vec_append(list, piece) ? UX_OK : ux_error_nomem(err);
}

/* A piece in which others may begin, and up to where it has been emitted. */
struct open_piece {
	const struct ux_piece *piece;
	uint64_t pos;
	struct ux_piece_reader reader;
};

UX_VEC(open_vec, struct open_piece);

static void open_stack_deinit(struct open_vec *stack)
{
	for (size_t i = 0; i < stack->size; i++)
		ux_piece_reader_deinit(&stack->data[i].reader);
	open_vec_deinit(stack);
}

/* Makes the part [lo, hi) of p, without inlined calls when the budget for them is used up. */
static enum ux_code cut(struct merger *m, struct ux_piece_reader *reader, const struct ux_piece *p,
			uint64_t lo, uint64_t hi, struct ux_piece *ret)
{
	UX_TRY(ux_piece_read(reader, p, m->err));
	uint64_t work = (uint64_t)p->draft.n_inlines + reader->n_ranges;
	bool calls = work <= *m->call_work;
	*m->call_work -= calls ? work : 0;
	UX_TRY(ux_piece_cut(reader, lo, hi, calls, m->drafter, m->arena, ret, m->err));
	*m->call_work -= ux_min(*m->call_work, (uint64_t)CALL_WORK_KEPT * ret->draft.n_inlines);
	return UX_OK;
}

/* Emits the rest of the open piece that lies in front of `end`. */
static enum ux_code emit_until(struct merger *m, struct open_piece *open, uint64_t end)
{
	const struct ux_piece *p = open->piece;
	end = ux_min(end, ux_piece_end(p));
	if (open->pos >= end)
		return UX_OK;
	struct ux_piece part = *p;
	if (open->pos != p->start || end != ux_piece_end(p))
		UX_TRY(cut(m, &open->reader, p, open->pos, end, &part));
	open->pos = end;
	return push(m->out, part, m->err);
}

/*
 * Closes the pieces that end at or before `pc`. The pieces that contain them continue behind them.
 */
static enum ux_code close_until(struct merger *m, struct open_vec *stack, uint64_t pc)
{
	while (stack->size > 0 && ux_piece_end(stack->data[stack->size - 1].piece) <= pc) {
		struct open_piece *top = &stack->data[stack->size - 1];
		uint64_t end = ux_piece_end(top->piece);
		UX_TRY(emit_until(m, top, end));
		end = ux_max(end, top->pos); /* a piece that began inside may end further behind */
		ux_piece_reader_deinit(&top->reader);
		stack->size--;
		if (stack->size > 0)
			top[-1].pos = ux_max(top[-1].pos, end);
	}
	return UX_OK;
}

/* Makes sorted pieces disjoint and appends them to m->out. */
static enum ux_code flatten(struct merger *m, const struct ux_piece_vec *sorted)
{
	ux_cleanup(open_stack_deinit) struct open_vec stack = {0};
	/* Few pieces lie inside of others. A list that grows is copied, to pages that are new. */
	if (!ux_piece_vec_reserve(m->out, m->out->size + sorted->size + sorted->size / NESTED_PART))
		return ux_error_nomem(m->err);
	for (size_t i = 0; i < sorted->size; i++) {
		const struct ux_piece *p = &sorted->data[i];
		if (i > 0 && p->start == p[-1].start && p->size == p[-1].size)
			continue; /* rows or a symbol with an equal range; functions are unique here
				   */
		UX_TRY(close_until(m, &stack, p->start));
		if (stack.size > 0)
			UX_TRY(emit_until(m, &stack.data[stack.size - 1], p->start));
		if (!open_vec_append(&stack, (struct open_piece){p, p->start, {0}}))
			return ux_error_nomem(m->err);
	}
	return close_until(m, &stack, UINT64_MAX);
}

/* Charges the length of the symbols' names to the budget. Returns false when it is used up. */
static bool afford_names(const struct ux_code_symbol *symbols, size_t n, uint64_t *left)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes += symbols[i].name_size;
	bool ok = bytes <= *left;
	*left -= ok ? bytes : 0;
	return ok;
}

/*
 * Collects the functions of all units. A symbol at the start of one may have a better name for it.
 */
static enum ux_code gather_functions(struct merger *m, const struct ux_collection *collection,
				     struct ux_piece_vec *out)
{
	size_t n = 0;
	for (size_t u = 0; u < collection->n_units; u++)
		n += collection->units[u].n_functions;
	if (!ux_piece_vec_reserve(out, n))
		return ux_error_nomem(m->err);
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		if (unit->n_functions > 0)
			memcpy(out->data + out->size, unit->functions,
			       unit->n_functions * sizeof(*unit->functions));
		out->size += unit->n_functions;
	}
	return UX_OK;
}

/* Prefetches the names that naming piece i and its symbols will read. Names lie all over the
 * sections, so that each would wait for memory. (Always inlined: gcc drops calls of a function that
 * only prefetches.) */
ux_inline void prefetch_names(const struct merger *m, const struct ux_piece_vec *sorted, size_t i,
			      size_t symbol)
{
	if (i < sorted->size && sorted->data[i].name)
		__builtin_prefetch(sorted->data[i].name);
	if (symbol < m->symbols->size)
		__builtin_prefetch(m->symbols->data[symbol].name);
}

/* Names the sorted pieces by symbols at their start. Of equal ranges the first piece that gets a
 * name is kept; pieces without a name are dropped. */
static enum ux_code name_functions(struct merger *m, struct ux_piece_vec *sorted)
{
	const struct ux_code_symbol *symbols = m->symbols->data;
	size_t symbol = 0, n_symbols = m->symbols->size;
	uint64_t work = NAME_WORK_FREE + (uint64_t)NAME_WORK_EACH * sorted->size;
	ux_cleanup(ux_symbol_names_deinit) struct ux_symbol_names names = {0};
	size_t kept = 0;
	for (size_t i = 0; i < sorted->size; i++) {
		struct ux_piece p = sorted->data[i];
		const struct ux_piece *last = kept > 0 ? &sorted->data[kept - 1] : NULL;
		bool no_memory = false;
		prefetch_names(m, sorted, i + NAMES_AHEAD, symbol + NAMES_AHEAD);
		if (last && last->start == p.start && last->size == p.size)
			continue;
		while (symbol < n_symbols && symbols[symbol].start < p.start)
			symbol++;
		size_t n = ux_code_symbols_count(m->symbols, symbol, p.start);
		const struct ux_code_symbol *at = n > 0 ? &symbols[symbol] : NULL;
		if (p.name && !afford_names(at, n, &work))
			n = 0;
		else if (ux_piece_is_misplaced(&p, m->symbols, symbol, n, &names, &no_memory))
			continue;
		p.name = ux_function_name(p.name, p.own, at, n, m->names, &no_memory);
		if (no_memory)
			return ux_arena_fail(m->names, m->err);
		if (p.name)
			sorted->data[kept++] = p;
	}
	sorted->size = kept;
	return UX_OK;
}

/* True for a symbol that is a function of its own where it stands: an entry inside of an assembler
 * function, as srso_safe_ret in Linux' srso_alias_untrain_ret. */
static bool is_inner_entry(const struct ux_code_symbol *s, const struct ux_piece *p)
{
	return s->start > p->start && s->size > 0 && s->size <= ux_piece_end(p) - s->start &&
	       !s->exact && s->bind != STB_LOCAL;
}

/*
 * Adds pieces for the entries inside of sorted functions: the symbol's name with the function's
 * rows. A function with inlined calls was compiled, and has no entries. Of symbols with one start
 * the first is the best.
 */
static enum ux_code add_inner_entries(struct merger *m, struct ux_piece_vec *sorted)
{
	const struct ux_code_symbol_vec *symbols = m->symbols;
	size_t symbol = 0, n = sorted->size;
	uint64_t rows = ENTRY_ROWS_MOST;
	for (size_t i = 0; i < n; i++) {
		const struct ux_piece p = sorted->data[i]; /* a copy: the list grows */
		ux_cleanup(ux_piece_reader_deinit) struct ux_piece_reader reader = {0};
		while (symbol < symbols->size && symbols->data[symbol].start <= p.start)
			symbol++;
		if (p.draft.n_inlines > 0)
			continue;
		for (size_t k = symbol;
		     k < symbols->size && symbols->data[k].start < ux_piece_end(&p); k++) {
			const struct ux_code_symbol *s = &symbols->data[k];
			struct ux_piece entry;
			bool no_memory = false;
			bool alias = k > 0 && s->start == s[-1].start;
			if (*m->call_work == 0 || rows == 0)
				break;
			--*m->call_work;
			if (alias || !is_inner_entry(s, &p))
				continue;
			UX_TRY(cut(m, &reader, &p, s->start, s->start + s->size, &entry));
			rows -= ux_min(rows, (uint64_t)entry.draft.n_rows);
			entry.name = ux_symbol_name(s, m->names, &no_memory);
			entry.own = 0;
			if (no_memory)
				return ux_arena_fail(m->names, m->err);
			UX_TRY(push(sorted, entry, m->err));
		}
	}
	if (sorted->size > n)
		sort(sorted);
	return UX_OK;
}

static enum ux_code gather_lines(struct merger *m, const struct ux_collection *collection,
				 struct ux_piece_vec *out)
{
	size_t n = 0;
	for (size_t u = 0; u < collection->n_units; u++)
		n += collection->units[u].n_lines;
	if (!ux_piece_vec_reserve(out, n))
		return ux_error_nomem(m->err);
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		for (uint32_t i = 0; i < unit->n_lines; i++)
			UX_TRY(push(out, unit->lines[i], m->err));
	}
	return UX_OK;
}

/* Returns the first piece that ends behind pc. The pieces are sorted and disjoint. */
static size_t find(const struct ux_piece_vec *pieces, uint64_t pc)
{
	size_t lo = 0, hi = pieces->size;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (ux_piece_end(&pieces->data[mid]) <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Adds rows to a piece that has none: those of the first unit that covers any of it. In front of
 * and behind them the line is unknown. */
static enum ux_code add_lines(struct merger *m, const struct ux_piece_vec *lines,
			      struct ux_piece_reader *reader, struct ux_piece *piece)
{
	size_t i = find(lines, piece->start);
	if (i == lines->size || lines->data[i].start >= ux_piece_end(piece))
		return UX_OK;
	const struct ux_piece *from = &lines->data[i];
	uint64_t lo = ux_max(from->start, piece->start);
	uint64_t hi = ux_min(ux_piece_end(from), ux_piece_end(piece));
	struct ux_piece part;
	UX_TRY(cut(m, reader, from, lo, hi, &part));
	piece->unit = from->unit;
	return ux_piece_widen(&part, piece->start, ux_piece_end(piece), m->drafter, m->arena,
			      &piece->draft, m->err);
}

/* Adds the part [pos, end) of a symbol as pieces. A new piece begins where other rows begin, which
 * happens with crti.o and crtn.o. */
static enum ux_code fill_part(struct merger *m, const struct ux_piece *symbol, uint64_t pos,
			      uint64_t end, const struct ux_piece_vec *lines,
			      struct ux_piece_reader *reader)
{
	while (pos < end) {
		size_t next = find(lines, pos) + 1;
		bool more = next < lines->size && lines->data[next].start < end;
		uint64_t hi = more ? lines->data[next].start : end;
		struct ux_piece part = *symbol;
		part.start = pos;
		part.size = (uint32_t)(hi - pos);
		UX_TRY(add_lines(m, lines, reader, &part));
		UX_TRY(push(m->out, part, m->err));
		pos = hi;
	}
	return UX_OK;
}

/* The parts of a symbol that no function has, as pieces; `next` is the first one that ends behind
 * its start. */
static enum ux_code fill(struct merger *m, const struct ux_piece_vec *functions, size_t next,
			 const struct ux_piece *symbol, const struct ux_piece_vec *lines,
			 struct ux_piece_reader *reader)
{
	uint64_t pos = symbol->start, end = ux_piece_end(symbol);
	for (size_t i = next; pos < end; i++) {
		bool last = i >= functions->size || functions->data[i].start >= end;
		uint64_t hi = last ? end : functions->data[i].start;
		UX_TRY(fill_part(m, symbol, pos, hi, lines, reader));
		if (last)
			break;
		pos = ux_piece_end(&functions->data[i]);
	}
	return UX_OK;
}

/* Makes pieces of symbols, one for each address. */
static enum ux_code gather_symbols(struct merger *m, struct ux_piece_vec *out)
{
	const struct ux_code_symbol_vec *symbols = m->symbols;
	if (!ux_piece_vec_reserve(out, symbols->size))
		return ux_error_nomem(m->err);
	for (size_t i = 0; i < symbols->size; i++) {
		const struct ux_code_symbol *s = &symbols->data[i];
		bool no_memory = false;
		if (i > 0 && s->start == s[-1].start)
			continue; /* the best name of a start comes first */
		struct ux_piece p = {
			.start = s->start,
			.size = (uint32_t)ux_min(s->size, (uint64_t)UINT32_MAX),
			.unit = UX_PIECE_NO_UNIT,
			.name = ux_symbol_name(s, m->names, &no_memory),
		};
		if (no_memory)
			return ux_arena_fail(m->names, m->err);
		UX_TRY(push(out, p, m->err));
	}
	return UX_OK;
}

/*
 * Cuts a range that has no name at the start of a function that begins inside of it, since a
 * function is always more exact. Returns false when nothing is left: both have the same start, so
 * that the range is that of the function. It is also dropped when the function begins one byte
 * behind it, because GHC and signal frames let unwind ranges begin one byte early: unwinders look
 * up return addresses minus one.
 */
static bool cut_unnamed(struct ux_piece *unnamed, const struct ux_piece *function)
{
	uint64_t end = ux_piece_end(unnamed);
	if (function->start <= unnamed->start ||
	    (function->start == unnamed->start + 1 && end > function->start))
		return false;
	unnamed->size = (uint32_t)(ux_min(end, function->start) - unnamed->start);
	return true;
}

/* Makes disjoint pieces of rows and of symbols, which do not depend on functions. */
static enum ux_code merge_lines_and_symbols(struct merger *m,
					    const struct ux_collection *collection,
					    struct ux_piece_vec *lines,
					    struct ux_piece_vec *symbols)
{
	ux_cleanup(ux_piece_vec_deinit) struct ux_piece_vec raw = {.spill = m->spill};
	UX_TRY(gather_lines(m, collection, &raw));
	sort(&raw);
	m->out = lines;
	UX_TRY(flatten(m, &raw));
	raw.size = 0;
	UX_TRY(gather_symbols(m, &raw));
	m->out = symbols;
	return flatten(m, &raw);
}

/* Makes disjoint pieces of functions. */
static enum ux_code merge_functions(struct merger *m, const struct ux_collection *collection,
				    struct ux_piece_vec *functions)
{
	ux_cleanup(ux_piece_vec_deinit) struct ux_piece_vec raw = {.spill = m->spill};
	UX_TRY(gather_functions(m, collection, &raw));
	sort(&raw);
	UX_TRY(name_functions(m, &raw));
	UX_TRY(add_inner_entries(m, &raw));
	m->out = functions;
	return flatten(m, &raw);
}

/* Makes pieces of the parts of symbols that no function has; symbols are shortened. */
static enum ux_code fill_symbols(struct merger *m, const struct ux_piece_vec *functions,
				 const struct ux_piece_vec *lines, struct ux_piece_vec *symbols,
				 struct ux_piece_vec *fills)
{
	ux_cleanup(ux_piece_reader_deinit) struct ux_piece_reader reader = {0};
	size_t next = 0;
	m->out = fills;
	for (size_t i = 0; i < symbols->size; i++) {
		struct ux_piece *symbol = &symbols->data[i];
		while (next < functions->size &&
		       ux_piece_end(&functions->data[next]) <= symbol->start)
			next++;
		if (next < functions->size && symbol->name == ux_no_name &&
		    !cut_unnamed(symbol, &functions->data[next]))
			continue;
		UX_TRY(fill(m, functions, next, symbol, lines, &reader));
	}
	return UX_OK;
}

/* Merges two sorted lists into one. */
static enum ux_code interleave(const struct ux_piece_vec *a, const struct ux_piece_vec *b,
			       struct ux_piece_vec *ret, struct ux_error *err)
{
	*ret = (struct ux_piece_vec){.spill = a->spill};
	if (!ux_piece_vec_reserve(ret, a->size + b->size))
		return ux_error_nomem(err);
	for (size_t i = 0, k = 0; i < a->size || k < b->size;) {
		bool first = k == b->size || (i < a->size && a->data[i].start < b->data[k].start);
		ret->data[ret->size++] = first ? a->data[i++] : b->data[k++];
	}
	return UX_OK;
}

enum {
	JOB_FUNCTIONS,
	JOB_SYMBOLS, /* and the rows outside of functions */
	JOB_RELEASE, /* and the following ones */
};

/* A merge, whose first jobs do not depend on each other. */
struct merge {
	const struct ux_merge_input *input;
	struct merger mergers[JOB_RELEASE];
	struct ux_gsym_drafter drafters[JOB_RELEASE];
	uint64_t call_work[JOB_RELEASE];
	struct ux_piece_vec functions, lines, symbols;
};

static void merge_init(struct merge *all, struct ux_merge_memory *memory)
{
	all->functions.spill = all->lines.spill = all->symbols.spill = all->input->spill;
	struct ux_merge_arenas *const arenas[] = {&memory->functions, &memory->symbols};
	for (size_t i = 0; i < ux_countof(arenas); i++) {
		all->call_work[i] = CALL_WORK_MOST;
		all->mergers[i] = (struct merger){
			.symbols = all->input->symbols,
			.arena = &arenas[i]->parts,
			.names = &arenas[i]->names,
			.call_work = &all->call_work[i],
			.drafter = &all->drafters[i],
			.spill = all->input->spill,
		};
	}
}

static void merge_deinit(struct merge *all)
{
	for (size_t i = 0; i < ux_countof(all->drafters); i++)
		ux_gsym_drafter_deinit(&all->drafters[i]);
	ux_piece_vec_deinit(&all->functions);
	ux_piece_vec_deinit(&all->lines);
	ux_piece_vec_deinit(&all->symbols);
}

static enum ux_code merge_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct merge *all = ctx;
	const struct ux_collection *collection = all->input->collection;
	(void)worker;
	if (job >= JOB_RELEASE) {
		const struct ux_release *release = &all->input->release;
		release->fn(release->ctx, release->first + job - JOB_RELEASE);
		return UX_OK;
	}
	struct merger *m = &all->mergers[job];
	m->err = err;
	return job == JOB_FUNCTIONS
		       ? merge_functions(m, collection, &all->functions)
		       : merge_lines_and_symbols(m, collection, &all->lines, &all->symbols);
}

enum ux_code ux_merge(const struct ux_merge_input *input, struct ux_merge_memory *memory,
		      struct ux_piece_vec *ret, struct ux_error *err)
{
	ux_cleanup(merge_deinit) struct merge all = {.input = input};
	ux_cleanup(ux_piece_vec_deinit) struct ux_piece_vec fills = {.spill = input->spill};
	size_t n_jobs = JOB_RELEASE;
	if (input->threads > 1)
		n_jobs += input->release.end - input->release.first;
	merge_init(&all, memory);
	UX_TRY(ux_pool_run(input->threads, n_jobs, merge_job, &all, err));
	struct merger *m = &all.mergers[JOB_SYMBOLS];
	m->err = err;
	UX_TRY(fill_symbols(m, &all.functions, &all.lines, &all.symbols, &fills));
	return interleave(&all.functions, &fills, ret, err);
}
