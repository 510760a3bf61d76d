/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for ELF files. */
#include "extract_elf.h"

#include "debug_sections.h"
#include "elf_symbols.h"
#include "elf_ids.h"
#include "function_bounds.h"
#include "go_elf.h"
#include "module_text.h"
#include "wanted.h"

/* One extraction at work; released whole. */
struct job {
	struct ux_elf exe;
	struct ux_elf debug;
	struct ux_elf_debugdata debugdata;
	bool has_debug;
	struct ux_debug_sections sections;
	struct ux_elf sup;
	struct ux_debug_sections sup_sections;
	struct ux_split_files split;
	struct ux_go_source go;
	struct ux_module_build build;
	struct ux_wanted *wanted; /* NULL: everything */
};

static void job_deinit(struct job *j)
{
	ux_module_build_deinit(&j->build);
	ux_go_source_close(&j->go);
	ux_split_files_close(&j->split);
	ux_debug_sections_free(&j->sections);
	ux_debug_sections_free(&j->sup_sections);
	ux_elf_close(&j->sup);
	ux_elf_debugdata_close(&j->debugdata);
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
			       struct ux_error *err)
{
	UX_TRY(ux_elf_open(&j->exe, exe, err));
	j->has_debug = debug.size > 0;
	if (!j->has_debug)
		return UX_OK;
	UX_TRY(ux_elf_open(&j->debug, debug, err));
	return j->build.options->allow_mismatch ? UX_OK : check_pair(j, err);
}

/* The supplementary file's entries and texts: most of them are names that are asked for. */
static enum ux_code read_supplementary(struct job *j, struct ux_bytes file, struct ux_error *err)
{
	const struct ux_module_build *b = &j->build;
	if (file.size == 0)
		return UX_OK;
	UX_TRY(ux_elf_open(&j->sup, file, err));
	UX_TRY(ux_debug_sections_load(&j->sup, b->threads, b->spill, &j->sup_sections, err));
	j->sections.dwarf.sup = &j->sup_sections.dwarf;
	return UX_OK;
}

static enum ux_code collect(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_go_source_rest(&j->go, b);
	struct ux_collect_input input = {
		.sections = &j->sections.dwarf,
		.stream = j->sections.stream,
		.text = &text,
		.split = j->split.linked && !j->sections.stream ? &j->split : NULL,
		.symbols = &b->symbols,
		.wanted = j->wanted,
		.threads = b->threads,
		.spill = b->spill,
	};
	UX_TRY(ux_collect(&input, &b->collection, err));
	b->stats.bad_relocs = j->sections.loss.count;
	b->stats.first_bad_reloc = j->sections.loss.first;
	if (j->split.reason.code != UX_OK)
		ux_module_build_bad(b, &j->split.reason);
	return UX_OK;
}

/* DWARF from the debug file, or from the executable when that alone has it. */
static enum ux_code read_dwarf(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	const struct ux_extract_options *options = b->options;
	const struct ux_elf *from = &j->exe;
	uint8_t head[UX_DEBUG_INFO_HEAD];
	if (j->has_debug && ux_debug_sections_exist(&j->debug))
		from = &j->debug;
	else if (!ux_debug_sections_exist(&j->exe))
		return UX_OK;
	b->spill = ux_debug_sections_spill(from, options->memory, options->spill);
	UX_TRY(ux_debug_sections_load(from, b->threads, b->spill, &j->sections, err));
	UX_TRY(read_supplementary(j, options->supplementary, err));
	if (options->path || options->debug_path || options->split.size > 0)
		UX_TRY(ux_split_files_open(&j->split, &j->sections.dwarf, options->split,
					   options->debug_path, options->path, b->spill, err));
	UX_TRY(collect(j, err));
	ux_module_build_dwarf(b, ux_debug_sections_info_head(from, &j->sections, head));
	return UX_OK;
}

