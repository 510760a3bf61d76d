/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts object files. */
#include "extract_object.h"

#include "address_filter.h"
#include "dwarf_units.h"
#include "function_bounds.h"
#include "go_source.h"
#include "misplaced.h"
#include "order.h"
#include "pool.h"

#include <stdatomic.h>

static const struct ux_extract_steps any_steps = {
	.expected = "DWARF, .symtab, .dynsym or Go's tables with functions, or .eh_frame",
};

/* Formats with steps of their own. */
static const struct ux_extract_steps *const own_steps[] = {&ux_extract_macho};

static const struct ux_extract_steps *extraction_steps(const struct ux_object_format *format)
{
	for (size_t i = 0; i < ux_countof(own_steps); i++)
		if (own_steps[i]->format == format)
			return own_steps[i];
	return &any_steps;
}

static void extraction_deinit(struct ux_extraction *x)
{
	ux_module_build_deinit(&x->build);
	ux_go_source_close(&x->go);
	ux_debug_map_close(&x->map);
	ux_dwarf_units_ahead_free(&x->ahead);
	ux_dwo_files_close(&x->split);
	ux_debug_sections_free(&x->sections);
	ux_debug_sections_free(&x->sup_sections);
	ux_object_close(x->sup);
	ux_object_close(x->inner);
	ux_object_close(x->debug);
	ux_object_close(x->exe);
	ux_file_unmap(&x->found);
}

/* --- files ------------------------------------------------------------------------------------ */

static enum ux_code extraction_open(struct ux_extraction *x, struct ux_bytes exe,
				    struct ux_bytes debug, struct ux_error *err)
{
	const struct ux_extract_options *options = x->build.options;
	const struct ux_object_format *format = ux_object_format(exe);
	struct ux_object_choice choice = {.arch = options->arch, .debug = debug};
	x->steps = extraction_steps(format);
	UX_TRY(format->open(exe, &choice, &x->exe, err));
	x->exe->mapped = options->mapped;
	if (debug.size == 0 && x->steps->find_debug) {
		UX_TRY(x->steps->find_debug(x, err));
		debug = x->found.bytes;
	}
	if (debug.size == 0)
		return UX_OK;
	choice.exe = x->exe;
	UX_TRY(format->open(debug, &choice, &x->debug, err));
	x->debug->mapped = options->mapped;
	return options->allow_mismatch ? UX_OK : format->check_pair(x->exe, x->debug, err);
}

/* Keeps where the file's code is loaded. A debug file has the segments of its executable, but other
 * bytes at their positions. */
static enum ux_code extraction_keep_segments(struct ux_extraction *x, struct ux_error *err)
{
	ux_cleanup(ux_object_ranges_deinit) struct ux_object_ranges ranges = {0};
	const struct ux_object *exe = x->exe;
	struct ux_gsym_segments *to = &x->build.segments;
	if ((exe->format->contents(exe) & UX_OBJECT_CODE_ELSEWHERE) != 0)
		return UX_OK;
	UX_TRY(exe->format->segments(exe, &ranges, err));
	for (size_t i = 0; i < ranges.size && to->n < UX_GSYM_SEGMENTS_MAX; i++) {
		const struct ux_object_range *r = &ranges.data[i];
		if (r->executable && r->bytes.size > 0)
			to->list[to->n++] = (struct ux_gsym_segment){
				.off = (uint64_t)(r->bytes.data - exe->file.data),
				.size = r->bytes.size,
				.pc = r->pc - exe->bias};
	}
	return UX_OK;
}

