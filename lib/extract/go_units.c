/* SPDX-License-Identifier: Apache-2.0 */
/* Go's functions as units of pieces. */
#include "go_units.h"

#include "gosym_code.h"
#include "map.h"
#include "pool.h"
#include "source_path.h"
#include "unit_cutter.h"

enum {
	UNIT_FUNCTIONS = 512,
	UNIT_TEXT = 1 << 18, /* bytes of directories in a unit: real ones have 20,000 */
	PADDING_MOST = 64,   /* bytes between two functions */
};

/* Pieces are bounded by the code, which is in the file; this bounds what a thread may hold. */
#define ARENA_BUDGET (UINT64_C(1) << 36)

ux_inline uint64_t hash_key(uint64_t key)
{
	return ux_hash_u64(key);
}

ux_inline bool eq_key(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(number_map, uint64_t, uint32_t, hash_key, eq_key);
UX_VEC(name_vec, const char *);

/* One thread's tools, and the unit it is at. */
struct worker {
	struct ux_arena *arena;
	struct ux_gosym_code code;
	struct ux_gsym_drafter drafter;
	struct number_map file_numbers; /* by the offset of their name */
	struct number_map name_numbers; /* by their address */
	struct ux_code_file_vec files;
	struct name_vec names;
	struct ux_gsym_row_vec rows;
	struct ux_code_inline_vec inlines;
	struct ux_gsym_range_vec ranges;
	struct ux_piece_vec functions;
	uint64_t text_left; /* of UNIT_TEXT */
};

struct reader {
	const struct ux_gosym *g;
	struct worker *workers;
	struct ux_unit_pieces *units;
};

static void worker_deinit(struct worker *w)
{
	ux_gosym_code_deinit(&w->code);
	ux_gsym_drafter_deinit(&w->drafter);
	number_map_deinit(&w->file_numbers);
	number_map_deinit(&w->name_numbers);
	ux_code_file_vec_deinit(&w->files);
	name_vec_deinit(&w->names);
	ux_gsym_row_vec_deinit(&w->rows);
	ux_code_inline_vec_deinit(&w->inlines);
	ux_gsym_range_vec_deinit(&w->ranges);
	ux_piece_vec_deinit(&w->functions);
}

/* Empties what is a unit's own; files 0 and 1 are none and nameless. */
static bool begin_unit(struct worker *w)
{
	struct ux_code_file none = {"", ""};
	number_map_deinit(&w->file_numbers);
	number_map_deinit(&w->name_numbers);
	w->files.size = w->names.size = w->functions.size = 0;
	w->text_left = UNIT_TEXT;
	return ux_code_file_vec_append(&w->files, none) && ux_code_file_vec_append(&w->files, none);
}

/* The unit's number of the file whose name is at off, `none` when nothing is. False when memory is
 * short. */
static bool file_number(const struct ux_gosym *g, struct worker *w, uint32_t off, uint32_t none,
			uint32_t *ret)
{
	bool fresh = false;
	*ret = none;
	if (off == UX_GOSYM_NOWHERE)
		return true;
	uint32_t *number = number_map_insert(&w->file_numbers, off, &fresh);
	if (!number)
		return false;
	struct ux_code_path path = {.name = fresh ? ux_gosym_text(g->table.files, off) : NULL};
	if (path.name && path.name[0] != '\0') {
		struct ux_code_path last = {0};
		const char *last_dir = NULL;
		struct ux_code_file made = {0};
		*number = (uint32_t)w->files.size;
		if (!ux_source_path_split(&path, w->arena, &w->text_left, &last, &last_dir,
					  &made) ||
		    !ux_code_file_vec_append(&w->files, made))
			return false;
	}
	*ret = *number != 0 ? *number : none;
	return true;
}

static bool name_number(struct worker *w, const char *name, uint32_t *ret)
{
	bool fresh = false;
	uint32_t *number = number_map_insert(&w->name_numbers, (uintptr_t)name, &fresh);
	if (!number || (fresh && !name_vec_append(&w->names, name)))
		return false;
	if (fresh)
		*number = (uint32_t)w->names.size - 1;
	*ret = *number;
	return true;
}

static bool convert_rows(const struct ux_gosym *g, struct worker *w)
{
	w->rows.size = 0;
	for (size_t i = 0; i < w->code.rows.size; i++) {
		const struct ux_gosym_row *from = &w->code.rows.data[i];
		struct ux_gsym_row row = {from->off, from->line, UX_FILE_NAMELESS};
		if (!file_number(g, w, from->file, UX_FILE_NAMELESS, &row.file) ||
		    !ux_gsym_row_vec_append(&w->rows, row))
			return false;
	}
	return true;
}

static bool convert_inlines(const struct ux_gosym *g, struct worker *w)
{
	w->inlines.size = w->ranges.size = 0;
	for (size_t i = 0; i < w->code.inlines.size; i++) {
		const struct ux_gosym_inline *from = &w->code.inlines.data[i];
		struct ux_code_inline made = {.call_line = from->call_line,
					      .depth = from->depth,
					      .range_first = from->range_first,
					      .range_count = from->range_count};
		if (!file_number(g, w, from->call_file, 0, &made.call_file) ||
		    !name_number(w, from->name, &made.name) ||
		    !ux_code_inline_vec_append(&w->inlines, made))
			return false;
	}
	for (size_t i = 0; i < w->code.ranges.size; i++) {
		const struct ux_gosym_range *from = &w->code.ranges.data[i];
		struct ux_gsym_range range = {from->lo, from->hi};
		if (!ux_gsym_range_vec_append(&w->ranges, range))
			return false;
	}
	return true;
}

static bool keep_function(const struct ux_gosym *g, struct worker *w,
			  const struct ux_gosym_function *from, uint32_t unit)
{
	if (!convert_rows(g, w) || !convert_inlines(g, w))
		return false;
	struct ux_piece piece = {
		.start = from->lo, .size = w->code.size, .unit = unit, .name = from->name};
	struct ux_gsym_function f = {
		.size = piece.size,
		.rows = w->rows.data,
		.n_rows = w->rows.size,
		.inlines = w->inlines.data,
		.n_inlines = w->inlines.size,
		.ranges = w->ranges.data,
	};
	return ux_gsym_draft_make(&w->drafter, &f, w->arena, &piece.draft) &&
	       ux_piece_vec_append(&w->functions, piece);
}

static void note(struct ux_unit_pieces *unit, const struct ux_error *reason)
{
	if (unit->bad++ == 0)
		unit->reason = *reason;
}

static enum ux_code read_function(const struct ux_gosym *g, struct worker *w, uint32_t i,
				  uint32_t number, struct ux_unit_pieces *unit,
				  struct ux_error *err)
{
	struct ux_gosym_function f;
	struct ux_error reason = UX_ERROR_INIT;
	enum ux_code code = ux_gosym_function_read(g, i, &f, &reason);
	if (code != UX_OK) {
		if (code != UX_ENOTFOUND)
			note(unit, &reason);
		return UX_OK;
	}
	UX_TRY(ux_gosym_code_read(g, &f, &w->code, err));
	if (w->code.damage) {
		(void)ux_error_set(&reason, UX_ECORRUPT, "Go function at 0x%" PRIx64 ": %s", f.lo,
				   w->code.damage);
		note(unit, &reason);
	}
	return keep_function(g, w, &f, number) ? UX_OK : ux_error_nomem(err);
}

/* A copy of n items in the arena, aligned for pointers; NULL for none of them or for want of
 * memory. */
static void *keep(struct ux_arena *arena, const void *data, size_t n, size_t size)
{
	void *copy = n > 0 ? ux_arena_alloc_n(arena, n, size, _Alignof(uint64_t)) : NULL;
	if (copy)
		memcpy(copy, data, n * size);
	return copy;
}

static bool keep_unit(struct worker *w, struct ux_unit_pieces *unit)
{
	unit->n_functions = (uint32_t)w->functions.size;
	unit->n_names = (uint32_t)w->names.size;
	unit->n_files = (uint32_t)w->files.size;
	unit->functions =
		keep(w->arena, w->functions.data, w->functions.size, sizeof(*unit->functions));
	unit->names = keep(w->arena, w->names.data, w->names.size, sizeof(*unit->names));
	unit->files = keep(w->arena, w->files.data, w->files.size, sizeof(*unit->files));
	return (unit->functions || unit->n_functions == 0) && (unit->names || unit->n_names == 0) &&
	       unit->files;
}

static enum ux_code read_unit(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	const struct reader *r = ctx;
	struct worker *w = &r->workers[worker];
	uint64_t first = (uint64_t)job * UNIT_FUNCTIONS;
	uint64_t end = ux_min(first + UNIT_FUNCTIONS, (uint64_t)r->g->table.n_functions);
	if (!begin_unit(w))
		return ux_error_nomem(err);
	for (uint64_t i = first; i < end; i++)
		UX_TRY(read_function(r->g, w, (uint32_t)i, (uint32_t)job, &r->units[job], err));
	return keep_unit(w, &r->units[job]) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code run(struct reader *r, struct ux_go_units *go, const char *spill,
			struct ux_error *err)
{
	for (unsigned i = 0; i < go->n_arenas; i++) {
		ux_arena_init(&go->arenas[i], ARENA_BUDGET);
		go->arenas[i].spill = spill;
		r->workers[i].arena = &go->arenas[i];
	}
	enum ux_code code = ux_pool_run(go->n_arenas, go->n_units, read_unit, r, err);
	for (unsigned i = 0; i < go->n_arenas; i++)
		worker_deinit(&r->workers[i]);
	return code;
}

enum ux_code ux_go_units_read(const struct ux_gosym *g, unsigned threads, const char *spill,
			      struct ux_go_units *ret, struct ux_error *err)
{
	ux_cleanup(ux_go_units_free) struct ux_go_units go = {0};
	size_t n = ((size_t)g->table.n_functions + UNIT_FUNCTIONS - 1) / UNIT_FUNCTIONS;
	unsigned n_threads = (unsigned)ux_min((size_t)threads, n);
	ux_cleanup(ux_free_ptr) struct worker *workers = calloc(n_threads + 1u, sizeof(*workers));
	go.units = calloc(n + 1, sizeof(*go.units));
	go.arenas = calloc(n_threads + 1u, sizeof(*go.arenas));
	if (!workers || !go.units || !go.arenas)
		return ux_error_nomem(err);
	go.n_units = n;
	go.n_arenas = n_threads;
	struct reader r = {.g = g, .workers = workers, .units = go.units};
	UX_TRY(run(&r, &go, spill, err));
	*ret = go;
	go = (struct ux_go_units){0};
	return UX_OK;
}

void ux_go_units_free(struct ux_go_units *go)
{
	for (unsigned i = 0; i < go->n_arenas; i++)
		ux_arena_deinit(&go->arenas[i]);
	free(go->arenas);
	free(go->units);
	*go = (struct ux_go_units){0};
}

/* Ranges of functions with lines, joined over the padding between two of them. */
struct own_ranges {
	struct ux_range_vec list;
	bool apart; /* a function without lines came behind the last one */
};

static bool add_range(struct own_ranges *own, const struct ux_piece *p)
{
	struct ux_range_vec *list = &own->list;
	struct ux_range range = {p->start, ux_piece_end(p)};
	struct ux_range *last = list->size > 0 ? &list->data[list->size - 1] : NULL;
	bool apart = own->apart;
	own->apart = p->draft.n_rows == 0;
	if (own->apart || (last && p->start < last->hi))
		return true;
	if (last && !apart && p->start - last->hi <= PADDING_MOST) {
		last->hi = range.hi;
		return true;
	}
	return ux_range_vec_append(list, range);
}

static bool gather_ranges(const struct ux_go_units *go, struct ux_range_vec *ret)
{
	struct own_ranges own = {.list = *ret};
	bool ok = true;
	for (size_t u = 0; u < go->n_units; u++)
		for (uint32_t i = 0; ok && i < go->units[u].n_functions; i++)
			ok = add_range(&own, &go->units[u].functions[i]);
	*ret = own.list;
	return ok;
}

enum ux_code ux_go_units_leave(const struct ux_go_units *go, const struct ux_range_vec *text,
			       struct ux_range_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec own = {0}, left = {0};
	size_t k = 0;
	if (!gather_ranges(go, &own))
		return ux_error_nomem(err);
	for (size_t i = 0; i < text->size; i++) {
		struct ux_range rest = text->data[i];
		for (; k < own.size && own.data[k].lo < rest.hi; k++) {
			struct ux_range before = {rest.lo, own.data[k].lo};
			if (before.lo < before.hi && !ux_range_vec_append(&left, before))
				return ux_error_nomem(err);
			rest.lo = ux_max(rest.lo, own.data[k].hi);
			if (own.data[k].hi >= rest.hi)
				break; /* it may reach into the next section */
		}
		if (rest.lo < rest.hi && !ux_range_vec_append(&left, rest))
			return ux_error_nomem(err);
	}
	*ret = left;
	left = (struct ux_range_vec){0};
	return UX_OK;
}

/* The arenas live as long as the collection. */
static bool move_arenas(struct ux_go_units *go, struct ux_collection *all)
{
	struct ux_arena *more =
		reallocarray(all->arenas, (size_t)all->n_arenas + go->n_arenas, sizeof(*more));
	if (!more)
		return false;
	memcpy(more + all->n_arenas, go->arenas, go->n_arenas * sizeof(*more));
	all->arenas = more;
	all->n_arenas += go->n_arenas;
	go->n_arenas = 0;
	return true;
}

/* A function in C that Go's linker took in goes up to the next one in Go's index, padding and all:
 * its symbol knows better. */
static void trim(struct ux_piece *p, const struct ux_code_symbol_vec *symbols)
{
	size_t n = 0;
	const struct ux_code_symbol *s =
		p->draft.n_rows == 0 ? ux_code_symbols_at(symbols, p->start, &n) : NULL;
	if (n > 0 && s->size > 0 && s->size < p->size)
		p->size = (uint32_t)s->size;
}

/* Numbers the unit's pieces, and counts for itself what is no DWARF unit. */
static void count_unit(struct ux_unit_pieces *unit, uint32_t first, struct ux_extract_stats *stats)
{
	for (uint32_t i = 0; i < unit->n_functions; i++)
		unit->functions[i].unit += first;
	if (unit->bad > 0 && stats->bad_go == 0)
		stats->first_bad_go = unit->reason;
	stats->bad_go += unit->bad;
	stats->found[UX_SOURCE_GOPCLNTAB] += unit->n_functions;
	unit->bad = 0;
}

enum ux_code ux_go_units_add(struct ux_go_units *go, struct ux_module_build *build,
			     struct ux_error *err)
{
	if (go->n_units == 0)
		return UX_OK;
	for (size_t u = 0; u < go->n_units; u++)
		for (uint32_t i = 0; i < go->units[u].n_functions; i++)
			trim(&go->units[u].functions[i], &build->symbols);
	for (size_t u = 0; u < go->n_units; u++)
		count_unit(&go->units[u], (uint32_t)build->collection.n_units, &build->stats);
	build->stats.go_units += go->n_units;
	if (!move_arenas(go, &build->collection))
		return ux_error_nomem(err);
	return ux_module_build_add_units(build, go->units, go->n_units, err);
}
