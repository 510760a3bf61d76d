/* SPDX-License-Identifier: Apache-2.0 */
/* Merges functions and symbols, so that each address has one piece. */
#include "merge.h"

#include "function_name.h"
#include "partition.h"
#include "pool.h"

enum {
	/* Room for pieces of one in this many symbols; functions already cover nearly all of them.
	 * Unused room would still lie between parts that are in use. */
	REST_PART = 16,
};

/* --- memory ----------------------------------------------------------------------------------- */

void ux_merge_memory_init(struct ux_merge_memory *memory, uint64_t pieces, uint64_t names,
			  struct ux_spill *spill)
{
	*memory = (struct ux_merge_memory){0};
	for (size_t i = 0; i < UX_MERGE_ARENAS; i++) {
		ux_arena_init(&memory->arenas[i].parts, pieces);
		ux_arena_init(&memory->arenas[i].names, names);
		memory->arenas[i].parts.spill = spill;
	}
}

void ux_merge_memory_deinit(struct ux_merge_memory *memory)
{
	for (size_t i = 0; i < UX_MERGE_ARENAS; i++) {
		ux_arena_deinit(&memory->arenas[i].parts);
		ux_arena_deinit(&memory->arenas[i].names);
	}
}

/* --- rows and symbols ------------------------------------------------------------------------- */

/* The pieces that do not depend on functions. */
struct merge_symbols {
	const struct ux_code_symbol_vec *symbols;
	struct ux_merge_arenas *memory;
	struct ux_merger merger;
	struct ux_piece_vec lines; /* rows outside of functions; sorted and disjoint */
	struct ux_piece_vec list;  /* symbols; sorted and disjoint */
};

static void symbols_deinit(struct merge_symbols *s)
{
	ux_merger_deinit(&s->merger);
	ux_piece_vec_deinit(&s->lines);
	ux_piece_vec_deinit(&s->list);
}

/* Makes pieces of symbols, one for each start. */
static enum ux_code symbols_gather(struct merge_symbols *s, struct ux_piece_vec *out,
				   struct ux_error *err)
{
	const struct ux_code_symbol_vec *symbols = s->symbols;
	struct ux_arena *names = &s->memory->names;
	if (!ux_piece_vec_reserve(out, symbols->size))
		return ux_error_nomem(err);
	for (size_t i = 0; i < symbols->size; i++) {
		const struct ux_code_symbol *symbol = &symbols->data[i];
		bool no_memory = false;
		if (i > 0 && symbol->start == symbol[-1].start)
			continue; /* the best name of a start comes first */
		struct ux_piece p = {
			.start = symbol->start,
			.size = (uint32_t)ux_min(symbol->size, (uint64_t)UINT32_MAX),
			.unit = UX_PIECE_NO_UNIT,
			.name = ux_symbol_name(symbol, names, &no_memory),
		};
		if (no_memory)
			return ux_arena_fail(names, err);
		UX_TRY(ux_pieces_add(out, &p, err));
	}
	return UX_OK;
}

/* Makes disjoint pieces of rows and of symbols. */
static enum ux_code symbols_make(struct merge_symbols *s, const struct ux_collection *collection,
				 struct ux_error *err)
{
	ux_cleanup(ux_piece_vec_deinit) struct ux_piece_vec raw = {.spill = s->list.spill};
	UX_TRY(ux_pieces_gather(collection, UX_UNIT_LINES, &raw, err));
	ux_pieces_sort(&raw);
	UX_TRY(ux_merger_flatten(&s->merger, raw.data, raw.size, &s->lines, err));
	raw.size = 0;
	UX_TRY(symbols_gather(s, &raw, err));
	return ux_merger_flatten(&s->merger, raw.data, raw.size, &s->list, err);
}

/* --- everything in order ---------------------------------------------------------------------- */

/* A position in the functions of all parts. */
struct function_cursor {
	const struct ux_merge_functions *functions;
	size_t part;
	size_t index; /* index in the part */
};

/* Returns the function, or NULL after the last one. */
static const struct ux_piece *function_cursor_get(struct function_cursor *c)
{
	for (; c->part < c->functions->n_parts; c->part++, c->index = 0) {
		const struct ux_piece_vec *list = ux_merge_functions_of(c->functions, c->part);
		if (c->index < list->size)
			return &list->data[c->index];
	}
	return NULL;
}

