/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for Mach-O files. */
#include "extract_macho.h"

#include "debug_map.h"
#include "dsym.h"
#include "go_macho.h"
#include "macho_code.h"
#include "macho_dwarf.h"
#include "macho_fat.h"

/* One extraction at work; released whole. */
struct job {
	struct ux_macho exe;
	struct ux_macho debug;
	bool has_debug;
	struct ux_mapping found; /* a dSYM bundle's file, beside exe */
	struct ux_macho_dwarf dwarf;
	struct ux_debug_sections sections;
	struct ux_go_source go;
	struct ux_debug_map map;
	struct ux_module_build build;
};

static void job_deinit(struct job *j)
{
	ux_module_build_deinit(&j->build);
	ux_go_source_close(&j->go);
	ux_debug_map_close(&j->map);
	ux_debug_sections_free(&j->sections);
	ux_macho_close(&j->debug);
	ux_macho_close(&j->exe);
	ux_file_unmap(&j->found);
}

/* --- which files ------------------------------------------------------------------------------ */

/* The UUID of a file of one machine; size 0: not known. */
static struct ux_id id_of(struct ux_bytes file)
{
	ux_cleanup(ux_macho_close) struct ux_macho m = {0};
	if (ux_macho_open(&m, file, NULL) != UX_OK)
		return (struct ux_id){0};
	return m.id;
}

static enum ux_code open_exe(struct job *j, struct ux_bytes exe, struct ux_bytes debug,
			     struct ux_error *err)
{
	struct ux_id id = id_of(debug);
	struct ux_macho_slice slice;
	UX_TRY(ux_macho_slice_choose(exe, j->build.options->arch, &id, &slice, err));
	return ux_macho_open(&j->exe, slice.bytes, err);
}

static bool same_machine(const struct job *j, const struct ux_macho_slice *s)
{
	return s->cpu == j->exe.cpu &&
	       (s->subtype & CPU_SUBTYPE_KIND) == (j->exe.subtype & CPU_SUBTYPE_KIND);
}

/* The debug file's slice with the executable's UUID, else the one for its machine. */
static enum ux_code choose_debug(const struct job *j, struct ux_bytes debug, struct ux_bytes *ret,
				 struct ux_error *err)
{
	struct ux_macho_slices slices;
	const struct ux_macho_slice *same = NULL;
	if (!ux_macho_any(debug))
		return ux_error_set(err, UX_EUNSUPPORTED, "debug file is not a Mach-O file");
	UX_TRY(ux_macho_slices(debug, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		const struct ux_macho_slice *s = &slices.list[i];
		struct ux_id id = id_of(s->bytes);
		*ret = s->bytes;
		if (id.size > 0 && ux_id_eq(&id, &j->exe.id))
			return UX_OK;
		if (!same && same_machine(j, s))
			same = s;
	}
	*ret = same ? same->bytes : slices.list[0].bytes;
	return UX_OK;
}

/* The same UUID at another place would give other functions' lines. */
static enum ux_code check_place(const struct job *j, struct ux_error *err)
{
	const struct ux_macho_segment *exe = ux_macho_segment_find(&j->exe, "__TEXT");
	const struct ux_macho_segment *debug = ux_macho_segment_find(&j->debug, "__TEXT");
	if (!exe || !debug || exe->vmaddr == debug->vmaddr)
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT,
			    "debug file has __TEXT at 0x%" PRIx64 ", expected 0x%" PRIx64
			    ": one of them was moved",
			    debug->vmaddr, exe->vmaddr);
}

static enum ux_code check_pair(const struct job *j, struct ux_error *err)
{
	char exe[UX_ID_TEXT], debug[UX_ID_TEXT];
	char exe_arch[UX_MACHO_ARCH_TEXT], debug_arch[UX_MACHO_ARCH_TEXT];
	const struct ux_macho *e = &j->exe, *d = &j->debug;
	if (e->cpu != d->cpu || e->is64 != d->is64)
		return ux_error_set(err, UX_ECONFLICT,
				    "debug file is for another machine: %s, expected %s",
				    ux_macho_arch_name(d->cpu, d->subtype, debug_arch),
				    ux_macho_arch_name(e->cpu, e->subtype, exe_arch));
	if (e->id.size == 0 || d->id.size == 0 || ux_id_eq(&e->id, &d->id))
		return check_place(j, err);
	return ux_error_set(err, UX_ECONFLICT, "UUIDs differ: debug file %.48s, expected %.48s",
			    ux_id_format(&d->id, debug), ux_id_format(&e->id, exe));
}

