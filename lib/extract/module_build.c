/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the sources of a module and writes its GSYM. */
#include "module_build.h"

#include "dwo_files.h"
#include "pack.h"
#include "pool.h"

#include <stdatomic.h>

/* Limit of memory for cut pieces and shortened names, which are a small part of the input. */
#define MERGE_BUDGET (UINT64_C(1) << 34)

/*
 * Names and paths may be STRINGS_RATIO times as large as the input, plus STRINGS_FREE. Linkers
 * store a string that is the suffix of another one only once, but in real files that does not
 * happen to thousands of them.
 */
enum {
	STRINGS_RATIO = 4,
	STRINGS_FREE = 16 << 20
};

void ux_module_build_init(struct ux_module_build *build, const struct ux_extract_options *options)
{
	*build = (struct ux_module_build){
		.options = options,
		.threads = options->threads ? options->threads : ux_pool_cpus(),
		.folder = {.folder = UX_SPILL_FOLDER},
		.base = UX_BASE_FIRST,
		.stats = {.first_bad = UX_ERROR_INIT,
			  .first_bad_reloc = UX_ERROR_INIT,
			  .first_bad_source = UX_ERROR_INIT,
			  .first_bad_go = UX_ERROR_INIT},
	};
	ux_arena_init(&build->extra, MERGE_BUDGET);
}

void ux_module_build_deinit(struct ux_module_build *build)
{
	ux_alternative_vec_deinit(&build->alternatives);
	ux_piece_symbols_deinit(&build->piece_symbols);
	ux_piece_vec_deinit(&build->pieces);
	ux_merge_memory_deinit(&build->merged);
	ux_arena_deinit(&build->other_names);
	ux_collection_free(&build->collection);
	ux_arena_deinit(&build->extra);
	ux_code_symbol_vec_deinit(&build->symbols);
	ux_range_vec_deinit(&build->text);
}

enum ux_code ux_module_build_add_units(struct ux_module_build *build,
				       const struct ux_unit_pieces *units, size_t n,
				       struct ux_error *err)
{
	struct ux_collection *all = &build->collection;
	if (n == 0)
		return UX_OK;
	if (n > UX_PIECE_NO_UNIT - 1 - all->n_units)
		return ux_error_set(err, UX_ELIMIT, "too many units: %zu more than %zu", n,
				    all->n_units);
	struct ux_unit_pieces *more = reallocarray(all->units, all->n_units + n, sizeof(*more));
	if (!more)
		return ux_error_nomem(err);
	memcpy(more + all->n_units, units, n * sizeof(*more));
	all->units = more;
	all->n_units += n;
	return UX_OK;
}

/* Moves the arenas, which then live as long as the module's collection. */
static bool build_move_arenas(struct ux_collection *all, struct ux_collection *more)
{
	struct ux_arena *arenas =
		reallocarray(all->arenas, (size_t)all->n_arenas + more->n_arenas, sizeof(*arenas));
	if (!arenas)
		return false;
	memcpy(arenas + all->n_arenas, more->arenas, more->n_arenas * sizeof(*arenas));
	all->arenas = arenas;
	all->n_arenas += more->n_arenas;
	more->n_arenas = 0;
	return true;
}

enum ux_code ux_module_build_add_collection(struct ux_module_build *build,
					    struct ux_collection *more, struct ux_error *err)
{
	uint32_t first = (uint32_t)build->collection.n_units;
	for (size_t u = 0; u < more->n_units; u++) {
		struct ux_unit_pieces *unit = &more->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++)
			unit->functions[i].unit += first;
		for (uint32_t i = 0; i < unit->n_lines; i++)
			unit->lines[i].unit += first;
	}
	if (more->n_arenas > 0 && !build_move_arenas(&build->collection, more))
		return ux_error_nomem(err);
	return ux_module_build_add_units(build, more->units, more->n_units, err);
}

void ux_module_build_bad_unit(struct ux_module_build *build, const struct ux_error *reason)
{
	if (build->stats.bad_units++ == 0)
		build->stats.first_bad = *reason;
}

/* Returns the DWARF version in the first unit's header. */
static unsigned first_version(struct ux_bytes info, bool swap)
{
	struct ux_cur c = ux_cur_make(info, ".debug_info", swap);
	if (ux_cur_u32(&c) == UINT32_MAX)
		ux_cur_skip(&c, 8);
	return ux_cur_u16(&c);
}

void ux_module_build_dwarf(struct ux_module_build *build, struct ux_bytes info)
{
	const struct ux_collection *all = &build->collection;
	build->stats.dwarf_version = first_version(info, build->swap);
	for (size_t i = 0; i < all->n_units; i++)
		build->stats.found[UX_SOURCE_DWARF] += all->units[i].n_functions;
}

void ux_module_build_bad_source(struct ux_module_build *build, const struct ux_error *reason)
{
	if (reason->code != UX_OK && build->stats.bad_sources++ == 0)
		build->stats.first_bad_source = *reason;
}

static void count_split(const struct ux_unit_pieces *unit, struct ux_extract_stats *stats)
{
	stats->split_units += unit->note != UX_SPLIT_NONE;
	stats->split_missing += unit->note == UX_SPLIT_MISSING;
	stats->split_mismatched += unit->note == UX_SPLIT_MISMATCH;
}

