/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the modules of a crash report among the files of this machine, and on a server. */
#include "crash_module.h"

#include "crash_line.h"
#include "crash_search.h"
#include "dsym.h"
#include "elf_symbols.h"
#include "profile_file.h"
#include "profile_text.h"

#include <elf.h>

enum {
	TEXTS_BUDGET = 16 << 20, /* bytes of the paths of files with symbols */
};

static struct ux_crash_sources *crash_sources_of(struct ux_crash_source *s)
{
	return (struct ux_crash_sources *)s; /* its first member */
}

/* --- opening ---------------------------------------------------------------------------------- */

static void crash_file_free(struct ux_crash_file *m)
{
	ux_gsym_names_deinit(&m->gsym_names);
	ux_gsym_names_deinit(&m->whole_names);
	ux_out_deinit(&m->gsym_bytes);
	ux_elf_close(&m->elf);
	ux_file_unmap(&m->mapping);
	ux_file_symbols_drop(m->symbols);
	ux_file_symbols_drop(m->whole);
	free(m->path);
	free(m);
}

static enum ux_code crash_sources_open(struct ux_crash_source *source,
				       const struct ux_crash_wanted *w, struct ux_crash_found *ret,
				       struct ux_error *err)
{
	struct ux_crash_sources *s = crash_sources_of(source);
	struct ux_crash_file *m = calloc(1, sizeof(*m));
	if (!m || !ux_crash_files_append(&s->files, m)) {
		free(m);
		return ux_error_nomem(err);
	}
	m->name = w->name;
	ret->record = m;
	return ux_crash_file_search(s, w, m, ret, err);
}

static void crash_sources_close(struct ux_crash_source *source, void *record)
{
	struct ux_crash_files *v = &crash_sources_of(source)->files;
	if (!record)
		return;
	for (size_t i = v->size; i-- > 0;)
		if (v->data[i] == record) {
			v->data[i] = v->data[--v->size];
			break;
		}
	crash_file_free(record);
}

/* --- addresses -------------------------------------------------------------------------------- */

/* Opens the ELF file, if it can be. */
static const struct ux_elf *crash_file_elf(struct ux_crash_file *m)
{
	if (!m->elf_read) {
		m->elf_read = true;
		if (m->path && ux_dsym_map(m->path, UX_BYTES_NONE, &m->mapping, NULL) == UX_OK &&
		    ux_elf_open(&m->elf, m->mapping.bytes, NULL) != UX_OK)
			ux_file_unmap(&m->mapping);
	}
	return m->mapping.bytes.data ? &m->elf : NULL;
}

/* Returns the segments from the server; none if the server has none, or there is no server. */
static const struct ux_gsym_segments *crash_file_segments(const struct ux_crash_sources *s,
							  struct ux_crash_file *m)
{
	const struct ux_profile_sources *from = s->profile;
	if (!m->segments_read && from->server_segments && m->id.size > 0 &&
	    from->server_segments(from->server_ctx, &m->id, &m->segments, NULL) != UX_OK)
		m->segments.n = 0;
	m->segments_read = true;
	return &m->segments;
}

static enum ux_code crash_sources_image_start(struct ux_crash_source *source, void *record,
					      uint64_t *ret, struct ux_error *err)
{
	const struct ux_profile_sources *from = crash_sources_of(source)->profile;
	struct ux_crash_file *m = record;
	uint64_t low = UINT64_MAX;
	(void)err;
	for (size_t i = 0; m->symbols && i < m->symbols->n_loads; i++)
		low = ux_min(low, m->symbols->loads[i].pc);
	if (m->symbols) {
		*ret = low == UINT64_MAX ? 0 : low;
		return UX_OK;
	}
	if (!m->base_read && from->server_base)
		m->base_known =
			from->server_base(from->server_ctx, &m->id, &m->base, NULL) == UX_OK;
	m->base_read = true;
	*ret = m->base;
	return m->base_known ? UX_OK : UX_ENOTFOUND;
}

static enum ux_code crash_sources_file_pc(struct ux_crash_source *source, void *record,
					  uint64_t off, uint64_t *ret, struct ux_error *err)
{
	struct ux_crash_file *m = record;
	(void)err;
	if (m->symbols && ux_file_symbols_pc(m->symbols, off, ret))
		return UX_OK;
	const struct ux_gsym_segments *segments = crash_file_segments(crash_sources_of(source), m);
	return ux_gsym_segments_pc(segments, off, ret) ? UX_OK : UX_ENOTFOUND;
}

static enum ux_code crash_sources_has_code(struct ux_crash_source *source, void *record,
					   uint64_t pc, bool *ret, struct ux_error *err)
{
	struct ux_crash_file *m = record;
	(void)err;
	*ret = m->symbols ? ux_file_symbols_has_code(m->symbols, pc)
			  : ux_gsym_segments_may_have(
				    crash_file_segments(crash_sources_of(source), m), pc);
	return UX_OK;
}

/* --- functions by name ------------------------------------------------------------------------ */

