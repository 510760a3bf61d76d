/* SPDX-License-Identifier: Apache-2.0 */
/* Mach-O files as objects. */
#include "elf_defs.h"
#include "macho_fat.h"
#include "macho_symbols.h"
#include "object.h"

struct macho_object {
	struct ux_object object;
	struct ux_macho macho;
};

static const struct macho_object *macho_object(const struct ux_object *object)
{
	return (const struct macho_object *)object;
}

const struct ux_macho *ux_macho_of(const struct ux_object *object)
{
	return object->format == &ux_object_macho ? &macho_object(object)->macho : NULL;
}

/* --- opening ---------------------------------------------------------------------------------- */

static_assert((size_t)UX_OBJECT_ARCH_TEXT >= (size_t)UX_MACHO_ARCH_TEXT, "a name fits the slice");

static enum ux_code macho_object_slices(struct ux_bytes file, struct ux_object_slices *out,
					struct ux_error *err)
{
	struct ux_macho_slices slices;
	UX_TRY(ux_macho_slices(file, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		const struct ux_macho_slice *from = &slices.list[i];
		struct ux_object_slice slice = {.bytes = from->bytes};
		ux_macho_arch_name(from->cpu, from->subtype, slice.arch);
		if (!ux_object_slices_append(out, slice))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Returns the UUID of a file of one machine; size 0: unknown. */
static struct ux_id macho_file_id(struct ux_bytes file)
{
	ux_cleanup(ux_macho_close) struct ux_macho m = {0};
	if (ux_macho_open(&m, file, NULL) != UX_OK)
		return (struct ux_id){0};
	return m.id;
}

static bool macho_same_machine(const struct ux_macho *m, const struct ux_macho_slice *s)
{
	return s->cpu == m->cpu &&
	       (s->subtype & CPU_SUBTYPE_KIND) == (m->subtype & CPU_SUBTYPE_KIND);
}

/* Chooses the debug file's slice with the executable's UUID, else the slice for its machine. */
static enum ux_code macho_choose_debug(const struct ux_macho *exe, struct ux_bytes debug,
				       struct ux_bytes *ret, struct ux_error *err)
{
	struct ux_macho_slices slices;
	const struct ux_macho_slice *same = NULL;
	if (!ux_macho_any(debug))
		return ux_error_set(err, UX_EUNSUPPORTED, "debug file is not a Mach-O file");
	UX_TRY(ux_macho_slices(debug, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		const struct ux_macho_slice *s = &slices.list[i];
		struct ux_id id = macho_file_id(s->bytes);
		*ret = s->bytes;
		if (id.size > 0 && ux_id_eq(&id, &exe->id))
			return UX_OK;
		if (!same && macho_same_machine(exe, s))
			same = s;
	}
	*ret = same ? same->bytes : slices.list[0].bytes;
	return UX_OK;
}

static enum ux_code macho_choose(struct ux_bytes file, const struct ux_object_choice *choice,
				 struct ux_bytes *ret, struct ux_error *err)
{
	struct ux_macho_slice slice;
	if (choice->exe)
		return macho_choose_debug(ux_macho_of(choice->exe), file, ret, err);
	struct ux_id id = macho_file_id(choice->debug);
	UX_TRY(ux_macho_slice_choose(file, choice->arch, &id, &slice, err));
	*ret = slice.bytes;
	return UX_OK;
}

static void macho_object_close(struct ux_object *object)
{
	struct macho_object *o = (struct macho_object *)object;
	ux_macho_close(&o->macho);
	free(o);
}

/* Addresses of a relocatable object file are relative to 0, as its sections are. */
static void macho_object_describe(struct macho_object *o)
{
	const struct ux_macho *m = &o->macho;
	const struct ux_macho_segment *text = ux_macho_segment_find(m, "__TEXT");
	bool linked = m->type != MH_OBJECT;
	o->object = (struct ux_object){
		.format = &ux_object_macho,
		.file = m->file,
		.is64 = m->is64,
		.swap = m->swap,
		.linked = linked,
		.padded = true,
		.encrypted = m->encrypted,
		.base = !linked ? 0
			: text  ? text->vmaddr
				: UX_OBJECT_NO_BASE,
	};
}

static enum ux_code macho_object_open(struct ux_bytes file, const struct ux_object_choice *choice,
				      struct ux_object **ret, struct ux_error *err)
{
	struct ux_bytes slice = UX_BYTES_NONE;
	UX_TRY(macho_choose(file, choice, &slice, err));
	struct macho_object *o = calloc(1, sizeof(*o));
	if (!o)
		return ux_error_nomem(err);
	enum ux_code code = ux_macho_open(&o->macho, slice, err);
	if (code != UX_OK) {
		free(o);
		return code;
	}
	macho_object_describe(o);
	*ret = &o->object;
	return UX_OK;
}

/* --- sections --------------------------------------------------------------------------------- */

/*
 * .debug_info is __debug_info here, .go.buildinfo is __go_buildinfo, and a name of more than 16
 * characters is cut (__debug_str_offs).
 */
static bool macho_object_section(const struct ux_object *object, const char *name, uint32_t from,
				 struct ux_section *ret)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	char own[MACHO_NAME_SIZE + 1];
	snprintf(own, sizeof(own), "__%s", name[0] == '.' ? name + 1 : name);
	for (char *dot = own; (dot = strchr(dot, '.'));)
		*dot = '_';
	const struct ux_macho_section *s = ux_macho_section_find(m, own);
	if (!s || (uint32_t)(s - m->sections) < from)
		return false;
	struct ux_bytes raw = UX_BYTES_NONE;
	bool there = ux_macho_section_bytes(m, s, &raw, NULL) == UX_OK;
	*ret = (struct ux_section){
		.name = name,
		.index = (uint32_t)(s - m->sections),
		.pc = s->addr,
		.size = s->size,
		.stored = ux_macho_section_has_content(s),
		.packed = there && ux_section_is_gnu_packed(name, raw),
	};
	return true;
}

static enum ux_code macho_object_section_bytes(const struct ux_object *object,
					       const struct ux_section *section,
					       struct ux_section_bytes *ret, struct ux_error *err)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	*ret = (struct ux_section_bytes){
		.name = section->name,
		.packing = section->packed ? UX_PACKING_GNU : UX_PACKING_NONE,
		.is64 = m->is64,
		.swap = m->swap,
	};
	return ux_macho_section_bytes(m, &m->sections[section->index], &ret->raw, err);
}

/* --- memory ----------------------------------------------------------------------------------- */

/* A dSYM file has the same ranges without content. */
static enum ux_code macho_object_text(const struct ux_object *object, struct ux_object_ranges *out,
				      struct ux_error *err)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	for (size_t i = 0; i < m->n_sections; i++) {
		const struct ux_macho_section *s = &m->sections[i];
		struct ux_object_range r = {.pc = s->addr, .size = s->size, .executable = true};
		if (ux_macho_section_is_code(s) && !ux_object_ranges_append(out, r))
			return ux_error_nomem(err);
	}
	size_t n_segments = out->size > 0 ? 0 : m->n_segments;
	for (size_t i = 0; i < n_segments; i++) {
		const struct ux_macho_segment *s = &m->segments[i];
		struct ux_object_range r = {.pc = s->vmaddr, .size = s->vmsize, .executable = true};
		if ((s->initprot & VM_PROT_EXECUTE) != 0 && !ux_object_ranges_append(out, r))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code macho_object_segments(const struct ux_object *object,
					  struct ux_object_ranges *out, struct ux_error *err)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	for (size_t i = 0; i < m->n_segments; i++) {
		const struct ux_macho_segment *s = &m->segments[i];
		struct ux_object_range r = {
			.pc = s->vmaddr,
			.size = s->vmsize,
			.executable = (s->initprot & VM_PROT_EXECUTE) != 0,
			.writable = (s->initprot & VM_PROT_WRITE) != 0,
		};
		if (s->filesize > 0 && s->vmaddr + s->filesize > s->vmaddr &&
		    ux_bytes_sub(m->file, s->off, s->filesize, &r.bytes) &&
		    !ux_object_ranges_append(out, r))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* --- symbols ---------------------------------------------------------------------------------- */

/*
 * Returns true for labels of the assembler: they begin with L or l, whereas names of C begin with
 * an underscore.
 */
static bool macho_is_label(const char *name)
{
	return name[0] == 'L' ||
	       (strncmp(name, "ltmp", 4) == 0 && name[4] >= '0' && name[4] <= '9');
}

static uint8_t macho_bind(const struct ux_macho_symbol *s)
{
	if ((s->type & (N_EXT | N_PEXT)) == 0)
		return STB_LOCAL;
	return (s->desc & N_WEAK_DEF) != 0 ? STB_WEAK : STB_GLOBAL;
}

/*
 * Reads a function of the debug map: an N_FUN with its name and pc, then an N_FUN without a name
 * and with its size in place of the pc. False: s does not complete a function.
 */
static bool macho_listed(struct ux_object_symbol *open, const struct ux_macho_symbol *s,
			 struct ux_object_symbol *ret)
{
	if (s->type != N_FUN)
		return false;
	if (s->name[0] != '\0') {
		*open = (struct ux_object_symbol){
			.name = ux_macho_plain_name(s->name),
			.pc = s->value,
			.bind = STB_LOCAL,
			.code = true,
			.listed = true,
		};
		return false;
	}
	*ret = *open;
	ret->size = s->value;
	*open = (struct ux_object_symbol){0};
	return ret->name && ret->size > 0;
}

static enum ux_code macho_object_symbols(const struct ux_object *object, enum ux_object_table table,
					 ux_object_symbol_fn *each, void *ctx, struct ux_error *err)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	struct ux_macho_symbols it;
	struct ux_object_symbol open = {0};
	if (table != UX_OBJECT_SYMTAB)
		return UX_OK;
	UX_TRY(ux_macho_symbols_open(m, &it, err));
	for (const struct ux_macho_symbol *s; (s = ux_macho_symbols_next(&it));) {
		struct ux_object_symbol symbol = {
			.name = ux_macho_plain_name(s->name),
			.pc = s->value,
			.bind = macho_bind(s),
			.code = ux_macho_symbol_is_code(m, s) && !macho_is_label(s->name),
		};
		if ((s->type & N_STAB) != 0 && !macho_listed(&open, s, &symbol))
			continue;
		if (!each(ctx, &symbol))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code macho_object_stubs(const struct ux_object *object, struct ux_object_stubs *out,
				       struct ux_error *err)
{
	struct ux_macho_stubs it;
	UX_TRY(ux_macho_stubs_open(&macho_object(object)->macho, &it, err));
	for (const struct ux_macho_stub *s; (s = ux_macho_stubs_next(&it));) {
		struct ux_object_stub stub = {.pc = s->pc, .size = s->size};
		stub.name = ux_macho_plain_name(s->name);
		if (!ux_object_stubs_append(out, stub))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

static enum ux_code macho_object_starts(const struct ux_object *object, struct ux_object_words *out,
					struct ux_error *err)
{
	struct ux_macho_starts it;
	struct ux_object_word start = {0};
	UX_TRY(ux_macho_starts_open(&macho_object(object)->macho, &it, err));
	while (ux_macho_starts_next(&it, &start.pc))
		if (!ux_object_words_append(out, start))
			return ux_error_nomem(err);
	return UX_OK;
}

/* --- pairs ------------------------------------------------------------------------------------ */

static unsigned macho_object_contents(const struct ux_object *object)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	return (ux_macho_has_dwarf(m) ? (unsigned)UX_OBJECT_HAS_DWARF : 0) |
	       (m->symbols.count > 0 ? (unsigned)UX_OBJECT_HAS_SYMTAB : 0) |
	       (m->type == MH_DSYM ? (unsigned)UX_OBJECT_CODE_ELSEWHERE : 0);
}

static enum ux_code macho_object_check_loadable(const struct ux_object *object,
						struct ux_error *err)
{
	const struct ux_macho *m = &macho_object(object)->macho;
	if (m->type != MH_OBJECT && m->type != MH_CORE)
		return UX_OK;
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "Mach-O %s; expected an executable, a dylib or a bundle",
			    ux_macho_type_name(m->type));
}

static struct ux_id macho_object_id(const struct ux_object *object)
{
	return macho_object(object)->macho.id;
}

static enum ux_code macho_object_ids(const struct ux_object *object, struct ux_id_set *ret,
				     struct ux_error *err)
{
	return ux_macho_ids(&macho_object(object)->macho, ret, err);
}

/* A debug file with the same UUID but other addresses would return the lines of other functions. */
static enum ux_code macho_object_check_addresses(const struct ux_macho *exe,
						 const struct ux_macho *debug, struct ux_error *err)
{
	const struct ux_macho_segment *a = ux_macho_segment_find(exe, "__TEXT");
	const struct ux_macho_segment *b = ux_macho_segment_find(debug, "__TEXT");
	if (!a || !b || a->vmaddr == b->vmaddr)
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT,
			    "debug file has __TEXT at 0x%" PRIx64 ", expected 0x%" PRIx64
			    ": one of them was moved",
			    b->vmaddr, a->vmaddr);
}

static enum ux_code macho_object_check_pair(const struct ux_object *exe,
					    const struct ux_object *debug, struct ux_error *err)
{
	char exe_text[UX_ID_TEXT], debug_text[UX_ID_TEXT];
	char exe_arch[UX_MACHO_ARCH_TEXT], debug_arch[UX_MACHO_ARCH_TEXT];
	const struct ux_macho *e = &macho_object(exe)->macho, *d = &macho_object(debug)->macho;
	if (e->cpu != d->cpu || e->is64 != d->is64)
		return ux_error_set(err, UX_ECONFLICT,
				    "debug file is for another machine: %s, expected %s",
				    ux_macho_arch_name(d->cpu, d->subtype, debug_arch),
				    ux_macho_arch_name(e->cpu, e->subtype, exe_arch));
	if (e->id.size == 0 || d->id.size == 0 || ux_id_eq(&e->id, &d->id))
		return macho_object_check_addresses(e, d, err);
	return ux_error_set(err, UX_ECONFLICT, "UUIDs differ: debug file %.48s, expected %.48s",
			    ux_id_format(&d->id, debug_text), ux_id_format(&e->id, exe_text));
}

const struct ux_object_format ux_object_macho = {
	.name = "Mach-O",
	.is = ux_macho_any,
	.slices = macho_object_slices,
	.open = macho_object_open,
	.close = macho_object_close,
	.section_find = macho_object_section,
	.section_bytes = macho_object_section_bytes,
	.text = macho_object_text,
	.segments = macho_object_segments,
	.symbols = macho_object_symbols,
	.stubs = macho_object_stubs,
	.starts = macho_object_starts,
	.contents = macho_object_contents,
	.check_loadable = macho_object_check_loadable,
	.id = macho_object_id,
	.ids = macho_object_ids,
	.check_pair = macho_object_check_pair,
};