static void count_units(const struct ux_collection *all, struct ux_extract_stats *stats)
{
	stats->units = all->n_units + all->bad_headers;
	stats->bad_units += all->bad_headers;
	if (all->bad_headers > 0)
		stats->first_bad = all->reason;
	for (size_t i = 0; i < all->n_units; i++) {
		const struct ux_unit_pieces *unit = &all->units[i];
		stats->dwarf_functions += unit->n_functions;
		count_split(unit, stats);
		if (unit->damage.count > 0 && stats->bad_units++ == 0)
			stats->first_bad = unit->damage.first;
	}
}

static void count(struct ux_module_build *build)
{
	struct ux_extract_stats *stats = &build->stats;
	count_units(&build->collection, stats);
	for (size_t i = 0; i < build->text.size; i++)
		stats->text_bytes += build->text.data[i].hi - build->text.data[i].lo;
	stats->units -= stats->go_units;
	stats->dwarf_functions -= stats->found[UX_SOURCE_GOPCLNTAB];
	ux_pack_count(&build->pieces, &stats->counts);
	if (stats->counts.inlines > 0)
		stats->quality = UX_QUALITY_INLINES;
	else if (stats->counts.line_bytes > 0)
		stats->quality = UX_QUALITY_LINES;
	else if (stats->found[UX_SOURCE_GOPCLNTAB] > 0)
		stats->quality = UX_QUALITY_GOPCLNTAB;
	else if (stats->dwarf_functions > 0 && stats->quality < UX_QUALITY_SYMTAB)
		/* the module has only names, whatever their source */
		stats->quality = UX_QUALITY_SYMTAB;
}

static void unbias(struct ux_module_build *build)
{
	for (size_t i = 0; build->bias > 0 && i < build->pieces.size; i++)
		build->pieces.data[i].start -= build->bias;
}

/* A sink that counts bytes for the statistics and passes them on. */
struct meter {
	ux_gsym_sink_fn *sink;
	ux_gsym_write_at_fn *place;
	void *ctx;
	uint64_t bytes; /* bytes that were written front to back */
	_Atomic uint64_t placed;
};

static enum ux_code meter_sink(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct meter *m = ctx;
	m->bytes += bytes.size;
	return m->sink(m->ctx, bytes, err);
}

static enum ux_code meter_place(void *ctx, uint64_t off, struct ux_bytes bytes,
				struct ux_error *err)
{
	struct meter *m = ctx;
	atomic_fetch_add_explicit(&m->placed, bytes.size, memory_order_relaxed);
	return m->place(m->ctx, off, bytes, err);
}

static uint64_t strings_max(const struct ux_module_build *build)
{
	return STRINGS_FREE + STRINGS_RATIO * build->input_size;
}

static enum ux_code write_gsym(struct ux_module_build *build, ux_gsym_sink_fn *sink, void *ctx,
			       struct ux_error *err)
{
	struct meter meter = {.sink = sink, .place = build->options->place, .ctx = ctx};
	bool first = build->base == UX_BASE_FIRST;
	struct ux_pack_target target = {
		.version = build->options->gsym_version,
		.v1_max = build->options->gsym1_max,
		.swap = build->swap,
		.base = first ? build->pieces.data[0].start : build->base,
		.segments = &build->segments,
		.uuid = ux_bytes(build->id.bytes, build->id.size),
		.threads = build->threads,
		.strings_max = strings_max(build),
		.alternatives = &build->alternatives,
		.symbols = &build->piece_symbols,
		.columns = build->options->columns,
		.spill = build->spill,
		.place = meter.place ? meter_place : NULL,
		.release = build->release,
	};
	UX_TRY(ux_pack(&build->collection, &build->pieces, &target, meter_sink, &meter, err));
	build->stats.gsym_bytes = meter.bytes + meter.placed;
	return UX_OK;
}

enum ux_code ux_module_build_write(struct ux_module_build *build, ux_gsym_sink_fn *sink, void *ctx,
				   struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	assert(build->threads > 0 && build->pieces.size == 0);
	struct ux_merge_input input = {
		.collection = &build->collection,
		.symbols = &build->symbols,
		.threads = build->threads,
		.spill = build->spill,
		.release = build->release,
	};
	/* Most is released while one thread numbers the names. */
	input.release.end = input.release.first + (input.release.end - input.release.first) / 4;
	build->release.first = input.release.end;
	ux_merge_memory_init(&build->merged, MERGE_BUDGET, strings_max(build), build->spill);
	ux_arena_init(&build->other_names, strings_max(build));
	build->stats.symbols = build->symbols.size;
	UX_TRY(ux_merge(&input, &build->merged, &build->pieces, err));
	if (build->pieces.size == 0)
		return ux_error_set(err, UX_ENOTFOUND, "no symbols: expected %s", build->expected);
	if (build->options->alternatives)
		UX_TRY(ux_alternatives_find(&build->collection, &build->symbols, &build->pieces,
					    &build->other_names, &build->alternatives, err));
	if (!build->options->filter)
		UX_TRY(ux_piece_symbols_find(&build->symbols, &build->pieces, strings_max(build),
					     &build->piece_symbols, err));
	unbias(build);
	count(build);
	UX_TRY(write_gsym(build, sink, ctx, err));
	*ret_stats = build->stats;
	return UX_OK;
}