/* Sets the module's description. */
static enum ux_code extraction_describe(struct ux_extraction *x, struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	b->swap = x->exe->swap;
	b->bias = x->exe->bias;
	b->id = x->exe->format->id(x->exe);
	b->expected = x->steps->expected;
	if (x->exe->base != UX_OBJECT_NO_BASE)
		b->base = x->exe->base;
	UX_TRY(extraction_keep_segments(x, err));
	return ux_object_text(x->exe, &b->text, err);
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* Reads a symbol table of one of the files. */
static enum ux_code extraction_read_table(struct ux_extraction *x, const struct ux_object *from,
					  enum ux_source source, struct ux_code_symbols_found *ret,
					  struct ux_error *err)
{
	struct ux_range_set text = ux_module_build_text(&x->build);
	struct ux_code_symbol_vec *all = &x->build.symbols;
	enum ux_object_table table =
		source == UX_SOURCE_DYNSYM ? UX_OBJECT_DYNSYM : UX_OBJECT_SYMTAB;
	struct ux_code_symbols_found found;
	size_t before = all->size;
	if (!from || !ux_extract_includes(x->build.options, source))
		return UX_OK;
	UX_TRY(ux_code_symbols_read(from, table, x->exe, &text, all, &found, err));
	x->build.stats.found[source] += all->size - before;
	ret->symbols += found.symbols;
	ret->local |= found.local;
	return UX_OK;
}

/* Reads the compressed symbol table inside of a stripped file. Damage of it is not an error;
 * *ret_bad gets the reason. */
static enum ux_code extraction_read_inner(struct ux_extraction *x,
					  struct ux_code_symbols_found *ret,
					  struct ux_error *ret_bad, struct ux_error *err)
{
	const struct ux_object_format *format = x->exe->format;
	struct ux_error why = UX_ERROR_INIT;
	if (!format->inner || !ux_extract_includes(x->build.options, UX_SOURCE_DEBUGDATA))
		return UX_OK;
	enum ux_code code = format->inner(x->exe, &x->inner, &why);
	if (code == UX_OK)
		code = extraction_read_table(x, x->inner, UX_SOURCE_DEBUGDATA, ret, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	*ret_bad = why;
	return UX_OK;
}

static enum ux_code extraction_read_stubs(struct ux_extraction *x, const struct ux_object *from,
					  struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	struct ux_range_set text = ux_module_build_text(b);
	size_t before = b->symbols.size;
	if (!from || !ux_extract_includes(b->options, UX_SOURCE_PLT))
		return UX_OK;
	UX_TRY(ux_code_symbols_read_stubs(from, &text, &b->extra, &b->symbols, err));
	b->stats.found[UX_SOURCE_PLT] += b->symbols.size - before;
	return UX_OK;
}

/* Determines the quality. If the address ranges of all functions are known and some have no name, a
 * .symtab is only the rest that strip left, and no better than .dynsym. Stubs count if .dynsym
 * names them: a static program's stubs have only the addresses that they lead to. */
static enum ux_quality extraction_quality(const struct ux_extraction *x,
					  const struct ux_code_symbols_found *full, bool complete)
{
	const uint64_t *found = x->build.stats.found;
	bool stripped = complete && found[UX_SOURCE_BOUNDS] > 0 && !full->local;
	if (full->symbols > 0 && !stripped)
		return UX_QUALITY_SYMTAB;
	bool imports = (x->exe->format->contents(x->exe) & UX_OBJECT_HAS_DYNSYM) != 0;
	bool any = full->symbols > 0 || found[UX_SOURCE_DYNSYM] > 0 ||
		   (!complete && imports && found[UX_SOURCE_PLT] > 0);
	return any ? UX_QUALITY_DYNSYM : UX_QUALITY_NONE;
}

/*
 * The first phase, whose jobs do not depend on each other: the symbol tables, the bounds of
 * functions, the image of a Go program, and each section of DWARF. Symbols are completed by the one
 * of the first two jobs that ends last, while other threads still read.
 */
struct first_phase {
	struct ux_extraction *x;
	struct ux_code_symbols_found full, dynamic;
	struct ux_function_bounds bounds;
	struct ux_error bad_bounds, bad_inner;
	struct ux_debug_loader loader;
	atomic_uint symbol_jobs; /* number of SYMBOL_JOBS that have not ended */
	size_t n_jobs;
	atomic_size_t ended; /* jobs that have ended; relaxed: a late increment only costs time */
};

enum {
	JOB_INFO, /* .debug_info, if there is DWARF; it takes longest */
	JOB_TABLES,
	JOB_BOUNDS,
	JOB_GO, /* the other sections follow */
	JOBS_WITHOUT_SECTIONS,
	SYMBOL_JOBS = 2, /* symbols wait for these: JOB_TABLES and JOB_BOUNDS */
};

static void first_phase_deinit(struct first_phase *p)
{
	ux_function_bounds_deinit(&p->bounds);
}

/* Reads everything that only names code, with one line for each kind of table. */
static enum ux_code extraction_read_tables(struct first_phase *p, struct ux_error *err)
{
	struct ux_extraction *x = p->x;
	UX_TRY(extraction_read_table(x, x->debug, UX_SOURCE_SYMTAB, &p->full, err));
	UX_TRY(extraction_read_table(x, x->debug, UX_SOURCE_DYNSYM, &p->dynamic, err));
	UX_TRY(extraction_read_table(x, x->exe, UX_SOURCE_SYMTAB, &p->full, err));
	UX_TRY(extraction_read_inner(x, &p->full, &p->bad_inner, err));
	UX_TRY(extraction_read_table(x, x->exe, UX_SOURCE_DYNSYM, &p->dynamic, err));
	UX_TRY(extraction_read_stubs(x, x->exe, err));
	if (x->exe->padded) /* a dSYM file has a table of stubs of its own */
		UX_TRY(extraction_read_stubs(x, x->debug, err));
	return UX_OK;
}

/* Reads everything that only has the bounds of code. */
static enum ux_code extraction_read_bounds(struct first_phase *p, struct ux_error *err)
{
	struct ux_range_set text = ux_module_build_text(&p->x->build);
	if (!ux_extract_includes(p->x->build.options, UX_SOURCE_BOUNDS))
		return UX_OK;
	return ux_function_bounds_read(p->x->exe, &text, &p->bounds, &p->bad_bounds, err);
}

/* Returns true while other jobs than the one that reads ahead are running or waiting. */
static bool first_phase_goes_on(const void *ctx)
{
	const struct first_phase *p = ctx;
	return atomic_load_explicit(&p->ended, memory_order_relaxed) + 1 < p->n_jobs;
}

/*
 * Loads a section. After .debug_info, also reads the units' headers, or inflates a stream as long
 * as other threads have jobs: no other sequential part of an extraction takes as long. With one
 * thread that is done later, when the waves are needed.
 */
static enum ux_code extraction_load_section(struct first_phase *p, size_t section,
					    struct ux_error *err)
{
	struct ux_extraction *x = p->x;
	UX_TRY(ux_debug_loader_load(&p->loader, section, err));
	if (section > 0 || x->build.threads == 1)
		return UX_OK;
	return ux_dwarf_units_read_ahead(&x->sections.dwarf, x->sections.stream,
					 first_phase_goes_on, p, &x->ahead, err);
}

/* Completes the symbols by the bounds, and sorts them. */
static enum ux_code extraction_finish_symbols(struct first_phase *p, struct ux_error *err)
{
	struct ux_module_build *b = &p->x->build;
	struct ux_range_set text = ux_module_build_text(b);
	ux_module_build_bad_source(b, &p->bad_bounds);
	ux_module_build_bad_source(b, &p->bad_inner);
	ux_code_symbols_bound(&b->symbols, &p->bounds);
	ux_code_symbols_sort(&b->symbols, &text);
	UX_TRY(ux_code_symbols_fill(&b->symbols, &p->bounds.list, &b->stats.found[UX_SOURCE_BOUNDS],
				    err));
	b->stats.quality = extraction_quality(p->x, &p->full, p->bounds.complete);
	return UX_OK;
}

/* Completes the symbols after the last job that they waited for. */
static enum ux_code first_phase_end_symbols(struct first_phase *p, struct ux_error *err)
{
	/* Release and acquire: makes the other thread's results visible here. */
	if (atomic_fetch_sub_explicit(&p->symbol_jobs, 1, memory_order_acq_rel) > 1)
		return UX_OK;
	return extraction_finish_symbols(p, err);
}

static enum ux_code first_phase_do(struct first_phase *p, size_t job, struct ux_error *err)
{
	switch (job) {
	case JOB_INFO:
		return p->x->dwarf ? extraction_load_section(p, 0, err) : UX_OK;
	case JOB_TABLES:
		UX_TRY(extraction_read_tables(p, err));
		return first_phase_end_symbols(p, err);
	case JOB_BOUNDS:
		UX_TRY(extraction_read_bounds(p, err));
		return first_phase_end_symbols(p, err);
	case JOB_GO:
		return ux_go_image_open(p->x->exe, &p->x->go.memory, err);
	default:
		return extraction_load_section(p, job - JOB_GO, err);
	}
}

static enum ux_code first_phase_job(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct first_phase *p = ctx;
	(void)worker;
	enum ux_code code = first_phase_do(p, job, err);
	atomic_fetch_add_explicit(&p->ended, 1, memory_order_relaxed);
	return code;
}

/*
 * Chooses the file to read DWARF from: the debug file, or the executable when only that has DWARF.
 */
static void extraction_choose_dwarf(struct ux_extraction *x)
{
	if (!ux_extract_includes(x->build.options, UX_SOURCE_DWARF))
		return;
	if (x->debug && ux_debug_sections_exist(x->debug))
		x->dwarf = x->debug;
	else if (ux_debug_sections_exist(x->exe))
		x->dwarf = x->exe;
}

/* Returns the bytes of memory that the extraction is expected to need. */
static uint64_t extraction_need(const struct ux_extraction *x)
{
	uint64_t tables = ux_code_symbols_need(x->exe) + ux_code_symbols_need(x->debug);
	uint64_t dwarf = x->dwarf ? ux_debug_sections_need(x->dwarf) : 0;
	return dwarf > UINT64_MAX - tables ? UINT64_MAX : dwarf + tables;
}

/* Reads symbols, bounds and the image of a Go program, and loads the sections of DWARF. */
static enum ux_code extraction_read_symbols(struct ux_extraction *x, struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	ux_cleanup(first_phase_deinit) struct first_phase p = {
		.x = x,
		.bounds.complete = x->exe->format->starts != NULL,
		.bad_bounds = UX_ERROR_INIT,
		.bad_inner = UX_ERROR_INIT,
		.symbol_jobs = SYMBOL_JOBS,
		.n_jobs = JOBS_WITHOUT_SECTIONS,
	};
	extraction_choose_dwarf(x);
	ux_module_build_limit(b, extraction_need(x));
	b->symbols.spill = b->spill;
	p.bounds.list.spill = b->spill;
	if (x->dwarf) {
		UX_TRY(ux_debug_loader_open_stream(&p.loader, x->dwarf, b->threads, b->spill,
						   &x->sections, err));
		p.n_jobs += UX_DWARF_SECTION_COUNT - 1; /* .debug_info has a job of its own */
	}
	UX_TRY(ux_pool_run(b->threads, p.n_jobs, first_phase_job, &p, err));
	if (x->dwarf)
		ux_debug_loader_close(&p.loader);
	return UX_OK;
}

/* --- units ------------------------------------------------------------------------------------ */

/* Loads the entries and strings of the supplementary file; most of them are names. */
static enum ux_code extraction_read_supplementary(struct ux_extraction *x, struct ux_error *err)
{
	const struct ux_module_build *b = &x->build;
	const struct ux_object_choice any = {0};
	struct ux_bytes file = b->options->supplementary;
	if (file.size == 0)
		return UX_OK;
	UX_TRY(x->exe->format->open(file, &any, &x->sup, err));
	UX_TRY(ux_debug_sections_load(x->sup, b->threads, b->spill, &x->sup_sections, err));
	x->sections.dwarf.sup = &x->sup_sections.dwarf;
	return UX_OK;
}

static enum ux_code extraction_collect(struct ux_extraction *x, struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	struct ux_range_set text = ux_go_source_rest(&x->go, b);
	x->sections.dwarf.columns = b->options->columns != NULL;
	struct ux_dwarf_units_input input = {
		.sections = &x->sections.dwarf,
		.stream = x->sections.stream,
		.ahead = &x->ahead,
		.text = &text,
		.split = x->split.linked && !x->sections.stream ? &x->split : NULL,
		.symbols = &b->symbols,
		.filter = x->filter,
		.threads = b->threads,
		.spill = b->spill,
		.progress = b->options->progress,
	};
	UX_TRY(ux_dwarf_units_collect(&input, &b->collection, err));
	b->stats.bad_relocs = x->sections.loss.count;
	b->stats.first_bad_reloc = x->sections.loss.first;
	if (x->split.reason.code != UX_OK)
		ux_module_build_bad_unit(b, &x->split.reason);
	return UX_OK;
}

/* Reads the units of DWARF from the sections that were loaded with the symbols. */
static enum ux_code extraction_read_dwarf(struct ux_extraction *x, struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	const struct ux_extract_options *options = b->options;
	uint8_t head[UX_DEBUG_INFO_HEAD];
	if (!x->dwarf)
		return x->steps->read_elsewhere ? x->steps->read_elsewhere(x, err) : UX_OK;
	UX_TRY(extraction_read_supplementary(x, err));
	if (options->path || options->debug_path || options->split.size > 0)
		UX_TRY(ux_dwo_files_open(&x->split, &x->sections.dwarf, options->split,
					 options->debug_path, options->path, b->spill, err));
	UX_TRY(extraction_collect(x, err));
	b->stats.bundle = x->dwarf == x->debug && x->found.bytes.size > 0;
	ux_module_build_dwarf(b, ux_debug_sections_info_head(x->dwarf, &x->sections, head));
	return UX_OK;
}

/*
 * Reads the sources of functions with rows and inlined calls, the most exact one first. Further
 * sources can be added after DWARF with ux_module_build_add_units(). Go's tables are read before
 * DWARF, which is then not read for the functions in them.
 */
static enum ux_code extraction_read_units(struct ux_extraction *x, struct ux_error *err)
{
	UX_TRY(ux_go_source_read(&x->go, &x->build, err));
	if (ux_extract_includes(x->build.options, UX_SOURCE_DWARF))
		UX_TRY(extraction_read_dwarf(x, err));
	return ux_go_source_add(&x->go, &x->build, err);
}

static int extraction_function_compare(const void *a, const void *b)
{
	const struct ux_range *x = a, *y = b;
	UX_ORDER(x->lo, y->lo);
	UX_ORDER(y->hi, x->hi);
	return 0;
}

/* Cuts symbols at the end of the collected function that begins at the same pc. Sizes in such a
 * file, whether stored or computed, include the padding up to the next function. */
static enum ux_code extraction_trim_padding(struct ux_extraction *x, struct ux_error *err)
{
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec known = {0};
	const struct ux_collection *collection = &x->build.collection;
	struct ux_code_symbol_vec *symbols = &x->build.symbols;
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++) {
			const struct ux_piece *p = &unit->functions[i];
			struct ux_range r = {p->start, ux_piece_end(p)};
			if (!ux_range_vec_append(&known, r))
				return ux_error_nomem(err);
		}
	}
	if (known.size > 1)
		ux_sort_by_start(known.data, known.size, sizeof(*known.data),
				 extraction_function_compare);
	size_t k = 0;
	for (size_t i = 0; i < symbols->size; i++) {
		struct ux_code_symbol *s = &symbols->data[i];
		while (k < known.size && known.data[k].lo < s->start)
			k++;
		if (k < known.size && known.data[k].lo == s->start)
			s->size = ux_min(s->size, known.data[k].hi - s->start);
	}
	return UX_OK;
}