/* A bundle beside the executable is as good as one that was given, when it is there. */
static enum ux_code find_debug(struct job *j, struct ux_error *err)
{
	const struct ux_extract_options *o = j->build.options;
	if (!o->path || !ux_extract_wants(o, UX_SOURCE_DWARF) || ux_macho_dwarf_exists(&j->exe))
		return UX_OK;
	return ux_dsym_find(&j->exe.id, o->path, &j->found, err);
}

static enum ux_code open_files(struct job *j, struct ux_bytes exe, struct ux_bytes debug,
			       struct ux_error *err)
{
	UX_TRY(open_exe(j, exe, debug, err));
	if (debug.size == 0)
		UX_TRY(find_debug(j, err));
	struct ux_bytes slice = debug.size > 0 ? debug : j->found.bytes;
	j->has_debug = slice.size > 0;
	if (!j->has_debug)
		return UX_OK;
	UX_TRY(choose_debug(j, slice, &slice, err));
	UX_TRY(ux_macho_open(&j->debug, slice, err));
	return j->build.options->allow_mismatch ? UX_OK : check_pair(j, err);
}

/* --- what is in them -------------------------------------------------------------------------- */

/* The names that one of the files has. */
static enum ux_code read_names(struct job *j, const struct ux_macho *from,
			       struct ux_macho_names *ret, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_module_build_text(b);
	uint64_t *found = b->stats.found;
	size_t before = b->symbols.size;
	if (ux_extract_wants(b->options, UX_SOURCE_SYMTAB))
		UX_TRY(ux_macho_code_symbols(from, &text, &b->symbols, ret, err));
	found[UX_SOURCE_SYMTAB] += b->symbols.size - before;
	before = b->symbols.size;
	if (ux_extract_wants(b->options, UX_SOURCE_PLT))
		UX_TRY(ux_macho_stub_symbols(from, &text, &b->extra, &b->symbols, err));
	found[UX_SOURCE_PLT] += b->symbols.size - before;
	return UX_OK;
}

/* Functions that no symbol names are what strip leaves: then the table is no better than .dynsym.
 */
static enum ux_quality quality_of(const struct ux_macho_names *names, bool nameless)
{
	if (names->symbols == 0)
		return UX_QUALITY_NONE;
	return names->local || !nameless ? UX_QUALITY_SYMTAB : UX_QUALITY_DYNSYM;
}

/* All that names code without saying more of it, each kind of table a line; then what only says
 * where code is. */
static enum ux_code read_symbols(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_module_build_text(b);
	struct ux_macho_names names = {0}, more = {0};
	uint64_t *nameless = &b->stats.found[UX_SOURCE_BOUNDS];
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec bounds = {0};
	if (ux_extract_wants(b->options, UX_SOURCE_BOUNDS))
		UX_TRY(ux_macho_bounds(&j->exe, &text, &bounds, err));
	UX_TRY(read_names(j, &j->exe, &names, err));
	if (j->has_debug)
		UX_TRY(read_names(j, &j->debug, &more, err));
	ux_macho_bound_symbols(&bounds, &b->symbols);
	ux_code_symbols_settle(&b->symbols, &text);
	UX_TRY(ux_code_symbols_fill(&b->symbols, &bounds, nameless, err));
	b->stats.quality =
		ux_max(quality_of(&names, *nameless > 0), quality_of(&more, *nameless > 0));
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
		.symbols = &b->symbols,
		.threads = b->threads,
		.spill = b->spill,
	};
	return ux_collect(&input, &b->collection, err);
}

/* An object's units, numbered behind those that are there. */
static enum ux_code add_object(struct job *j, const struct ux_collection *object,
			       struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	uint32_t first = (uint32_t)b->collection.n_units;
	for (size_t i = 0; i < object->n_units; i++) {
		struct ux_unit_pieces *unit = &object->units[i];
		for (uint32_t k = 0; k < unit->n_functions; k++)
			unit->functions[k].unit += first;
		for (uint32_t k = 0; k < unit->n_lines; k++)
			unit->lines[k].unit += first;
	}
	if (object->bad_headers > 0)
		ux_module_build_bad(b, &object->reason);
	return ux_module_build_add_units(b, object->units, object->n_units, err);
}

