/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of an ELF file that a process has mapped. */
#include "file_symbols.h"

#include "clock.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "elf_symbols.h"
#include "extract.h"

enum {
	PAGE = 4096, /* the smallest page size of any system */
	LOADS_MAX = 4096,
	SECTIONS_MAX = 65536, /* code sections */
};

enum {
	INDEX_MAX = 32 << 20 /* bytes of the index of records that are looked up repeatedly */
};

#define KERNEL_HALF ((uint64_t)1 << 63)

struct ux_file_symbols *ux_file_symbols_hold(struct ux_file_symbols *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void ux_file_symbols_drop(struct ux_file_symbols *s)
{
	/* Release and acquire order all uses by other threads before the memory is freed. */
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	free(s->loads);
	for (size_t i = 0; i < s->n_sections; i++)
		free(s->sections[i].name);
	free(s->sections);
	ux_gsym_index_free(&s->gsym);
	ux_out_deinit(&s->built);
	ux_file_unmap(&s->cached);
	ux_extract_cache_deinit(&s->cache);
	free(s);
}

struct ux_file_symbols *ux_file_symbols_create_empty(const struct ux_error *why)
{
	struct ux_file_symbols *s = calloc(1, sizeof(*s));
	if (s) {
		atomic_init(&s->refs, 1);
		s->why = *why;
	}
	return s;
}

static enum ux_code file_symbols_read_loads(struct ux_file_symbols *s, const struct ux_elf *elf,
					    struct ux_error *err)
{
	if (elf->n_segments > LOADS_MAX)
		return ux_error_set(err, UX_ELIMIT, "has %zu segments; at most %d", elf->n_segments,
				    LOADS_MAX);
	s->loads = calloc(elf->n_segments + 1, sizeof(*s->loads));
	if (!s->loads)
		return ux_error_nomem(err);
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *seg = &elf->segments[i];
		if (seg->type == PT_LOAD && seg->off <= UINT64_MAX - seg->filesz - PAGE)
			s->loads[s->n_loads++] =
				(struct ux_load){seg->off, seg->filesz, seg->vaddr, seg->memsz,
						 (seg->flags & PF_X) != 0};
	}
	return UX_OK;
}

static bool file_section_is_code(const struct ux_elf_section *section)
{
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	return (section->flags & code) == code && section->addr != UINT64_MAX;
}

/* Reads the code sections of a relocatable file. */
static enum ux_code file_symbols_read_sections(struct ux_file_symbols *s, const struct ux_elf *elf,
					       struct ux_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < elf->n_sections; i++)
		n += file_section_is_code(&elf->sections[i]);
	if (elf->type != ET_REL || n == 0)
		return UX_OK;
	if (n > SECTIONS_MAX)
		return ux_error_set(err, UX_ELIMIT, "has %zu code sections; the limit is %d", n,
				    SECTIONS_MAX);
	s->sections = calloc(n, sizeof(*s->sections));
	if (!s->sections)
		return ux_error_nomem(err);
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *from = &elf->sections[i];
		if (!file_section_is_code(from))
			continue;
		struct ux_code_section *to = &s->sections[s->n_sections++];
		*to = (struct ux_code_section){strdup(from->name), from->addr - elf->bias,
					       from->size};
		if (!to->name)
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Finds _text and _stext of a kernel. A file is taken as a kernel if it is linked to the upper
 * half of the address space. */
static void file_symbols_read_text(struct ux_file_symbols *s, const struct ux_elf *elf)
{
	struct ux_elf_symbols it;
	const struct ux_elf_symbol *symbol;
	const struct ux_elf_section *table = ux_elf_section_find(elf, ".symtab");
	if (s->n_loads == 0 || s->loads[0].pc < KERNEL_HALF || !table ||
	    ux_elf_symbols_open(elf, table, &it, NULL) != UX_OK)
		return;
	while ((symbol = ux_elf_symbols_next(&it)) != NULL) {
		if (strcmp(symbol->name, "_text") == 0)
			s->text = symbol->value;
		else if (strcmp(symbol->name, "_stext") == 0)
			s->stext = symbol->value;
	}
}

static void file_symbols_read_ids(struct ux_file_symbols *s, const struct ux_elf *elf,
				  struct ux_bytes file)
{
	struct ux_id_set ids = {0};
	const struct ux_id *gnu = NULL, *go = NULL;
	if (ux_elf_ids(elf, &ids, NULL) == UX_OK) {
		gnu = ux_id_set_find(&ids, UX_ID_GNU);
		go = ux_id_set_find(&ids, UX_ID_GO);
	}
	struct ux_id of_file = ux_file_id(file);
	if (gnu)
		ux_id_format(gnu, s->build_id);
	ux_id_format(gnu ? gnu : go ? go : &of_file, s->id);
}