/* --- limit to a few addresses ----------------------------------------------------------------- */

/*
 * Begins filtering by addresses, if possible. It is not used for files with moved addresses (bias),
 * which are small, nor for files with sizes that include padding, because correcting these needs
 * all functions.
 */
static enum ux_code extraction_begin_filter(struct ux_extraction *x, struct ux_error *err)
{
	if (!x->build.options->filter || x->build.bias != 0 || x->exe->padded)
		return UX_OK;
	struct ux_range_set text = ux_module_build_text(&x->build);
	x->filter = x->build.options->filter;
	x->filter->narrowed = true;
	return ux_address_filter_widen(x->filter, &x->build.symbols, &text) ? UX_OK
									    : ux_error_nomem(err);
}

/* Applies the filter. *ret_nothing is set when the file has symbols, but none for the addresses. */
static enum ux_code extraction_trim(struct ux_extraction *x, bool *ret_nothing,
				    struct ux_error *err)
{
	struct ux_module_build *b = &x->build;
	bool any = b->symbols.size > 0;
	if (x->exe->padded)
		UX_TRY(extraction_trim_padding(x, err));
	if (!x->filter)
		return UX_OK;
	UX_TRY(ux_misplaced_drop(&b->collection, &b->symbols, err));
	UX_TRY(ux_address_filter_apply(x->filter, &b->collection, &b->symbols, err));
	*ret_nothing = any && ux_address_filter_is_empty(&b->collection, &b->symbols);
	return UX_OK;
}

