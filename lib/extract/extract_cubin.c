/* SPDX-License-Identifier: Apache-2.0 */
/* Extracts cubins. */
#include "extract_cubin.h"

#include "cubin.h"
#include "debug_sections.h"
#include "dwarf_units.h"
#include "elf_reloc.h"
#include "elf_symbols.h"
#include "fatbin.h"
#include "function_bounds.h"

/* The state of one extraction. Everything in it is released together. */
struct job {
	struct ux_object *object;
	const struct ux_elf *cubin; /* `object` as an ELF file */
	struct ux_debug_sections sections;
	struct ux_content ptx; /* content of .nv_debug_line_sass */
	struct ux_module_build build;
};

static void job_deinit(struct job *j)
{
	ux_module_build_deinit(&j->build);
	ux_content_free(&j->ptx);
	ux_debug_sections_free(&j->sections);
	ux_object_close(j->object);
}

/* Adds a symbol, unless it is outside of all code. */
static enum ux_code add_symbol(struct ux_module_build *b, struct ux_code_symbol symbol,
			       struct ux_error *err)
{
	struct ux_range_set text = ux_module_build_text(b);
	if (!ux_range_set_find(&text, symbol.start) || symbol.name[0] == '\0')
		return UX_OK;
	symbol.name_size = (uint32_t)strnlen(symbol.name, UX_DWARF_TEXT_MAX);
	return ux_code_symbol_vec_append(&b->symbols, symbol) ? UX_OK : ux_error_nomem(err);
}

/* Reads the symbols of kernels and of the functions inside of them. */
static enum ux_code read_symbol_table(struct job *j, struct ux_error *err)
{
	const struct ux_elf_section *table = ux_elf_section_find(j->cubin, ".symtab");
	struct ux_elf_symbols it;
	if (!table || table->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_symbols_open(j->cubin, table, &it, err));
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(&it));) {
		if (s->type != STT_FUNC || !s->home)
			continue;
		struct ux_code_symbol symbol = {
			.start = ux_elf_symbol_pc(j->cubin, s),
			.size = s->size,
			.name = ux_cubin_symbol_name(s->name, s->home),
			.bind = s->bind,
		};
		UX_TRY(add_symbol(&j->build, symbol, err));
	}
	return UX_OK;
}

/* Adds a symbol for each code section, which is named after its function. Symbols may have been
 * stripped. */
static enum ux_code read_section_names(struct job *j, struct ux_error *err)
{
	for (size_t i = 1; i < j->cubin->n_sections; i++) {
		const struct ux_elf_section *s = &j->cubin->sections[i];
		const char *name = ux_cubin_section_name(s);
		if (!name || s->size == 0)
			continue;
		struct ux_code_symbol symbol = {
			.start = s->addr,
			.size = s->size,
			.name = name,
			.bind = STB_LOCAL, /* so that a symbol with the same range is preferred */
		};
		UX_TRY(add_symbol(&j->build, symbol, err));
	}
	return UX_OK;
}

static enum ux_code read_symbols(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_module_build_text(b);
	bool symtab = ux_extract_includes(b->options, UX_SOURCE_SYMTAB);
	if (symtab)
		UX_TRY(read_symbol_table(j, err));
	size_t n_symbols = b->symbols.size;
	if (symtab || ux_extract_includes(b->options, UX_SOURCE_DWARF) ||
	    ux_extract_includes(b->options, UX_SOURCE_PTX))
		UX_TRY(read_section_names(j, err)); /* rows need a function */
	b->stats.found[UX_SOURCE_SYMTAB] = symtab && n_symbols == 0 ? b->symbols.size : n_symbols;
	ux_code_symbols_sort(&b->symbols, &text);
	b->stats.quality = b->symbols.size > 0 ? UX_QUALITY_SYMTAB : UX_QUALITY_NONE;
	return UX_OK;
}