/* A symbol table of one of the files. */
static enum ux_code read_table(struct job *j, const struct ux_elf *elf, enum ux_source source,
			       const struct ux_elf_opd *opd, struct ux_error *err)
{
	struct ux_range_set text = ux_module_build_text(&j->build);
	struct ux_code_symbol_vec *all = &j->build.symbols;
	const char *name = source == UX_SOURCE_DYNSYM ? ".dynsym" : ".symtab";
	size_t before = all->size;
	if (!ux_extract_wants(j->build.options, source))
		return UX_OK;
	UX_TRY(ux_code_symbols_read(elf, name, opd, &text, all, err));
	j->build.stats.found[source] += all->size - before;
	return UX_OK;
}

/* What a stripped file keeps compressed. Without it there is the rest. */
static enum ux_code read_debugdata(struct job *j, const struct ux_elf_opd *opd,
				   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	if (!ux_extract_wants(j->build.options, UX_SOURCE_DEBUGDATA))
		return UX_OK;
	enum ux_code code = ux_elf_debugdata_open(&j->exe, &j->debugdata, &why);
	if (code == UX_OK && j->debugdata.elf.file.size > 0)
		code = read_table(j, &j->debugdata.elf, UX_SOURCE_DEBUGDATA, opd, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	ux_module_build_lost(&j->build, &why);
	return UX_OK;
}

static enum ux_code read_tables(struct job *j, struct ux_error *err)
{
	const uint64_t *found = j->build.stats.found;
	ux_cleanup(ux_elf_opd_close) struct ux_elf_opd opd = {0};
	UX_TRY(ux_elf_opd_open(&j->exe, &opd, err)); /* a debug file has no content of it */
	if (j->has_debug) {
		UX_TRY(read_table(j, &j->debug, UX_SOURCE_SYMTAB, &opd, err));
		UX_TRY(read_table(j, &j->debug, UX_SOURCE_DYNSYM, &opd, err));
	}
	UX_TRY(read_table(j, &j->exe, UX_SOURCE_SYMTAB, &opd, err));
	UX_TRY(read_debugdata(j, &opd, err));
	UX_TRY(read_table(j, &j->exe, UX_SOURCE_DYNSYM, &opd, err));
	if (found[UX_SOURCE_SYMTAB] > 0 || found[UX_SOURCE_DEBUGDATA] > 0)
		j->build.stats.quality = UX_QUALITY_SYMTAB;
	else if (found[UX_SOURCE_DYNSYM] > 0)
		j->build.stats.quality = UX_QUALITY_DYNSYM;
	return UX_OK;
}

static enum ux_code read_stubs(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_module_build_text(b);
	ux_cleanup(ux_elf_stubs_deinit) struct ux_elf_stubs stubs = {0};
	if (!ux_extract_wants(b->options, UX_SOURCE_PLT))
		return UX_OK;
	UX_TRY(ux_elf_plt_read(&j->exe, &stubs, err));
	b->stats.found[UX_SOURCE_PLT] = stubs.size;
	if (stubs.size > 0 && b->stats.quality == UX_QUALITY_NONE)
		b->stats.quality = UX_QUALITY_DYNSYM; /* it names them */
	return ux_code_symbols_add_stubs(&stubs, &text, &b->extra, &b->symbols, err);
}

/* All that names code without saying more of it, each kind of table a line; then what only says
 * where code is. */
static enum ux_code read_symbols(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_module_build_text(b);
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec bounds = {0};
	struct ux_error bad = UX_ERROR_INIT;
	if (ux_extract_wants(b->options, UX_SOURCE_BOUNDS))
		UX_TRY(ux_function_bounds(&j->exe, &text, &bounds, &bad, err));
	ux_module_build_lost(b, &bad);
	UX_TRY(read_tables(j, err));
	UX_TRY(read_stubs(j, err));
	ux_code_symbols_bound(&b->symbols, &bounds);
	ux_code_symbols_settle(&b->symbols, &text);
	return ux_code_symbols_fill(&b->symbols, &bounds, &b->stats.found[UX_SOURCE_BOUNDS], err);
}

/* All that has functions with lines and inlined calls, the most telling first: a further kind is a
 * line behind DWARF's, which ux_module_build_add_units() takes. Go's tables are read in front of
 * DWARF, which need not tell again what is in them. */
static enum ux_code read_units(struct job *j, struct ux_error *err)
{
	UX_TRY(ux_go_elf_open(&j->exe, &j->go.memory, err));
	UX_TRY(ux_go_source_read(&j->go, &j->build, err));
	if (ux_extract_wants(j->build.options, UX_SOURCE_DWARF))
		UX_TRY(read_dwarf(j, err));
	return ux_go_source_add(&j->go, &j->build, err);
}

/* The addresses of a file that is yet to be linked are moved (bias), and it is small. */
static enum ux_code begin_wanted(struct job *j, struct ux_error *err)
{
	if (!j->build.options->wanted || j->build.bias != 0)
		return UX_OK;
	struct ux_range_set text = ux_module_build_text(&j->build);
	j->wanted = j->build.options->wanted;
	j->wanted->narrowed = true;
	return ux_wanted_widen(j->wanted, &j->build.symbols, &text) ? UX_OK : ux_error_nomem(err);
}

/* *ret_nothing: the file has symbols, but none that tell of what is wanted. */
static enum ux_code trim(struct job *j, bool *ret_nothing, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	bool any = b->symbols.size > 0;
	if (!j->wanted)
		return UX_OK;
	UX_TRY(ux_wanted_trim(j->wanted, &b->collection, &b->symbols, err));
	*ret_nothing = any && ux_wanted_nothing(&b->collection, &b->symbols);
	return UX_OK;
}

/* Bytes that names and paths can be in. */
static uint64_t input_size(const struct job *j)
{
	const struct ux_debug_sections *all[] = {&j->sections, &j->sup_sections};
	uint64_t sum = j->exe.file.size + j->debug.file.size + j->sup.file.size;
	if (j->sections.stream)
		sum += j->sections.dwarf.data[UX_DWARF_INFO].size;
	for (size_t i = 0; i < ux_countof(all); i++)
		for (unsigned k = 0; k < UX_DWARF_SECTION_COUNT; k++)
			sum += all[i]->content[k].owned ? all[i]->content[k].bytes.size : 0;
	return sum;
}

/* What the module is. A GSYM counts from where the first segment is, or from 0 for a file that is
 * yet to be linked: its pieces are made at the pcs of elf_file.h. */
static void describe(struct job *j)
{
	const struct ux_elf_segment *load = ux_elf_first_load(&j->exe);
	struct ux_module_build *b = &j->build;
	b->swap = j->exe.swap;
	b->bias = j->exe.bias;
	b->id = gnu_id(&j->exe);
	b->expected = "DWARF, .symtab, .dynsym or Go's tables with functions, or .eh_frame";
	if (j->exe.type == ET_REL)
		b->base = 0;
	else if (load)
		b->base = load->vaddr;
}

enum ux_code ux_extract_elf(struct ux_bytes exe, struct ux_bytes debug,
			    const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
			    void *ctx, struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_cleanup(job_deinit) struct job j = {0};
	ux_module_build_init(&j.build, options);
	UX_TRY(open_files(&j, exe, debug, err));
	describe(&j);
	UX_TRY(ux_module_text(&j.exe, &j.build.text, err));
	UX_TRY(read_symbols(&j, err));
	UX_TRY(begin_wanted(&j, err));
	bool nothing = false;
	UX_TRY(read_units(&j, err));
	UX_TRY(trim(&j, &nothing, err));
	if (nothing)
		return UX_OK;
	j.build.input_size = input_size(&j);
	return ux_module_build_write(&j.build, sink, ctx, ret_stats, err);
}