/* Returns the size of everything that contains names and paths. */
static uint64_t extraction_input_size(const struct ux_extraction *x)
{
	const struct ux_object *files[] = {x->exe, x->debug, x->sup};
	uint64_t sum = x->map.size + ux_debug_sections_inflated(&x->sections) +
		       ux_debug_sections_inflated(&x->sup_sections);
	for (size_t i = 0; i < ux_countof(files); i++)
		sum += files[i] ? files[i]->file.size : 0;
	if (x->sections.stream)
		sum += x->sections.dwarf.data[UX_DWARF_INFO].size;
	return sum;
}

/* Releases the sections that no text points into. The results from the others are in pieces. */
static void extraction_drop_sections(struct ux_extraction *x)
{
	const struct ux_collection *c = &x->build.collection;
	unsigned keep = 0;
	if (ux_debug_sections_inflated(&x->sections) == 0 && !x->sections.stream)
		return; /* all sections are mapped, and no text has to be checked */
	for (size_t u = 0; u < c->n_units; u++) {
		const struct ux_unit_pieces *unit = &c->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++)
			keep |= ux_debug_sections_of_text(&x->sections, unit->functions[i].name);
		for (uint32_t i = 0; i < unit->n_lines; i++)
			keep |= ux_debug_sections_of_text(&x->sections, unit->lines[i].name);
		for (uint32_t i = 0; i < unit->n_names; i++)
			keep |= ux_debug_sections_of_text(&x->sections, unit->names[i]);
		for (uint32_t i = 0; i < unit->n_files; i++) {
			keep |= ux_debug_sections_of_text(&x->sections, unit->files[i].dir);
			keep |= ux_debug_sections_of_text(&x->sections, unit->files[i].base);
		}
	}
	ux_debug_sections_drop(&x->sections, keep);
}

