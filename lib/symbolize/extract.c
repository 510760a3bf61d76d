/* SPDX-License-Identifier: Apache-2.0 */
/* From a binary to its GSYM. */
#include "extract.h"

#include "alternatives.h"
#include "code_symbols.h"
#include "debug_sections.h"
#include "elf_ids.h"
#include "merge.h"
#include "module_text.h"
#include "pack.h"
#include "pool.h"

/* What merging makes: cut pieces and shortened names; a small part of the input. */
#define MERGE_BUDGET (UINT64_C(1) << 34)

/*
 * Names and paths may add up to this many times what the input has as text, and STRINGS_FREE:
 * linkers keep a text once that another one ends with, but never thousands of them.
 */
enum {
	STRINGS_RATIO = 4,
	STRINGS_FREE = 16 << 20
};

/* One extraction at work; released whole. */
struct job {
	struct ux_elf exe;
	struct ux_elf debug;
	bool has_debug;
	unsigned threads;
	const char *spill; /* NULL: everything fits in memory */
	struct ux_dwarf_range_vec text;
	struct ux_debug_sections sections;
	struct ux_elf sup;
	struct ux_debug_sections sup_sections;
	struct ux_split_files split;
	struct ux_collection collection;
	struct ux_code_symbol_vec symbols;
	struct ux_arena arena;
	struct ux_arena names; /* those that had to be copied */
	struct ux_piece_vec pieces;
	struct ux_alternative_vec alternatives;
};

static void job_deinit(struct job *j)
{
	ux_alternative_vec_deinit(&j->alternatives);
	ux_piece_vec_deinit(&j->pieces);
	ux_arena_deinit(&j->arena);
	ux_arena_deinit(&j->names);
	ux_code_symbol_vec_deinit(&j->symbols);
	ux_collection_free(&j->collection);
	ux_split_files_close(&j->split);
	ux_debug_sections_free(&j->sections);
	ux_debug_sections_free(&j->sup_sections);
	ux_elf_close(&j->sup);
	ux_dwarf_range_vec_deinit(&j->text);
	ux_elf_close(&j->debug);
	ux_elf_close(&j->exe);
}

/* The GNU build ID of elf; size 0 when it has none, or a damaged one. */
static struct ux_id gnu_id(const struct ux_elf *elf)
{
	struct ux_id_set set = {0};
	const struct ux_id *id =
		ux_elf_ids(elf, &set, NULL) == UX_OK ? ux_id_set_find(&set, UX_ID_GNU) : NULL;
	return id ? *id : (struct ux_id){0};
}

/* prelink moves a module and leaves its build ID: the debug file's addresses are no longer its. */
static enum ux_code check_place(const struct job *j, struct ux_error *err)
{
	const struct ux_elf_section *exe = ux_elf_section_find(&j->exe, ".text");
	const struct ux_elf_section *debug = ux_elf_section_find(&j->debug, ".text");
	if (!exe || !debug || exe->addr == debug->addr)
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT,
			    "debug file has .text at 0x%" PRIx64 ", expected 0x%" PRIx64
			    ": one of them was moved",
			    debug->addr, exe->addr);
}

static enum ux_code check_pair(const struct job *j, struct ux_error *err)
{
	char exe_text[UX_ID_TEXT], debug_text[UX_ID_TEXT];
	struct ux_id exe = gnu_id(&j->exe), debug = gnu_id(&j->debug);
	if (j->exe.machine != j->debug.machine || j->exe.is64 != j->debug.is64)
		return ux_error_set(err, UX_ECONFLICT,
				    "debug file is for another machine: %u, expected %u",
				    j->debug.machine, j->exe.machine);
	if ((j->exe.type == ET_REL) != (j->debug.type == ET_REL))
		return ux_error_set(err, UX_ECONFLICT,
				    "debug file is of type %u, expected %u: one of them was linked",
				    j->debug.type, j->exe.type);
	if (exe.size == 0 || debug.size == 0 || ux_id_eq(&exe, &debug))
		return check_place(j, err);
	return ux_error_set(err, UX_ECONFLICT, "build IDs differ: debug file %.48s, expected %.48s",
			    ux_id_format(&debug, debug_text), ux_id_format(&exe, exe_text));
}

static enum ux_code open_files(struct job *j, struct ux_bytes exe, struct ux_bytes debug,
			       const struct ux_extract_options *options, struct ux_error *err)
{
	UX_TRY(ux_elf_open(&j->exe, exe, err));
	j->has_debug = debug.size > 0;
	if (!j->has_debug)
		return UX_OK;
	UX_TRY(ux_elf_open(&j->debug, debug, err));
	return options->allow_mismatch ? UX_OK : check_pair(j, err);
}

