/* SPDX-License-Identifier: Apache-2.0 */
/* Names the functions of all units and makes them disjoint, in parts by address. */
#include "merge.h"

#include "elf_defs.h"
#include "function_name.h"

enum {
	PART_MIN = 1 << 10, /* functions of a part; fewer are not worth a thread's start */

	NAMES_AHEAD = 8, /* number of functions ahead whose names are prefetched, to hide the
			    latency of memory */

	/* A part has a share of each budget. All shares together are this many times the budget: if
	 * there is much work, it is often in one part. */
	SHARES = 4,

	/* Budget for comparing names of symbols with names of functions, in bytes: this many for
	 * each function, plus a fixed amount. Real files need up to 100 for each. */
	NAME_WORK_EACH = 1 << 9,
	NAME_WORK_FREE = 1 << 24,

	/* Budget of rows for entries inside of functions, since thousands of symbols may each cover
	 * the rest of a function with thousands of rows. When it is used up, entries get no names
	 * of their own. */
	ENTRY_ROWS_MAX = 1 << 22,
};

/* --- collecting ------------------------------------------------------------------------------- */

/* Returns where the part begins: functions with one start are in one part, since only one of those
 * with equal ranges is kept. */
static size_t functions_begin_part(const struct ux_merge_functions *f, size_t part)
{
	assert(part <= f->n_parts);
	const struct ux_piece *sorted = f->sorted.data;
	size_t n = f->sorted.size, at = n / f->n_parts * part;
	while (at > 0 && at < n && sorted[at].start == sorted[at - 1].start)
		at++;
	return part == f->n_parts ? n : at;
}

enum ux_code ux_merge_functions_open(struct ux_merge_functions *f,
				     const struct ux_merge_input *input,
				     struct ux_merge_memory *memory, struct ux_error *err)
{
	*f = (struct ux_merge_functions){.symbols = input->symbols,
					 .spill = input->spill,
					 .sorted.spill = input->spill,
					 .names = UX_SYMBOL_NAMES_INIT};
	UX_TRY(ux_pieces_gather(input->collection, UX_UNIT_FUNCTIONS, &f->sorted, err));
	ux_pieces_sort(&f->sorted);
	f->n_parts =
		ux_max((size_t)1, ux_min(f->sorted.size / PART_MIN, (size_t)UX_FUNCTION_PARTS));
	f->share = (unsigned)ux_max(f->n_parts / SHARES, (size_t)1);
	for (size_t i = 0; i < f->n_parts; i++) {
		struct ux_function_part *part = &f->parts[i];
		part->first = functions_begin_part(f, i);
		part->end = functions_begin_part(f, i + 1);
		part->memory = &memory->arenas[i];
		part->named.spill = part->flat.spill = input->spill;
		ux_merger_init(&part->merger, &part->memory->parts, f->share);
		part->memory->parts.budget /= f->share;
		part->memory->names.budget /= f->share;
	}
	return UX_OK;
}

void ux_merge_functions_deinit(struct ux_merge_functions *f)
{
	for (size_t i = 0; i < f->n_parts; i++) {
		ux_merger_deinit(&f->parts[i].merger);
		ux_piece_vec_deinit(&f->parts[i].named);
		ux_piece_vec_deinit(&f->parts[i].flat);
	}
	ux_piece_vec_deinit(&f->sorted);
	ux_symbol_names_deinit(&f->names);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Charges the length of the symbols' names to the budget. Returns false when it is used up. */
static bool names_afford(const struct ux_code_symbol *symbols, size_t n, uint64_t *left)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < n; i++)
		bytes += symbols[i].name_size;
	bool ok = bytes <= *left;
	*left -= ok ? bytes : 0;
	return ok;
}

/* Prefetches the names that naming function i and its symbols will read. Names are scattered over
 * the sections, so that each would wait for memory. (Always inlined: gcc drops calls of a function
 * that only prefetches.) */
ux_inline void names_prefetch(const struct ux_merge_functions *f, size_t i, size_t end,
			      size_t symbol)
{
	if (i < end && f->sorted.data[i].name)
		__builtin_prefetch(f->sorted.data[i].name);
	if (symbol < f->symbols->size)
		__builtin_prefetch(f->symbols->data[symbol].name);
}