/*
 * The sections that threads release in parts: first the inflated ones, and then the pages of the
 * others.
 */
struct release {
	struct ux_extraction *x;
	struct ux_bytes mapped[UX_DWARF_SECTION_COUNT];
};

enum {
	RELEASE_STEP = 2 << 20, /* page tables of 2 MiB are given back as a whole */
	/* Parts of the mapped sections. They are short: while one is released, other threads get no
	 * memory from the system. */
	RELEASE_PARTS = 32,
};

static size_t release_steps(size_t bytes)
{
	return bytes / RELEASE_STEP + (bytes % RELEASE_STEP > 0);
}

/* Gives back the pages of a part of the sections in a mapped file. All parts have the same number
 * of steps. */
static void release_mapped(const struct release *r, size_t part)
{
	assert(part < RELEASE_PARTS);
	size_t all = 0;
	for (size_t i = 0; i < ux_countof(r->mapped); i++)
		all += release_steps(r->mapped[i].size);
	size_t skip = all * part / RELEASE_PARTS;
	size_t left = all * (part + 1) / RELEASE_PARTS - skip;
	for (size_t i = 0; i < ux_countof(r->mapped) && left > 0; i++) {
		struct ux_bytes s = r->mapped[i];
		size_t steps = release_steps(s.size), from = ux_min(skip, steps);
		size_t to = ux_min(from + left, steps), end = ux_min(to * RELEASE_STEP, s.size);
		if (to > from)
			ux_file_release(
				ux_bytes(s.data + from * RELEASE_STEP, end - from * RELEASE_STEP));
		skip -= from;
		left -= to - from;
	}
}

