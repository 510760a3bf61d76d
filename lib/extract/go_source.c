/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Go's own tables as units of code. */
#include "go_source.h"

#include "code_reader.h"
#include "gosym_code.h"
#include "order.h"

enum {
	UNIT_FUNCTIONS = 512,
	UNIT_WEIGHT = 1 << 18, /* bytes of code of a unit, which is one job */
	PADDING_MAX = 64,      /* bytes of padding between two functions */
};

static int go_compare_segments(const void *a, const void *b)
{
	const struct ux_gosym_segment *x = a, *y = b;
	UX_ORDER(x->pc, y->pc);
	UX_ORDER(x->bytes.size, y->bytes.size);
	UX_ORDER(x->bytes.data, y->bytes.data);
	return 0;
}

void ux_go_memory_sort(struct ux_go_memory *memory, size_t n)
{
	if (n > 1)
		qsort(memory->segments, n, sizeof(*memory->segments), go_compare_segments);
	memory->image.segments = memory->segments;
	memory->image.n_segments = n;
}

void ux_go_memory_close(struct ux_go_memory *memory)
{
	free(memory->segments);
	free(memory->words);
	*memory = (struct ux_go_memory){0};
}

/* --- the reader ------------------------------------------------------------------------------- */

/* The reader, which groups Go's functions into units of a fixed number. */
struct go_reader {
	const struct ux_gosym *tables;
	struct ux_gosym_code *workers;
	unsigned n_workers;
};

static void go_reader_deinit(struct go_reader *r)
{
	for (unsigned i = 0; i < r->n_workers; i++)
		ux_gosym_code_deinit(&r->workers[i]);
	free(r->workers);
}

static uint64_t go_reader_weigh(void *ctx, uint32_t wave, uint32_t unit)
{
	(void)wave;
	(void)ctx;
	(void)unit;
	return UNIT_WEIGHT;
}

static enum ux_code go_reader_open(void *ctx, const struct ux_code_request *request, bool *ret_open,
				   uint64_t *ret_cost, struct ux_error *err)
{
	(void)ctx;
	(void)request;
	(void)err;
	*ret_open = true;
	*ret_cost = 0;
	return UX_OK;
}

static enum ux_code go_add_function(struct go_reader *r, const struct ux_code_request *request,
				    uint32_t i, struct ux_error *err)
{
	struct ux_gosym_code *code = &r->workers[request->worker];
	struct ux_gosym_function f;
	struct ux_error reason = UX_ERROR_INIT;
	enum ux_code result = ux_gosym_function_read(r->tables, i, &f, &reason);
	if (result == UX_ENOTFOUND)
		return UX_OK;
	if (result != UX_OK)
		return ux_code_damage_tolerate(request->damage, result, &reason, err);
	UX_TRY(ux_gosym_code_add(code, &f, err));
	if (code->damage) {
		(void)ux_error_set(&reason, UX_ECORRUPT, "Go function at 0x%" PRIx64 ": %s", f.lo,
				   code->damage);
		ux_code_damage_add(request->damage, &reason);
	}
	return UX_OK;
}

static enum ux_code go_reader_read(void *ctx, const struct ux_code_request *request,
				   struct ux_code_unit *ret, struct ux_error *err)
{
	struct go_reader *r = ctx;
	struct ux_gosym_code *code = &r->workers[request->worker];
	uint64_t first = (uint64_t)request->unit * UNIT_FUNCTIONS;
	uint64_t end = ux_min(first + UNIT_FUNCTIONS, (uint64_t)r->tables->table.n_functions);
	if (!ux_gosym_code_begin(code, r->tables))
		return ux_error_nomem(err);
	for (uint64_t i = first; i < end; i++)
		UX_TRY(go_add_function(r, request, (uint32_t)i, err));
	*ret = ux_gosym_code_unit(code);
	return UX_OK;
}

/* Reads all functions. Damage costs only the function it is in. */
static enum ux_code go_collect(const struct ux_gosym *tables, const struct ux_module_build *build,
			       struct ux_collection *ret, struct ux_error *err)
{
	uint32_t n = (tables->table.n_functions + UNIT_FUNCTIONS - 1) / UNIT_FUNCTIONS;
	unsigned threads = ux_max(1u, (unsigned)ux_min((uint32_t)build->threads, n));
	ux_cleanup(go_reader_deinit) struct go_reader r = {
		.tables = tables, .workers = calloc(threads, sizeof(*r.workers))};
	if (!r.workers)
		return ux_error_nomem(err);
	r.n_workers = threads;
	struct ux_code_reader reader = {
		.ctx = &r,
		.workers = threads,
		.n_units = n,
		.weigh = go_reader_weigh,
		.open = go_reader_open,
		.read = go_reader_read,
	};
	struct ux_collect_options options = {
		.symbols = &build->symbols, .threads = threads, .spill = build->spill};
	return ux_collect_units(&reader, &options, ret, err);
}

/* --- the rest, which is read from DWARF ------------------------------------------------------- */

/* The ranges of functions with rows. Padding between two of them is included. */
struct own_ranges {
	struct ux_range_vec list;
	bool gap; /* a function without rows follows the last range */
};