/* Names the functions of a part by symbols at their start. Of equal ranges the first one that gets
 * a name is kept; functions without a name are dropped. */
static enum ux_code part_name(struct ux_merge_functions *f, struct ux_function_part *part,
			      struct ux_error *err)
{
	const struct ux_piece *sorted = f->sorted.data;
	const struct ux_code_symbol *symbols = f->symbols->data;
	size_t size = part->end - part->first, symbol, n_symbols = f->symbols->size;
	uint64_t work = NAME_WORK_FREE / f->share + (uint64_t)NAME_WORK_EACH * size;
	struct ux_piece_vec *named = &part->named;
	struct ux_arena *arena = &part->memory->names;
	if (size == 0)
		return UX_OK;
	if (!ux_piece_vec_reserve(named, size))
		return ux_error_nomem(err);
	symbol = ux_code_symbols_index_from(f->symbols, sorted[part->first].start);
	for (size_t i = part->first; i < part->end; i++) {
		struct ux_piece p = sorted[i];
		const struct ux_piece *last = named->size > 0 ? ux_piece_vec_end(named) - 1 : NULL;
		bool no_memory = false;
		names_prefetch(f, i + NAMES_AHEAD, part->end, symbol + NAMES_AHEAD);
		if (last && last->start == p.start && last->size == p.size)
			continue;
		while (symbol < n_symbols && symbols[symbol].start < p.start)
			symbol++;
		size_t n = ux_code_symbols_count(f->symbols, symbol, p.start);
		const struct ux_code_symbol *at = n > 0 ? &symbols[symbol] : NULL;
		if (p.name && !names_afford(at, n, &work))
			n = 0;
		else if (ux_piece_is_misplaced(&p, f->symbols, symbol, n, &f->names, &no_memory))
			continue;
		p.name = ux_function_name(p.name, p.own, at, n, arena, &no_memory);
		if (no_memory)
			return ux_arena_fail(arena, err);
		if (p.name)
			UX_TRY(ux_pieces_add(named, &p, err));
	}
	return UX_OK;
}

/* --- entries inside of functions -------------------------------------------------------------- */

/* Returns true for a symbol that is a function of its own inside of another one: an entry of an
 * assembler function, such as srso_safe_ret in Linux' srso_alias_untrain_ret. */
static bool symbol_is_inner_entry(const struct ux_code_symbol *s, const struct ux_piece *p)
{
	return s->start > p->start && s->size > 0 && s->size <= ux_piece_end(p) - s->start &&
	       !s->exact && s->bind != STB_LOCAL;
}

/* Adds the entries inside of one function; `symbol` is the index of the first symbol after its
 * start, and *rows the budget of rows. If symbols have one start, the first is the best. */
static enum ux_code part_add_entries_of(struct ux_merge_functions *f, struct ux_function_part *part,
					const struct ux_piece *p, size_t symbol, uint64_t *rows,
					struct ux_error *err)
{
	const struct ux_code_symbol_vec *symbols = f->symbols;
	struct ux_merger *m = &part->merger;
	ux_cleanup(ux_piece_reader_deinit) struct ux_piece_reader reader = {0};
	for (; symbol < symbols->size && symbols->data[symbol].start < ux_piece_end(p); symbol++) {
		const struct ux_code_symbol *s = &symbols->data[symbol];
		struct ux_piece entry;
		bool no_memory = false;
		bool alias = symbol > 0 && s->start == s[-1].start;
		if (m->call_work == 0 || *rows == 0)
			break;
		m->call_work--;
		if (alias || !symbol_is_inner_entry(s, p))
			continue;
		UX_TRY(ux_merger_cut(m, &reader, p, s->start, s->start + s->size, &entry, err));
		*rows -= ux_min(*rows, (uint64_t)entry.draft.n_rows);
		entry.name = ux_symbol_name(s, &part->memory->names, &no_memory);
		entry.own = 0;
		entry.before = 0;
		entry.part = false;
		if (no_memory)
			return ux_arena_fail(&part->memory->names, err);
		UX_TRY(ux_pieces_add(&part->named, &entry, err));
	}
	return UX_OK;
}