enum ux_code ux_file_symbols_create(struct ux_bytes file, struct ux_file_symbols **ret,
				    struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_error none = UX_ERROR_INIT;
	UX_TRY(ux_elf_open(&elf, file, err));
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s =
		ux_file_symbols_create_empty(&none);
	if (!s)
		return ux_error_nomem(err);
	UX_TRY(file_symbols_read_loads(s, &elf, err));
	UX_TRY(file_symbols_read_sections(s, &elf, err));
	file_symbols_read_text(s, &elf);
	s->has_dwarf = ux_elf_has_dwarf(&elf);
	file_symbols_read_ids(s, &elf, file);
	*ret = ux_take(&s);
	return UX_OK;
}

enum ux_code ux_file_symbols_create_head(struct ux_bytes head, struct ux_file_symbols **ret,
					 struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_error none = UX_ERROR_INIT;
	UX_TRY(ux_elf_open_image(&elf, head, LOADS_MAX, err));
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s =
		ux_file_symbols_create_empty(&none);
	if (!s)
		return ux_error_nomem(err);
	UX_TRY(file_symbols_read_loads(s, &elf, err));
	*ret = ux_take(&s);
	return UX_OK;
}

static enum ux_code file_symbols_write_gsym(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

enum ux_code ux_symbol_search_fetch(const struct ux_symbol_search *search, const char *build_id,
				    struct ux_debug_file *ret, struct ux_error *ret_lost,
				    struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_id id = {0};
	const char *bad = "is not a file";
	if (!search->find || ux_id_parse(ux_bytes_cstr(build_id), &id, NULL) != UX_OK)
		return UX_OK;
	enum ux_code code = search->find(search->ctx, build_id, &path, &why);
	if (code == UX_OK && (!path || !ux_debug_map_id(path, &id, &ret->file, &bad)))
		code = ux_error_set(&why, UX_ECORRUPT, "the file found for %.50s %s", build_id,
				    bad);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK)
		ret->path = ux_take(&path);
	else if (code != UX_ENOTFOUND)
		*ret_lost = why;
	return UX_OK;
}

/* Opens the GSYM that an earlier command has left. Damage inside of it is not detected here, but by
 * lookups. */
static bool file_symbols_open_cached(struct ux_file_symbols *s)
{
	if (!ux_extract_cache_find(&s->cache, &s->cached))
		return false;
	if (ux_gsym_open(&s->gsym, s->cached.bytes, NULL) == UX_OK && s->gsym.n_functions > 0 &&
	    ux_gsym_index_open(&s->gsym, INDEX_MAX, NULL) == UX_OK)
		return true;
	(void)ux_file_symbols_drop_cached(s);
	return false;
}

bool ux_file_symbols_drop_cached(struct ux_file_symbols *s)
{
	if (!s->cached.bytes.data)
		return false;
	ux_extract_cache_drop(&s->cache);
	ux_gsym_index_free(&s->gsym);
	s->gsym = (struct ux_gsym){0};
	ux_file_unmap(&s->cached);
	return true;
}

/* Returns the processor time of this process. */
static uint64_t file_symbols_cpu_ms(void)
{
	return (uint64_t)ux_clock_read(CLOCK_PROCESS_CPUTIME_ID) / UX_CLOCK_NS_IN_MS;
}

/*
 * Extracts into s->built. Once partial extractions have taken max_ms in total, everything is
 * extracted, for later commands.
 */
static enum ux_code file_symbols_extract_to(struct ux_file_symbols *s,
					    const struct ux_symbol_input *in, struct ux_bytes debug,
					    struct ux_extract_options *options, uint64_t max_ms,
					    struct ux_error *err)
{
	struct ux_extract_stats stats = {0};
	const bool whole = !in->only || ux_extract_cache_is_due(&s->cache, max_ms);
	const uint64_t before = file_symbols_cpu_ms();
	options->filter = whole ? NULL : in->only;
	UX_TRY(ux_extract(in->file, debug, options, file_symbols_write_gsym, &s->built, &stats,
			  err));
	if (stats.split_units > 0) /* the cache's key does not include their files */
		return UX_OK;
	if (whole)
		ux_extract_cache_write(&s->cache, ux_out_bytes(&s->built));
	else
		ux_extract_cache_add_cost(&s->cache, file_symbols_cpu_ms() - before);
	return UX_OK;
}