/* The result. Pieces are added in order. */
struct merge_output {
	struct ux_piece_vec *list;
	struct function_cursor next; /* the first function that is not in the list */
};

/* Adds the functions that begin before pc. */
static enum ux_code output_add_functions(struct merge_output *out, uint64_t pc,
					 struct ux_error *err)
{
	const struct ux_piece *p;
	while ((p = function_cursor_get(&out->next)) && p->start < pc) {
		UX_TRY(ux_pieces_add(out->list, p, err));
		out->next.index++;
	}
	return UX_OK;
}

/* Returns the first piece that ends after pc. The pieces are sorted and disjoint. */
static size_t lines_find(const struct ux_piece_vec *lines, uint64_t pc)
{
	return ux_partition_point(i, 0, lines->size, ux_piece_end(&lines->data[i]) <= pc);
}

/*
 * Returns true for the bytes before a function that Linux names after it: NOPs (__pfx_NAME, of
 * objtool) or the hash of its type (__cfi_NAME, of clang). Such bytes have no row of their own: the
 * row there belongs to the previous function.
 */
static bool symbol_is_padding(const struct ux_piece *symbol)
{
	return strncmp(symbol->name, "__pfx_", 6) == 0 || strncmp(symbol->name, "__cfi_", 6) == 0;
}

/* Adds rows to a piece without any: the rows of the first unit that covers a part of it. Before and
 * after them the line is unknown. */
static enum ux_code symbol_add_lines(struct merge_symbols *s, struct ux_piece_reader *reader,
				     struct ux_piece *piece, struct ux_error *err)
{
	const struct ux_piece_vec *lines = &s->lines;
	size_t i = lines_find(lines, piece->start);
	if (i == lines->size || lines->data[i].start >= ux_piece_end(piece) ||
	    symbol_is_padding(piece))
		return UX_OK;
	const struct ux_piece *from = &lines->data[i];
	uint64_t lo = ux_max(from->start, piece->start);
	uint64_t hi = ux_min(ux_piece_end(from), ux_piece_end(piece));
	struct ux_piece part;
	UX_TRY(ux_merger_cut(&s->merger, reader, from, lo, hi, &part, err));
	piece->unit = from->unit;
	return ux_piece_widen(&part, piece->start, ux_piece_end(piece), &s->merger.drafter,
			      s->merger.arena, &piece->draft, err);
}

/* Adds the part [pos, end) of a symbol as pieces. A new piece begins where other rows begin, which
 * happens with crti.o and crtn.o. */
static enum ux_code symbol_add_part(struct merge_symbols *s, const struct ux_piece *symbol,
				    uint64_t pos, uint64_t end, struct ux_piece_reader *reader,
				    struct merge_output *out, struct ux_error *err)
{
	const struct ux_piece_vec *lines = &s->lines;
	while (pos < end) {
		size_t next = lines_find(lines, pos) + 1;
		bool more = next < lines->size && lines->data[next].start < end;
		uint64_t hi = more ? lines->data[next].start : end;
		struct ux_piece part = *symbol;
		part.start = pos;
		part.before += (uint32_t)(pos - symbol->start);
		part.size = (uint32_t)(hi - pos);
		UX_TRY(symbol_add_lines(s, reader, &part, err));
		UX_TRY(output_add_functions(out, pos, err));
		UX_TRY(ux_pieces_add(out->list, &part, err));
		pos = hi;
	}
	return UX_OK;
}

/* Adds the parts of a symbol that no function covers; `next` is the first function that ends after
 * the symbol's start. */
static enum ux_code symbol_add(struct merge_symbols *s, struct function_cursor next,
			       const struct ux_piece *symbol, struct ux_piece_reader *reader,
			       struct merge_output *out, struct ux_error *err)
{
	uint64_t pos = symbol->start, end = ux_piece_end(symbol);
	while (pos < end) {
		const struct ux_piece *function = function_cursor_get(&next);
		bool last = !function || function->start >= end;
		UX_TRY(symbol_add_part(s, symbol, pos, last ? end : function->start, reader, out,
				       err));
		if (last)
			break;
		pos = ux_piece_end(function);
		next.index++;
	}
	return UX_OK;
}