static void extraction_release(void *ctx, size_t part)
{
	const struct release *r = ctx;
	if (part == 0)
		extraction_drop_sections(r->x);
	else
		release_mapped(r, part - 1);
}

enum ux_code ux_extract_object(struct ux_bytes exe, struct ux_bytes debug,
			       const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
			       void *ctx, struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_cleanup(extraction_deinit) struct ux_extraction x = {0};
	bool nothing = false;
	ux_module_build_init(&x.build, options);
	UX_TRY(extraction_open(&x, exe, debug, err));
	UX_TRY(extraction_describe(&x, err));
	UX_TRY(extraction_read_symbols(&x, err));
	UX_TRY(extraction_begin_filter(&x, err));
	UX_TRY(extraction_read_units(&x, err));
	x.build.input_size = extraction_input_size(&x);
	/* with several threads, one of them releases the pages while the others merge */
	if (x.build.threads == 1)
		extraction_drop_sections(&x);
	UX_TRY(extraction_trim(&x, &nothing, err));
	if (nothing) {
		if (ret_stats)
			*ret_stats = x.build.stats; /* counts of the file at other addresses */
		return UX_OK;
	}
	struct release release = {.x = &x};
	ux_debug_sections_mapped(&x.sections, release.mapped);
	x.build.release = (struct ux_release){
		.fn = extraction_release,
		.ctx = &release,
		.end = options->mapped ? 1 + RELEASE_PARTS : 1,
	};
	return ux_module_build_write(&x.build, sink, ctx, ret_stats, err);
}