/*
 * Where large things go: into memory, unless a bound was given that they would pass. What is read
 * counts as it is inflated, what is made of it as a half of the units' bytes: libjvm, ceph and
 * vmlinux need a third.
 */
static const char *choose_spill(const struct ux_elf *from, const struct ux_extract_options *options)
{
	const struct ux_elf_section *info = ux_elf_section_find(from, ".debug_info");
	uint64_t units = info ? ux_elf_section_loaded_size(from, info) : 0;
	uint64_t need = ux_debug_sections_memory(from) + units / 2;
	if (options->memory == 0 || need <= options->memory)
		return NULL;
	return options->spill ? options->spill : "/var/tmp";
}

/* The supplementary file's entries and texts: most of them are names that are asked for. */
static enum ux_code read_supplementary(struct job *j, struct ux_bytes file, struct ux_error *err)
{
	if (file.size == 0)
		return UX_OK;
	UX_TRY(ux_elf_open(&j->sup, file, err));
	UX_TRY(ux_debug_sections_load(&j->sup, j->threads, j->spill, &j->sup_sections, err));
	j->sections.dwarf.sup = &j->sup_sections.dwarf;
	return UX_OK;
}

/* DWARF from the debug file, or from the executable when that alone has it. */
static enum ux_code read_dwarf(struct job *j, const struct ux_extract_options *options,
			       struct ux_error *err)
{
	const struct ux_elf *from = &j->exe;
	if (j->has_debug && ux_debug_sections_exist(&j->debug))
		from = &j->debug;
	else if (!ux_debug_sections_exist(&j->exe))
		return UX_OK;
	j->spill = choose_spill(from, options);
	UX_TRY(ux_debug_sections_load(from, j->threads, j->spill, &j->sections, err));
	UX_TRY(read_supplementary(j, options->supplementary, err));
	struct ux_dwarf_text text = {j->text.data, j->text.size};
	if (options->path || options->debug_path)
		UX_TRY(ux_split_files_open(&j->split, &j->sections.dwarf, options->debug_path,
					   options->path, j->spill, err));
	struct ux_collect_input input = {
		.sections = &j->sections.dwarf,
		.text = &text,
		.split = j->split.linked ? &j->split : NULL,
		.symbols = &j->symbols,
		.threads = j->threads,
		.spill = j->spill,
	};
	return ux_collect(&input, &j->collection, err);
}

static enum ux_code read_symbols(struct job *j, struct ux_extract_stats *stats,
				 struct ux_error *err)
{
	struct ux_dwarf_text text = {j->text.data, j->text.size};
	struct ux_code_symbol_vec *all = &j->symbols;
	ux_cleanup(ux_elf_opd_close) struct ux_elf_opd opd = {0};
	UX_TRY(ux_elf_opd_open(&j->exe, &opd, err)); /* a debug file has no content of it */
	if (j->has_debug) {
		UX_TRY(ux_code_symbols_read(&j->debug, ".symtab", &opd, &text, all, err));
		UX_TRY(ux_code_symbols_read(&j->debug, ".dynsym", &opd, &text, all, err));
	}
	UX_TRY(ux_code_symbols_read(&j->exe, ".symtab", &opd, &text, all, err));
	size_t before = all->size;
	UX_TRY(ux_code_symbols_read(&j->exe, ".dynsym", &opd, &text, all, err));
	if (before > 0)
		stats->quality = UX_QUALITY_SYMTAB;
	else if (j->symbols.size > 0)
		stats->quality = UX_QUALITY_DYNSYM;
	ux_code_symbols_settle(&j->symbols, &text);
	stats->symbols = j->symbols.size;
	return UX_OK;
}

static void count_split(const struct ux_unit_pieces *unit, struct ux_extract_stats *stats)
{
	stats->split_units += unit->split != UX_SPLIT_NONE;
	stats->split_missing += unit->split == UX_SPLIT_MISSING;
	stats->split_mismatched += unit->split == UX_SPLIT_MISMATCH;
}