/* DWARF that the linker left where it was, unless nobody may look there. */
static enum ux_code read_map(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	const struct ux_extract_options *o = b->options;
	struct ux_debug_map *map = &j->map;
	UX_TRY(ux_debug_map_open(map, &j->exe, err));
	b->stats.map_objects = map->n_objects;
	b->stats.map_missing = map->n_objects;
	if (!o->path || map->n_objects == 0)
		return UX_OK;
	/* How much it is shows when it is open. */
	if (o->memory > 0)
		b->spill = o->spill ? o->spill : "/var/tmp";
	UX_TRY(ux_debug_map_read(map, b->threads, b->spill, err));
	b->stats.map_missing = map->missing;
	b->stats.map_changed = map->changed;
	if (map->damaged > 0)
		ux_module_build_lost(b, &map->bad);
	for (size_t i = 0; i < map->n_objects; i++)
		UX_TRY(add_object(j, ux_debug_map_collection(map, i), err));
	ux_module_build_dwarf(b, ux_debug_map_info(map));
	return UX_OK;
}

/* DWARF from the debug file, or from the executable when that alone has it. */
static enum ux_code read_dwarf(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	const struct ux_extract_options *options = b->options;
	const struct ux_macho *from = &j->exe;
	uint8_t head[UX_DEBUG_INFO_HEAD];
	if (j->has_debug && ux_macho_dwarf_exists(&j->debug))
		from = &j->debug;
	else if (!ux_macho_dwarf_exists(&j->exe))
		return read_map(j, err);
	ux_macho_dwarf_init(&j->dwarf, from);
	b->spill = ux_debug_sections_spill(&j->dwarf.elf, options->memory, options->spill);
	UX_TRY(ux_debug_sections_load(&j->dwarf.elf, b->threads, b->spill, &j->sections, err));
	UX_TRY(collect(j, err));
	b->stats.bundle = from == &j->debug && j->found.bytes.size > 0;
	ux_module_build_dwarf(b, ux_debug_sections_info_head(&j->dwarf.elf, &j->sections, head));
	return UX_OK;
}

/* All that has functions with lines and inlined calls, the most telling first: a further kind is a
 * line behind DWARF's, which ux_module_build_add_units() takes. */
static enum ux_code read_units(struct job *j, struct ux_error *err)
{
	UX_TRY(ux_go_macho_open(&j->exe, &j->go.memory, err));
	UX_TRY(ux_go_source_read(&j->go, &j->build, err));
	if (ux_extract_wants(j->build.options, UX_SOURCE_DWARF))
		UX_TRY(read_dwarf(j, err));
	UX_TRY(ux_go_source_add(&j->go, &j->build, err));
	return ux_macho_trim_symbols(&j->build.collection, &j->build.symbols, err);
}

/* Bytes that names and paths can be in. */
static uint64_t input_size(const struct job *j)
{
	uint64_t sum = j->exe.file.size + j->debug.file.size + j->map.size;
	if (j->sections.stream)
		sum += j->sections.dwarf.data[UX_DWARF_INFO].size;
	for (unsigned k = 0; k < UX_DWARF_SECTION_COUNT; k++)
		if (j->sections.content[k].owned)
			sum += j->sections.content[k].bytes.size;
	return sum;
}

/* What the module is. An object file counts from 0, as its sections do. */
static void describe(struct job *j)
{
	const struct ux_macho_segment *text = ux_macho_segment_find(&j->exe, "__TEXT");
	struct ux_module_build *b = &j->build;
	b->swap = j->exe.swap;
	b->id = j->exe.id;
	b->expected = "a symbol table or DWARF with functions";
	if (j->exe.type == MH_OBJECT)
		b->base = 0;
	else if (text)
		b->base = text->vmaddr;
}

enum ux_code ux_extract_macho(struct ux_bytes exe, struct ux_bytes debug,
			      const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
			      void *ctx, struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_cleanup(job_deinit) struct job j = {0};
	ux_module_build_init(&j.build, options);
	UX_TRY(open_files(&j, exe, debug, err));
	describe(&j);
	UX_TRY(ux_macho_text(&j.exe, &j.build.text, err));
	UX_TRY(read_symbols(&j, err));
	UX_TRY(read_units(&j, err));
	j.build.input_size = input_size(&j);
	return ux_module_build_write(&j.build, sink, ctx, ret_stats, err);
}