/* Reads .debug_info, or .debug_line when there is no .debug_info. */
static enum ux_code read_dwarf(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	struct ux_range_set text = ux_module_build_text(b);
	struct ux_dwarf_units_input input = {
		.sections = &j->sections.dwarf,
		.stream = j->sections.stream,
		.text = &text,
		.symbols = &b->symbols,
		.threads = b->threads,
		.spill = b->spill,
	};
	uint8_t head[UX_DEBUG_INFO_HEAD];
	if (ux_debug_sections_exist(j->object)) {
		UX_TRY(ux_dwarf_units_collect(&input, &b->collection, err));
		ux_module_build_dwarf(b,
				      ux_debug_sections_info_head(j->object, &j->sections, head));
	}
	return ux_cubin_units_add(b, &j->sections.dwarf, err);
}

/* Reads the lines of PTX. Damage costs only this source. */
static enum ux_code read_ptx(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	const struct ux_elf_section *s = ux_elf_section_find(j->cubin, ".nv_debug_line_sass");
	struct ux_reloc_loss loss = {.first = UX_ERROR_INIT};
	struct ux_error why = UX_ERROR_INIT;
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	enum ux_code code = ux_elf_section_load_relocated(j->cubin, s, j->cubin->file.size,
							  b->spill, &j->ptx, &loss, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		ux_module_build_bad_source(b, &why);
		return UX_OK;
	}
	if (loss.count > 0)
		ux_module_build_bad_source(b, &loss.first);
	return ux_cubin_units_add_ptx(b, &j->sections.dwarf, j->ptx.bytes, err);
}

/* Reads units: nvcc -G makes complete DWARF, while -lineinfo makes only line tables. */
static enum ux_code read_units(struct job *j, struct ux_error *err)
{
	struct ux_module_build *b = &j->build;
	UX_TRY(ux_debug_sections_load(j->object, b->threads, b->spill, &j->sections, err));
	b->stats.bad_relocs = j->sections.loss.count;
	b->stats.first_bad_reloc = j->sections.loss.first;
	if (ux_extract_includes(b->options, UX_SOURCE_DWARF))
		UX_TRY(read_dwarf(j, err));
	return ux_extract_includes(b->options, UX_SOURCE_PTX) ? read_ptx(j, err) : UX_OK;
}

static uint64_t input_size(const struct job *j)
{
	uint64_t sum = j->cubin->file.size;
	for (unsigned i = 0; i < UX_DWARF_SECTION_COUNT; i++)
		sum += j->sections.content[i].owned ? j->sections.content[i].bytes.size : 0;
	return sum;
}

enum ux_code ux_extract_cubin(struct ux_bytes exe, struct ux_bytes debug,
			      const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
			      void *ctx, struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_cleanup(job_deinit) struct job j = {0};
	const struct ux_object_choice any = {0};
	ux_module_build_init(&j.build, options);
	if (debug.size > 0)
		return ux_error_set(err, UX_EINVAL,
				    "a cubin contains its symbols; omit the debug file");
	UX_TRY(ux_object_elf.open(exe, &any, &j.object, err));
	j.cubin = ux_elf_of(j.object);
	j.build.swap = j.object->swap;
	j.build.base = 0; /* addresses are offsets in the file */
	j.build.expected = "a cubin with functions";
	UX_TRY(ux_object_text(j.object, &j.build.text, err));
	ux_module_build_limit(&j.build, ux_code_symbols_need(j.object));
	ux_module_build_limit(&j.build, ux_debug_sections_need(j.object));
	j.build.symbols.spill = j.build.spill;
	UX_TRY(read_symbols(&j, err));
	if (!options->no_dwarf)
		UX_TRY(read_units(&j, err));
	j.build.input_size = input_size(&j);
	return ux_module_build_write(&j.build, sink, ctx, ret_stats, err);
}

enum ux_code ux_extract_fatbin(struct ux_bytes exe, struct ux_bytes debug,
			       const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
			       void *ctx, struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	size_t chosen = 0;
	UX_TRY(ux_fatbin_list_read(exe, &list, err));
	UX_TRY(ux_fatbin_choose(&list, options->gpu, &chosen, err));
	struct ux_spill *spill = options->memory > 0 ? options->spill : NULL;
	UX_TRY(ux_fatbin_unpack(&list.entries.data[chosen], spill, &content, err));
	return ux_extract_cubin(content.bytes, debug, options, sink, ctx, ret_stats, err);
}