/*
 * Cuts a range without a name at the start of a function that begins inside of it, since a function
 * is always more exact. Returns false when nothing is left: both have the same start, so the range
 * belongs to the function. It is also dropped when the function begins one byte after it, because
 * GHC and signal frames let unwind ranges begin one byte early: unwinders look up return addresses
 * minus one.
 */
static bool unnamed_cut(struct ux_piece *unnamed, const struct ux_piece *function)
{
	uint64_t end = ux_piece_end(unnamed);
	if (function->start <= unnamed->start ||
	    (function->start == unnamed->start + 1 && end > function->start))
		return false;
	unnamed->size = (uint32_t)(ux_min(end, function->start) - unnamed->start);
	return true;
}

/* Makes the result: functions, and the parts of symbols that no function covers. */
static enum ux_code merge_in_order(const struct ux_merge_functions *functions,
				   struct merge_symbols *s, struct ux_piece_vec *ret,
				   struct ux_error *err)
{
	ux_cleanup(ux_piece_reader_deinit) struct ux_piece_reader reader = {0};
	struct function_cursor next = {.functions = functions};
	struct merge_output out = {.list = ret, .next = next};
	size_t n = s->list.size / REST_PART;
	for (size_t i = 0; i < functions->n_parts; i++)
		n += ux_merge_functions_of(functions, i)->size;
	*ret = (struct ux_piece_vec){.spill = functions->spill};
	if (!ux_piece_vec_reserve(ret, n))
		return ux_error_nomem(err);
	for (size_t i = 0; i < s->list.size; i++) {
		struct ux_piece symbol = s->list.data[i];
		const struct ux_piece *function;
		while ((function = function_cursor_get(&next)) &&
		       ux_piece_end(function) <= symbol.start)
			next.index++;
		if (function && symbol.name == ux_no_name && !unnamed_cut(&symbol, function))
			continue;
		UX_TRY(symbol_add(s, next, &symbol, &reader, &out, err));
	}
	return output_add_functions(&out, UINT64_MAX, err);
}

/* --- on several threads ----------------------------------------------------------------------- */

enum {
	JOB_FUNCTIONS, /* collect and sort them */
	JOB_SYMBOLS,
	JOB_RELEASE, /* this job and the following ones */
};

struct merge {
	const struct ux_merge_input *input;
	struct ux_merge_memory *memory;
	struct ux_merge_functions functions;
	struct merge_symbols symbols;
};

static void merge_deinit(struct merge *m)
{
	ux_merge_functions_deinit(&m->functions);
	symbols_deinit(&m->symbols);
}

/* Runs one of the independent jobs. */
static enum ux_code merge_first_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct merge *m = ctx;
	const struct ux_release *release = &m->input->release;
	(void)worker;
	switch (job) {
	case JOB_FUNCTIONS:
		return ux_merge_functions_open(&m->functions, m->input, m->memory, err);
	case JOB_SYMBOLS:
		return symbols_make(&m->symbols, m->input->collection, err);
	default:
		release->fn(release->ctx, release->first + job - JOB_RELEASE);
		return UX_OK;
	}
}

static enum ux_code merge_name_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct merge *m = ctx;
	(void)worker;
	return ux_merge_functions_name(&m->functions, job, err);
}

enum ux_code ux_merge(const struct ux_merge_input *input, struct ux_merge_memory *memory,
		      struct ux_piece_vec *ret, struct ux_error *err)
{
	ux_cleanup(merge_deinit) struct merge m = {
		.input = input,
		.memory = memory,
		.symbols = {.symbols = input->symbols,
			    .memory = &memory->arenas[UX_SYMBOL_ARENAS],
			    .lines.spill = input->spill,
			    .list.spill = input->spill},
	};
	size_t n_jobs = JOB_RELEASE;
	if (input->threads > 1)
		n_jobs += input->release.end - input->release.first;
	ux_merger_init(&m.symbols.merger, &m.symbols.memory->parts, 1);
	UX_TRY(ux_pool_run(input->threads, n_jobs, merge_first_job, &m, err));
	UX_TRY(ux_pool_run(input->threads, m.functions.n_parts, merge_name_job, &m, err));
	UX_TRY(ux_merge_functions_join(&m.functions, err));
	return merge_in_order(&m.functions, &m.symbols, ret, err);
}