/*
 * Adds pieces for the entries inside of a part's functions: the symbol's name with the function's
 * rows. A function with inlined calls was compiled, and has no entries.
 */
static enum ux_code part_add_entries(struct ux_merge_functions *f, struct ux_function_part *part,
				     struct ux_error *err)
{
	const struct ux_code_symbol_vec *symbols = f->symbols;
	size_t n = part->named.size;
	size_t symbol = n > 0 ? ux_code_symbols_index_from(symbols, part->named.data[0].start) : 0;
	uint64_t rows = ENTRY_ROWS_MAX / f->share;
	for (size_t i = 0; i < n; i++) {
		const struct ux_piece p = part->named.data[i]; /* a copy: the list grows */
		while (symbol < symbols->size && symbols->data[symbol].start <= p.start)
			symbol++;
		if (p.draft.n_inlines == 0)
			UX_TRY(part_add_entries_of(f, part, &p, symbol, &rows, err));
	}
	if (part->named.size > n)
		ux_pieces_sort(&part->named);
	return UX_OK;
}

/* --- disjoint pieces -------------------------------------------------------------------------- */

/* Sets how far the part's functions reach, and whether none lies in another one. */
static void part_measure(struct ux_function_part *part)
{
	part->disjoint = true;
	for (size_t i = 0; i < part->named.size; i++) {
		const struct ux_piece *p = &part->named.data[i];
		part->disjoint &= p->start >= part->reach;
		part->reach = ux_max(part->reach, ux_piece_end(p));
	}
}

static enum ux_code part_flatten(struct ux_function_part *part, struct ux_error *err)
{
	part->flat.size = 0;
	return part->disjoint ? UX_OK
			      : ux_merger_flatten(&part->merger, part->named.data, part->named.size,
						  &part->flat, err);
}

enum ux_code ux_merge_functions_name(struct ux_merge_functions *f, size_t part,
				     struct ux_error *err)
{
	assert(part < f->n_parts);
	struct ux_function_part *p = &f->parts[part];
	UX_TRY(part_name(f, p, err));
	UX_TRY(part_add_entries(f, p, err));
	part_measure(p);
	return part_flatten(p, err);
}

/* Moves the functions of a later part to `to`. */
static enum ux_code part_move(struct ux_function_part *to, struct ux_function_part *from,
			      struct ux_error *err)
{
	assert(to < from);
	struct ux_piece_vec *list = &to->named;
	if (!ux_piece_vec_reserve(list, list->size + from->named.size))
		return ux_error_nomem(err);
	memcpy(ux_piece_vec_end(list), from->named.data, from->named.size * sizeof(*list->data));
	list->size += from->named.size;
	to->reach = ux_max(to->reach, from->reach);
	to->disjoint = false;
	from->named.size = from->flat.size = 0;
	return UX_OK;
}

/* Functions seldom reach into the next part: then both are made disjoint again, as one part. */
enum ux_code ux_merge_functions_join(struct ux_merge_functions *f, struct ux_error *err)
{
	struct ux_function_part *open = NULL; /* the last one with functions */
	bool moved = false;
	ux_piece_vec_deinit(&f->sorted);
	for (size_t i = 0; i < f->n_parts; i++) {
		struct ux_function_part *part = &f->parts[i];
		if (part->named.size == 0)
			continue;
		if (open && part->named.data[0].start < open->reach) {
			UX_TRY(part_move(open, part, err));
			moved = true;
			continue;
		}
		if (moved)
			UX_TRY(part_flatten(open, err));
		open = part;
		moved = false;
	}
	return moved ? part_flatten(open, err) : UX_OK;
}

const struct ux_piece_vec *ux_merge_functions_of(const struct ux_merge_functions *f, size_t part)
{
	assert(part < f->n_parts);
	const struct ux_function_part *p = &f->parts[part];
	return p->disjoint ? &p->named : &p->flat;
}