/* Finds the GSYM of a file and its debug file in the cache, or extracts it into s->built. */
static enum ux_code file_symbols_extract_gsym(struct ux_file_symbols *s,
					      const struct ux_symbol_input *in,
					      const struct ux_symbol_search *search,
					      struct ux_error *err)
{
	ux_cleanup(ux_debug_file_close) struct ux_debug_file found = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping sup = {0};
	struct ux_extract_options options = {.path = in->path};
	struct ux_debug_search here = {.dirs = search->dirs};
	struct ux_bytes debug = in->debug;
	options.debug_path = in->debug_path;
	options.no_dwarf = in->no_dwarf;
	options.mapped = in->mapped;
	if (debug.size == 0) {
		UX_TRY(ux_debug_file_find(&found, in->file, in->path, &here, err));
		if (!found.path && !s->has_dwarf)
			UX_TRY(ux_symbol_search_fetch(search, s->build_id, &found, &s->lost, err));
		debug = found.file.bytes;
		options.debug_path = found.path;
	}
	/* Without the supplementary file only some names are missing, so its absence is not a
	 * failure. */
	if (options.debug_path &&
	    ux_supplementary_find(debug, options.debug_path, search->dirs, &sup, NULL) == UX_OK)
		options.supplementary = sup.bytes;
	s->has_dwarf = s->has_dwarf || options.debug_path;
	const struct ux_mapping *inputs[UX_EXTRACT_CACHE_INPUTS] = {in->cacheable, &found.file,
								    &sup};
	if (in->cacheable && in->debug.size == 0) {
		ux_extract_cache_init(&s->cache, inputs, in->no_dwarf ? "d0" : "n0");
		if (file_symbols_open_cached(s))
			return UX_OK;
	}
	const uint64_t max_ms = s->cache.path ? ux_extract_cache_max_ms(inputs) : 0;
	UX_TRY(file_symbols_extract_to(s, in, debug, &options, max_ms, err));
	if (s->built.size == 0)
		return UX_OK;
	UX_TRY(ux_gsym_open(&s->gsym, ux_out_bytes(&s->built), err));
	return ux_gsym_index_open(&s->gsym, INDEX_MAX, err);
}

enum ux_code ux_file_symbols_extract(struct ux_file_symbols *s, const struct ux_symbol_input *in,
				     const struct ux_symbol_search *search, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = file_symbols_extract_gsym(s, in, search, &why);
	if (code == UX_OK)
		return UX_OK;
	ux_out_deinit(&s->built);
	s->built = (struct ux_out){0};
	s->why = why;
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

bool ux_file_symbols_has_content(const struct ux_file_symbols *s)
{
	size_t executable = 0;
	for (size_t i = 0; i < s->n_loads; i++) {
		executable += s->loads[i].exec;
		if (s->loads[i].exec && s->loads[i].filesz > 0)
			return true;
	}
	return executable == 0;
}

bool ux_file_symbols_pc(const struct ux_file_symbols *s, uint64_t off, uint64_t *ret)
{
	const struct ux_load *best = NULL;
	unsigned best_rank = 0;
	if (!ux_file_symbols_has_content(s))
		return false;
	for (size_t i = 0; i < s->n_loads; i++) {
		const struct ux_load *l = &s->loads[i];
		uint64_t first = l->off & ~(uint64_t)(PAGE - 1);
		uint64_t end = (l->off + l->filesz + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		bool inside = off >= l->off && off - l->off < l->filesz;
		unsigned rank = 1 + 2 * (unsigned)l->exec + (unsigned)inside;
		if (off < first || off >= end || rank <= best_rank)
			continue;
		best = l;
		best_rank = rank;
	}
	if (best)
		*ret = best->pc + (off - best->off);
	return best != NULL;
}

bool ux_file_symbols_begins_with_text(const struct ux_file_symbols *s)
{
	for (size_t i = 0; i < s->n_sections; i++)
		if (strncmp(s->sections[i].name, ".init", 5) != 0)
			return strcmp(s->sections[i].name, ".text") == 0;
	return false;
}

bool ux_file_symbols_has_code(const struct ux_file_symbols *s, uint64_t pc)
{
	for (size_t i = 0; i < s->n_loads; i++)
		if (s->loads[i].exec && pc >= s->loads[i].pc &&
		    pc - s->loads[i].pc < s->loads[i].memsz)
			return true;
	return false;
}