/* Compares a symbol's name without its version. */
static bool crash_symbol_is(const char *symbol, struct ux_bytes name)
{
	return strncmp(symbol, (const char *)name.data, name.size) == 0 &&
	       (symbol[name.size] == 0 || symbol[name.size] == '@');
}

/* Adds the symbols of a table with that name. */
static void crash_starts_read(struct ux_crash_starts *s, const struct ux_elf *elf,
			      const char *section, struct ux_bytes name)
{
	const struct ux_elf_section *table = ux_elf_section_find(elf, section);
	struct ux_elf_symbols it;
	if (!table || ux_elf_symbols_open(elf, table, &it, NULL) != UX_OK)
		return;
	for (const struct ux_elf_symbol *e; (e = ux_elf_symbols_next(&it));) {
		if (!crash_symbol_is(e->name, name) || !ux_elf_symbol_is_code(elf, e))
			continue;
		uint64_t pc = ux_elf_symbol_pc(elf, e) - elf->bias;
		ux_crash_starts_add(s, (struct ux_crash_start){pc, pc, e->size});
	}
}

/* Adds the functions and symbols of a GSYM with that name. */
static void crash_starts_read_gsym(struct ux_crash_starts *s, const struct ux_gsym_names *names,
				   const struct ux_gsym *g, struct ux_bytes name)
{
	uint64_t pcs[UX_CRASH_SAME_NAME_MAX];
	size_t n = ux_gsym_names_find_all(names, g, name, pcs, ux_countof(pcs), &s->more);
	for (size_t i = 0; i < n; i++) {
		struct ux_crash_start start = {.pc = pcs[i], .begin = pcs[i]};
		if (ux_gsym_extent(g, pcs[i], &start.begin, &start.size, NULL) != UX_OK)
			start = (struct ux_crash_start){.pc = pcs[i], .begin = pcs[i]};
		ux_crash_starts_add(s, start);
	}
}

