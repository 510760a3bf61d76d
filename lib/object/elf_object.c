/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files as objects. */
#include "cursor.h"
#include "elf_ids.h"
#include "elf_plt.h"
#include "elf_reloc.h"
#include "elf_symbols.h"
#include "file_kind.h"
#include "object.h"

struct elf_object {
	struct ux_object object;
	struct ux_elf elf;
	struct ux_elf_opd opd;
	struct ux_content content; /* the content of elf when it is embedded in another file */
};

static const struct elf_object *elf_object(const struct ux_object *object)
{
	return (const struct elf_object *)object;
}

const struct ux_elf *ux_elf_of(const struct ux_object *object)
{
	return object->format == &ux_object_elf ? &elf_object(object)->elf : NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

static void elf_object_close(struct ux_object *object)
{
	struct elf_object *o = (struct elf_object *)object;
	ux_elf_opd_close(&o->opd);
	ux_elf_close(&o->elf);
	ux_content_free(&o->content);
	free(o);
}

/* Addresses of a GSYM are relative to the first segment, or to 0 for a relocatable file. */
static void elf_object_describe(struct elf_object *o)
{
	const struct ux_elf *elf = &o->elf;
	const struct ux_elf_segment *load = ux_elf_first_load(elf);
	bool linked = elf->type != ET_REL;
	o->object = (struct ux_object){
		.format = &ux_object_elf,
		.file = elf->file,
		.is64 = elf->is64,
		.swap = elf->swap,
		.linked = linked,
		.versioned = true,
		.no_sections = elf->n_sections <= 1, /* only the null section */
		.base = !linked ? 0
			: load  ? load->vaddr
				: UX_OBJECT_NO_BASE,
		.bias = elf->bias,
	};
}

static enum ux_code elf_object_open(struct ux_bytes file, const struct ux_object_choice *choice,
				    struct ux_object **ret, struct ux_error *err)
{
	struct elf_object *o = calloc(1, sizeof(*o));
	if (!o)
		return ux_error_nomem(err);
	enum ux_code code = ux_elf_open(&o->elf, file, err);
	if (code == UX_OK && !choice->headers_only)
		code = ux_elf_opd_open(&o->elf, &o->opd, err);
	if (code != UX_OK) {
		elf_object_close(&o->object);
		return code;
	}
	elf_object_describe(o);
	*ret = &o->object;
	return UX_OK;
}

static enum ux_code elf_object_inner(const struct ux_object *object, struct ux_object **ret,
				     struct ux_error *err)
{
	ux_cleanup(ux_elf_debugdata_close) struct ux_elf_debugdata inside = {0};
	*ret = NULL;
	UX_TRY(ux_elf_debugdata_open(&elf_object(object)->elf, &inside, err));
	if (inside.elf.file.size == 0)
		return UX_OK;
	struct elf_object *o = calloc(1, sizeof(*o));
	if (!o)
		return ux_error_nomem(err);
	o->elf = inside.elf;
	o->content = inside.content;
	inside = (struct ux_elf_debugdata){0};
	elf_object_describe(o);
	*ret = &o->object;
	return UX_OK;
}

/* --- sections --------------------------------------------------------------------------------- */

/*
 * An ET_REL has each type unit in its own section named .debug_info, in a group. The section with
 * the code's units is in no group.
 */
static const struct ux_elf_section *elf_section_outside_groups(const struct ux_elf *elf,
							       const struct ux_elf_section *first)
{
	for (size_t i = first->index; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if ((s->flags & SHF_GROUP) == 0 && strcmp(s->name, first->name) == 0)
			return s;
	}
	return first;
}

static bool elf_object_section(const struct ux_object *object, const char *name, uint32_t from,
			       struct ux_section *ret)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	const struct ux_elf_section *s = NULL;
	for (size_t i = ux_max(from, 1u); i < elf->n_sections && !s; i++)
		if (strcmp(elf->sections[i].name, name) == 0)
			s = &elf->sections[i];
	if (!s)
		return false;
	if (from == 0 && elf->type == ET_REL && (s->flags & SHF_GROUP) != 0)
		s = elf_section_outside_groups(elf, s);
	*ret = (struct ux_section){
		.name = s->name,
		.index = s->index,
		.pc = s->addr,
		.size = s->size,
		.stored = s->type != SHT_NOBITS,
		.packed = ux_elf_section_compressed(elf, s),
		.relocated = ux_elf_section_has_relocs(elf, s),
	};
	return true;
}