static bool go_add_range(struct own_ranges *own, const struct ux_piece *p)
{
	struct ux_range_vec *list = &own->list;
	struct ux_range range = {p->start, ux_piece_end(p)};
	struct ux_range *last = list->size > 0 ? &list->data[list->size - 1] : NULL;
	bool gap = own->gap;
	own->gap = p->draft.n_rows == 0;
	if (own->gap || (last && p->start < last->hi))
		return true;
	if (last && !gap && p->start - last->hi <= PADDING_MAX) {
		last->hi = range.hi;
		return true;
	}
	return ux_range_vec_append(list, range);
}

static bool go_gather_ranges(const struct ux_collection *go, struct ux_range_vec *ret)
{
	struct own_ranges own = {.list = *ret};
	bool ok = true;
	for (size_t u = 0; u < go->n_units; u++)
		for (uint32_t i = 0; ok && i < go->units[u].n_functions; i++)
			ok = go_add_range(&own, &go->units[u].functions[i]);
	*ret = own.list;
	return ok;
}

enum ux_code ux_go_ranges_subtract(const struct ux_collection *go, const struct ux_range_vec *text,
				   struct ux_range_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec own = {0}, left = {0};
	size_t k = 0;
	if (!go_gather_ranges(go, &own))
		return ux_error_nomem(err);
	for (size_t i = 0; i < text->size; i++) {
		struct ux_range rest = text->data[i];
		for (; k < own.size && own.data[k].lo < rest.hi; k++) {
			struct ux_range before = {rest.lo, own.data[k].lo};
			if (before.lo < before.hi && !ux_range_vec_append(&left, before))
				return ux_error_nomem(err);
			rest.lo = ux_max(rest.lo, own.data[k].hi);
			if (own.data[k].hi >= rest.hi)
				break; /* the padding may reach into the next section */
		}
		if (rest.lo < rest.hi && !ux_range_vec_append(&left, rest))
			return ux_error_nomem(err);
	}
	*ret = left;
	left = (struct ux_range_vec){0};
	return UX_OK;
}

enum ux_code ux_go_source_read(struct ux_go_source *go, struct ux_module_build *build,
			       struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	if (!ux_extract_includes(build->options, UX_SOURCE_GOPCLNTAB))
		return UX_OK;
	enum ux_code code =
		ux_gosym_open(&go->memory.image, &go->memory.hints, &go->tables, &reason);
	if (code == UX_ENOTFOUND)
		return UX_OK;
	if (code != UX_OK) {
		ux_module_build_bad_source(build, &reason);
		return UX_OK;
	}
	memcpy(build->stats.go_version, go->tables.version, sizeof(build->stats.go_version));
	UX_TRY(go_collect(&go->tables, build, &go->units, err));
	go->dwarf_rest_only = go->tables.trees != UX_GOSYM_TREES_NONE;
	return go->dwarf_rest_only ? ux_go_ranges_subtract(&go->units, &build->text, &go->rest, err)
				   : UX_OK;
}

struct ux_range_set ux_go_source_rest(const struct ux_go_source *go,
				      const struct ux_module_build *build)
{
	if (go->dwarf_rest_only)
		return (struct ux_range_set){go->rest.data, go->rest.size};
	return ux_module_build_text(build);
}

/* Corrects the end of a C function that Go's linker included. In Go's index it extends up to the
 * next function and includes the padding; the end of its symbol is exact. */
static void go_trim(struct ux_piece *p, const struct ux_code_symbol_vec *symbols)
{
	size_t n = 0;
	const struct ux_code_symbol *s =
		p->draft.n_rows == 0 ? ux_code_symbols_at(symbols, p->start, &n) : NULL;
	if (n > 0 && s->size > 0 && s->size < p->size)
		p->size = (uint32_t)s->size;
}

/* Counts a unit of Go's tables separately from DWARF units. */
static void go_count_unit(struct ux_unit_pieces *unit, struct ux_extract_stats *stats)
{
	if (unit->damage.count > 0 && stats->bad_go == 0)
		stats->first_bad_go = unit->damage.first;
	stats->bad_go += unit->damage.count;
	stats->found[UX_SOURCE_GOPCLNTAB] += unit->n_functions;
	unit->damage.count = 0;
}

enum ux_code ux_go_source_add(struct ux_go_source *source, struct ux_module_build *build,
			      struct ux_error *err)
{
	struct ux_collection *go = &source->units;
	if (go->n_units == 0)
		return UX_OK;
	for (size_t u = 0; u < go->n_units; u++)
		for (uint32_t i = 0; i < go->units[u].n_functions; i++)
			go_trim(&go->units[u].functions[i], &build->symbols);
	for (size_t u = 0; u < go->n_units; u++)
		go_count_unit(&go->units[u], &build->stats);
	build->stats.go_units += go->n_units;
	return ux_module_build_add_collection(build, go, err);
}

void ux_go_source_close(struct ux_go_source *go)
{
	ux_range_vec_deinit(&go->rest);
	ux_collection_free(&go->units);
	ux_go_memory_close(&go->memory);
}