/* Reads the names of all functions of a file and of its debug file. */
static enum ux_code crash_file_read_names(const struct ux_crash_sources *s, struct ux_crash_file *m,
					  struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_profile_sources here = *s->profile;
	if (m->names_read || !m->path)
		return UX_OK;
	m->names_read = true;
	here.no_local = false;
	enum ux_code code = ux_profile_file_find(&here, m->path, &m->id, UX_SYMBOLS_ALL, &path,
						 &m->whole, NULL);
	if (code == UX_OK && ux_file_symbols_is_empty(m->whole)) {
		ux_file_symbols_drop(m->whole);
		m->whole = NULL;
	}
	if (code == UX_OK && m->whole)
		code = ux_gsym_names_build(&m->whole_names, &m->whole->gsym, NULL, NULL);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

/* Reads the GSYM that the server has. */
static enum ux_code crash_file_read_gsym(const struct ux_crash_sources *s, struct ux_crash_file *m,
					 struct ux_error *err)
{
	if (m->gsym_read || !s->gsym || m->id.size == 0)
		return UX_OK;
	m->gsym_read = true;
	enum ux_code code = s->gsym(s->server_ctx, &m->id, &m->gsym_bytes, NULL);
	if (code == UX_OK)
		code = ux_gsym_open(&m->gsym, ux_out_bytes(&m->gsym_bytes), NULL);
	if (code == UX_OK)
		code = ux_gsym_names_build(&m->gsym_names, &m->gsym, NULL, NULL);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

/* Finds functions by name. Tries the symbol table first, which is fastest; then all names, also of
 * the debug file; then the server's symbols. */
static enum ux_code crash_sources_functions(struct ux_crash_source *source, void *record,
					    struct ux_bytes symbol, struct ux_crash_starts *ret,
					    struct ux_error *err)
{
	const struct ux_crash_sources *s = crash_sources_of(source);
	struct ux_crash_file *m = record;
	const struct ux_elf *elf = crash_file_elf(m);
	if (elf)
		crash_starts_read(ret, elf, ".symtab", symbol);
	if (elf && ret->total == 0)
		crash_starts_read(ret, elf, ".dynsym", symbol);
	if (ret->total > 0)
		return UX_OK;
	UX_TRY(crash_file_read_names(s, m, err));
	if (m->whole_names.n > 0)
		crash_starts_read_gsym(ret, &m->whole_names, &m->whole->gsym, symbol);
	if (ret->total > 0)
		return UX_OK;
	UX_TRY(crash_file_read_gsym(s, m, err));
	if (m->gsym_names.n > 0)
		crash_starts_read_gsym(ret, &m->gsym_names, &m->gsym, symbol);
	return UX_OK;
}

static bool crash_sources_is_signal_return(struct ux_crash_source *source, void *record,
					   uint64_t pc)
{
	struct ux_crash_file *m = record;
	(void)source;
	/* Source: glibc, sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c; Linux,
	 * arch/arm64/kernel/vdso/sigreturn.S. Unwinders recognize the same bytes. */
	static const uint8_t x86_64[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t aarch64[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4};
	const struct ux_elf *elf = crash_file_elf(m);
	if (!elf)
		return false;
	struct ux_bytes code = ux_elf_bytes_at(elf, pc);
	return (elf->machine == EM_X86_64 &&
		ux_bytes_starts(code, ux_bytes(x86_64, sizeof(x86_64)))) ||
	       (elf->machine == EM_AARCH64 &&
		ux_bytes_starts(code, ux_bytes(aarch64, sizeof(aarch64))));
}

/* --- names ------------------------------------------------------------------------------------ */

/* Returns the module of a file in the part's profile. */
static enum ux_code crash_file_module(const struct ux_crash_sources *s, struct ux_crash_file *m,
				      struct ux_error *err)
{
	struct ux_profile_module made = {.kind = UX_PROFILE_FILE, .id = m->id};
	if (m->module != 0)
		return UX_OK;
	UX_TRY(ux_profile_string(s->profile_of_part, ux_bytes_cstr(m->path ? m->path : m->name),
				 &made.path, err));
	return ux_profile_add_module(s->profile_of_part, made, &m->module, err);
}

static enum ux_code crash_sources_locate(const struct ux_crash_sources *s, struct ux_crash_file *m,
					 uint64_t pc, uint32_t *ret, struct ux_error *err)
{
	UX_TRY(crash_file_module(s, m, err));
	struct ux_profile_place place = {.module = m->module, .kind = UX_PROFILE_PC, .address = pc};
	return ux_profile_locate(s->profile_of_part, place, ret, err);
}

static enum ux_code crash_sources_add(struct ux_crash_source *source, void *record, uint64_t pc,
				      struct ux_error *err)
{
	uint32_t ignored = 0;
	return crash_sources_locate(crash_sources_of(source), record, pc, &ignored, err);
}

enum ux_code ux_crash_sources_find(struct ux_crash_sources *s, struct ux_crash_file *m, uint64_t pc,
				   uint32_t *ret, struct ux_error *err)
{
	return crash_sources_locate(s, m, pc, ret, err);
}

/* Looks up all addresses, and keeps where the symbols of each file are from. */
static enum ux_code crash_sources_resolve(struct ux_crash_source *source,
					  struct ux_crash_build *builds, size_t n,
					  struct ux_error *err)
{
	struct ux_crash_sources *s = crash_sources_of(source);
	UX_TRY(ux_profile_symbolize(s->profile_of_part, s->profile, err));
	for (size_t i = 0; i < n; i++) {
		struct ux_crash_file *m = builds[i].found.record;
		if (!m || m->module == 0 || m->source)
			continue;
		struct ux_bytes text = ux_profile_text(
			s->profile_of_part, s->profile_of_part->modules.data[m->module].source);
		m->source =
			text.size > 0 ? ux_arena_strndup(&s->arena, text.data, text.size) : NULL;
		if (text.size > 0 && !m->source)
			return ux_arena_fail(&s->arena, err);
	}
	return UX_OK;
}

static enum ux_code crash_sources_look(struct ux_crash_source *source, void *record, uint64_t pc,
				       struct ux_crash_look *ret, struct ux_error *err)
{
	const struct ux_crash_sources *s = crash_sources_of(source);
	const struct ux_profile *p = s->profile_of_part;
	uint32_t location = 0;
	UX_TRY(crash_sources_locate(s, record, pc, &location, err));
	const struct ux_profile_location *l = &p->locations.data[location];
	ret->named = l->n > 0;
	if (!ret->named)
		return UX_OK;
	const struct ux_profile_frame *outermost = &p->frames.data[l->first + l->n - 1];
	ret->signal_return = ux_crash_is_signal_return(ux_profile_text(p, outermost->linkage));
	return UX_OK;
}

static const char *crash_sources_why(struct ux_crash_source *source, void *record)
{
	const struct ux_profile *p = crash_sources_of(source)->profile_of_part;
	const struct ux_crash_file *m = record;
	uint32_t why = m->module != 0 ? p->modules.data[m->module].why : 0;
	return why != 0 ? (const char *)ux_profile_text(p, why).data
			: "its symbols have no function at this address";
}

/* --- the source ------------------------------------------------------------------------------- */

void ux_crash_sources_begin(struct ux_crash_sources *s, struct ux_profile *p)
{
	s->profile_of_part = p;
	for (size_t i = 0; i < s->files.size; i++)
		s->files.data[i]->module = 0;
}

void ux_crash_sources_init(struct ux_crash_sources *s)
{
	*s = (struct ux_crash_sources){.source = {
					       .open = crash_sources_open,
					       .close = crash_sources_close,
					       .image_start = crash_sources_image_start,
					       .file_pc = crash_sources_file_pc,
					       .has_code = crash_sources_has_code,
					       .functions = crash_sources_functions,
					       .is_signal_return = crash_sources_is_signal_return,
					       .add = crash_sources_add,
					       .resolve = crash_sources_resolve,
					       .look = crash_sources_look,
					       .why = crash_sources_why,
				       }};
	ux_arena_init(&s->arena, TEXTS_BUDGET);
}

void ux_crash_sources_deinit(struct ux_crash_sources *s)
{
	for (size_t i = 0; i < s->files.size; i++)
		crash_file_free(s->files.data[i]);
	ux_crash_files_deinit(&s->files);
	ux_arena_deinit(&s->arena);
}