static enum ux_code elf_object_section_bytes(const struct ux_object *object,
					     const struct ux_section *section,
					     struct ux_section_bytes *ret, struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	return ux_elf_section_bytes(elf, &elf->sections[section->index], ret, err);
}

static enum ux_code elf_object_relocate(const struct ux_object *object,
					const struct ux_section *section, uint64_t max_size,
					struct ux_spill *spill, struct ux_content *ret,
					struct ux_reloc_loss *loss, struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	return ux_elf_section_load_relocated(elf, &elf->sections[section->index], max_size, spill,
					     ret, loss, err);
}

/* --- memory ----------------------------------------------------------------------------------- */

static enum ux_code elf_object_text(const struct ux_object *object, struct ux_object_ranges *out,
				    struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	const uint64_t code = SHF_ALLOC | SHF_EXECINSTR;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		struct ux_object_range r = {.pc = s->addr, .size = s->size, .executable = true};
		if ((s->flags & code) == code && !ux_object_ranges_append(out, r))
			return ux_error_nomem(err);
	}
	/* Segments of a relocatable file have no meaning. */
	size_t n_segments = out->size > 0 || !object->linked ? 0 : elf->n_segments;
	for (size_t i = 0; i < n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		struct ux_object_range r = {.pc = s->vaddr, .size = s->memsz, .executable = true};
		if (s->type == PT_LOAD && (s->flags & PF_X) != 0 &&
		    !ux_object_ranges_append(out, r))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code elf_object_segments(const struct ux_object *object,
					struct ux_object_ranges *out, struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	for (size_t i = 0; i < elf->n_segments; i++) {
		const struct ux_elf_segment *s = &elf->segments[i];
		struct ux_object_range r = {
			.pc = s->vaddr,
			.size = s->memsz,
			.executable = (s->flags & PF_X) != 0,
			.writable = (s->flags & PF_W) != 0,
		};
		if (s->type == PT_LOAD && s->filesz > 0 && s->vaddr + s->filesz > s->vaddr &&
		    ux_bytes_sub(elf->file, s->off, s->filesz, &r.bytes) &&
		    !ux_object_ranges_append(out, r))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* The relocation type that adds the module's load address, by machine (their psABIs). */
static const struct {
	uint16_t machine;
	uint16_t type;
} relative[] = {
	{EM_X86_64, 8}, {EM_AARCH64, 1027}, {EM_PPC64, 22},
	{EM_S390, 12},  {EM_RISCV, 3},      {EM_LOONGARCH, 3},
};

/*
 * Relative relocations with addends (DT_RELA), of 64-bit files; with other relocations the addend
 * is in the word itself.
 */
static enum ux_code elf_object_words(const struct ux_object *object, struct ux_object_words *out,
				     struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	uint64_t at = ux_elf_dynamic_find(elf, DT_RELA);
	uint64_t size = ux_elf_dynamic_find(elf, DT_RELASZ);
	struct ux_bytes rela = at != 0 ? ux_elf_bytes_at(elf, at) : UX_BYTES_NONE;
	uint32_t type = 0;
	rela.size = (size_t)ux_min((uint64_t)rela.size, size);
	for (size_t i = 0; i < ux_countof(relative); i++)
		if (relative[i].machine == elf->machine)
			type = relative[i].type;
	size_t max = elf->is64 && type != 0 ? rela.size / ELF64_RELA_SIZE : 0;
	if (!ux_object_words_reserve(out, out->size + max))
		return ux_error_nomem(err);
	struct ux_cur c = ux_cur_make(rela, NULL, elf->swap);
	for (size_t i = 0; i < max; i++) {
		uint64_t pc = ux_cur_u64(&c), info = ux_cur_u64(&c), value = ux_cur_u64(&c);
		if ((uint32_t)info == type)
			out->data[out->size++] = (struct ux_object_word){pc, value};
	}
	return UX_OK;
}

/* --- symbols ---------------------------------------------------------------------------------- */

static enum ux_code elf_object_walk(struct ux_elf_symbols *it, bool dynamic,
				    ux_object_symbol_fn *each, void *ctx, struct ux_error *err)
{
	const struct ux_elf *elf = it->elf;
	for (const struct ux_elf_symbol *s; (s = ux_elf_symbols_next(it));) {
		struct ux_object_symbol symbol = {
			.name = s->name,
			.pc = ux_elf_symbol_pc(elf, s),
			.size = s->size,
			.bind = s->bind,
			.code = ux_elf_symbol_is_code(elf, s),
			.untyped = s->type == STT_NOTYPE || s->type == STT_OBJECT,
			.dynamic = dynamic,
		};
		if (!each(ctx, &symbol))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/*
 * For a file without a section table, the symbols that its loader uses take the place of .dynsym.
 */
static enum ux_code elf_object_symbols(const struct ux_object *object, enum ux_object_table table,
				       ux_object_symbol_fn *each, void *ctx, struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	const char *name = table == UX_OBJECT_DYNSYM ? ".dynsym" : ".symtab";
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	struct ux_elf_symbols it;
	if (elf->n_sections == 0 && table == UX_OBJECT_DYNSYM) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_elf_dynamic_symbols(elf, &it, &why);
		if (code == UX_ENOTFOUND)
			return UX_OK;
		if (code == UX_OK)
			return elf_object_walk(&it, /* dynamic= */ true, each, ctx, err);
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	if (!s || s->type == SHT_NOBITS)
		return UX_OK;
	UX_TRY(ux_elf_symbols_open(elf, s, &it, err));
	return elf_object_walk(&it, s->type == SHT_DYNSYM, each, ctx, err);
}

static bool elf_object_descriptor(const struct ux_object *object, uint64_t pc, uint64_t *ret)
{
	return ux_elf_opd_code(&elf_object(object)->opd, pc, ret);
}

static enum ux_code elf_object_stubs(const struct ux_object *object, struct ux_object_stubs *out,
				     struct ux_error *err)
{
	return ux_elf_plt_read(&elf_object(object)->elf, out, err);
}

/* --- kind and contents ------------------------------------------------------------------------ */

/* Returns true when the file has code sections, but the content of none of them. */
static bool elf_code_is_elsewhere(const struct ux_elf *elf)
{
	bool any = false;
	for (size_t i = 0; i < elf->n_sections; i++) {
		const struct ux_elf_section *s = &elf->sections[i];
		if (!(s->flags & SHF_EXECINSTR))
			continue;
		if (s->type != SHT_NOBITS)
			return false;
		any = true;
	}
	return any;
}

/* dwz writes an ET_REL with DWARF and without any code section, not even an empty one. */
static bool elf_is_supplementary(const struct ux_elf *elf, unsigned has)
{
	if (elf->type != ET_REL || (has & UX_OBJECT_HAS_DWARF) == 0)
		return false;
	for (size_t i = 0; i < elf->n_sections; i++)
		if (elf->sections[i].flags & SHF_EXECINSTR)
			return false;
	return true;
}

static unsigned elf_object_contents(const struct ux_object *object)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	const struct {
		const char *name;
		unsigned has;
	} sections[] = {
		{".symtab", UX_OBJECT_HAS_SYMTAB},
		{".dynsym", UX_OBJECT_HAS_DYNSYM},
		{".gnu_debugdata", UX_OBJECT_HAS_INNER},
	};
	unsigned has = ux_elf_has_dwarf(elf) ? (unsigned)UX_OBJECT_HAS_DWARF : 0;
	for (size_t i = 0; i < ux_countof(sections); i++)
		if (ux_elf_section_stored(elf, sections[i].name))
			has |= sections[i].has;
	has |= elf_code_is_elsewhere(elf) ? (unsigned)UX_OBJECT_CODE_ELSEWHERE : 0;
	return has | (elf_is_supplementary(elf, has) ? (unsigned)UX_OBJECT_SUPPLEMENTARY : 0);
}

/* --- identity, and pairs ---------------------------------------------------------------------- */

/* Returns the GNU build ID; size 0 when the file has none, or a damaged one. */
static struct ux_id elf_object_id(const struct ux_object *object)
{
	struct ux_id_set set = {0};
	const struct ux_id *id = ux_elf_ids(&elf_object(object)->elf, &set, NULL) == UX_OK
					 ? ux_id_set_find(&set, UX_ID_GNU)
					 : NULL;
	return id ? *id : (struct ux_id){0};
}

/*
 * Kernel modules are loaded as object files, without further linking. The linker gave them a build
 * ID, which the object files of a build tree do not have.
 */
static enum ux_code elf_object_check_loadable(const struct ux_object *object, struct ux_error *err)
{
	const struct ux_elf *elf = &elf_object(object)->elf;
	if (elf->type == ET_EXEC || elf->type == ET_DYN)
		return UX_OK;
	if (elf->type == ET_REL && elf_object_id(object).size > 0)
		return UX_OK;
	if (elf->type == ET_CORE)
		return ux_error_set(err, UX_EUNSUPPORTED, "is %s", ux_file_kind(elf->file));
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "ELF file of type %u%s; expected an executable, a shared object or a "
			    "kernel module",
			    elf->type,
			    elf->type == ET_REL ? " (object file without a build ID)" : "");
}

static enum ux_code elf_object_ids(const struct ux_object *object, struct ux_id_set *ret,
				   struct ux_error *err)
{
	return ux_elf_ids(&elf_object(object)->elf, ret, err);
}

/* prelink moves a module but keeps its build ID; the debug file's addresses then differ. */
static enum ux_code elf_object_check_addresses(const struct ux_elf *exe, const struct ux_elf *debug,
					       struct ux_error *err)
{
	const struct ux_elf_section *a = ux_elf_section_find(exe, ".text");
	const struct ux_elf_section *b = ux_elf_section_find(debug, ".text");
	if (!a || !b || a->addr == b->addr)
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT,
			    "debug file has .text at 0x%" PRIx64 ", expected 0x%" PRIx64
			    ": one of them was moved",
			    b->addr, a->addr);
}

static enum ux_code elf_object_check_pair(const struct ux_object *exe,
					  const struct ux_object *debug, struct ux_error *err)
{
	char exe_text[UX_ID_TEXT], debug_text[UX_ID_TEXT];
	const struct ux_elf *e = &elf_object(exe)->elf, *d = &elf_object(debug)->elf;
	struct ux_id exe_id = elf_object_id(exe), debug_id = elf_object_id(debug);
	if (e->machine != d->machine || e->is64 != d->is64)
		return ux_error_set(err, UX_ECONFLICT,
				    "debug file is for another machine: %u, expected %u",
				    d->machine, e->machine);
	if (exe->linked != debug->linked)
		return ux_error_set(err, UX_ECONFLICT,
				    "debug file is of type %u, expected %u: one of them was linked",
				    d->type, e->type);
	if (exe_id.size == 0 || debug_id.size == 0 || ux_id_eq(&exe_id, &debug_id))
		return elf_object_check_addresses(e, d, err);
	return ux_error_set(err, UX_ECONFLICT, "build IDs differ: debug file %.48s, expected %.48s",
			    ux_id_format(&debug_id, debug_text), ux_id_format(&exe_id, exe_text));
}

const struct ux_object_format ux_object_elf = {
	.name = "ELF",
	.is = ux_elf_is,
	.open = elf_object_open,
	.close = elf_object_close,
	.section_find = elf_object_section,
	.section_bytes = elf_object_section_bytes,
	.section_relocate = elf_object_relocate,
	.text = elf_object_text,
	.segments = elf_object_segments,
	.words = elf_object_words,
	.symbols = elf_object_symbols,
	.inner = elf_object_inner,
	.descriptor = elf_object_descriptor,
	.stubs = elf_object_stubs,
	.contents = elf_object_contents,
	.check_loadable = elf_object_check_loadable,
	.id = elf_object_id,
	.ids = elf_object_ids,
	.check_pair = elf_object_check_pair,
};