static void count(const struct job *j, struct ux_extract_stats *stats)
{
	const struct ux_collection *all = &j->collection;
	stats->units = all->n_units + all->bad_headers;
	stats->bad_units = all->bad_headers;
	stats->first_bad = all->reason;
	stats->bad_relocs = j->sections.loss.count;
	stats->first_bad_reloc = j->sections.loss.first;
	if (j->split.reason.code != UX_OK && stats->bad_units++ == 0)
		stats->first_bad = j->split.reason;
	for (size_t i = 0; i < all->n_units; i++) {
		const struct ux_unit_pieces *unit = &all->units[i];
		stats->dwarf_functions += unit->n_functions;
		count_split(unit, stats);
		if (unit->bad > 0 && stats->bad_units++ == 0)
			stats->first_bad = unit->reason;
	}
	ux_pack_count(&j->pieces, &stats->counts);
	if (stats->counts.inlines > 0)
		stats->quality = UX_QUALITY_INLINES;
	else if (stats->counts.line_bytes > 0)
		stats->quality = UX_QUALITY_LINES;
	else if (stats->dwarf_functions > 0)
		stats->quality = UX_QUALITY_SYMTAB; /* names alone, whoever gave them */
}

/* The pieces were made at the pcs of elf_layout.h; people count a relocatable file's from 0. */
static void unbias(struct job *j)
{
	for (size_t i = 0; j->exe.bias > 0 && i < j->pieces.size; i++)
		j->pieces.data[i].start -= j->exe.bias;
}

/* What a GSYM counts from: where the first segment is, or 0 for a file that is yet to be linked. */
static uint64_t base_of(const struct job *j)
{
	const struct ux_elf_segment *load = ux_elf_first_load(&j->exe);
	if (j->exe.type == ET_REL)
		return 0;
	return load ? load->vaddr : j->pieces.data[0].start;
}

/* Counts what goes through, for the statistics. */
struct meter {
	ux_gsym_sink_fn *sink;
	void *ctx;
	uint64_t bytes;
};

static enum ux_code meter_sink(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct meter *m = ctx;
	m->bytes += bytes.size;
	return m->sink(m->ctx, bytes, err);
}

static uint64_t strings_most(const struct job *j)
{
	const struct ux_debug_sections *all[] = {&j->sections, &j->sup_sections};
	uint64_t sum = j->exe.file.size + j->debug.file.size + j->sup.file.size;
	for (size_t i = 0; i < ux_countof(all); i++)
		for (unsigned k = 0; k < UX_DWARF_SECTION_COUNT; k++)
			sum += all[i]->content[k].owned ? all[i]->content[k].bytes.size : 0;
	return STRINGS_FREE + STRINGS_RATIO * sum;
}

static enum ux_code write_gsym(const struct job *j, const struct ux_extract_options *options,
			       ux_gsym_sink_fn *sink, void *ctx, struct ux_extract_stats *stats,
			       struct ux_error *err)
{
	struct ux_id id = gnu_id(&j->exe);
	struct meter meter = {sink, ctx, 0};
	struct ux_pack_target target = {
		.version = options->gsym_version,
		.v1_most = options->gsym1_most,
		.swap = j->exe.swap,
		.base = base_of(j),
		.uuid = ux_bytes(id.bytes, id.size),
		.threads = j->threads,
		.strings_most = strings_most(j),
		.alternatives = &j->alternatives,
		.spill = j->spill,
	};
	UX_TRY(ux_pack(&j->collection, &j->pieces, &target, meter_sink, &meter, err));
	stats->gsym_bytes = meter.bytes;
	return UX_OK;
}

enum ux_code ux_extract(struct ux_bytes exe, struct ux_bytes debug,
			const struct ux_extract_options *options, ux_gsym_sink_fn *sink, void *ctx,
			struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	struct ux_extract_stats stats = {.first_bad = UX_ERROR_INIT,
					 .first_bad_reloc = UX_ERROR_INIT};
	ux_cleanup(job_deinit) struct job j = {0};
	j.threads = options->threads ? options->threads : ux_pool_cpus();
	ux_arena_init(&j.arena, MERGE_BUDGET);
	UX_TRY(open_files(&j, exe, debug, options, err));
	UX_TRY(ux_module_text(&j.exe, &j.text, err));
	UX_TRY(read_symbols(&j, &stats, err));
	if (!options->no_dwarf)
		UX_TRY(read_dwarf(&j, options, err));
	ux_arena_init(&j.names, strings_most(&j));
	UX_TRY(ux_merge(&j.collection, &j.symbols, &j.arena, &j.names, &j.pieces, err));
	if (j.pieces.size == 0)
		return ux_error_set(
			err, UX_ENOTFOUND,
			"no symbols: expected DWARF, .symtab or .dynsym with functions");
	if (options->alternatives)
		UX_TRY(ux_alternatives_find(&j.collection, &j.symbols, &j.pieces, &j.names,
					    &j.alternatives, err));
	unbias(&j);
	count(&j, &stats);
	UX_TRY(write_gsym(&j, options, sink, ctx, &stats, err));
	*ret_stats = stats;
	return UX_OK;
}
