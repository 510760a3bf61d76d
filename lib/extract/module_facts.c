/* SPDX-License-Identifier: Apache-2.0 */
/* Reads facts about the modules of a file from its headers. */
#include "module_facts.h"

#include "cubin.h"
#include "cubin_crc.h"
#include "debug_file.h"
#include "debug_sections.h"
#include "elf_file.h"
#include "elf_ids.h"
#include "fatbin.h"
#include "go_source.h"
#include "gsym_inspect.h"
#include "gsym_reader.h"

enum ux_quality ux_module_claim(const struct ux_object *object)
{
	unsigned has = object->format->contents(object);
	if (has & UX_OBJECT_SUPPLEMENTARY)
		return UX_QUALITY_NONE;
	if (has & UX_OBJECT_HAS_DWARF)
		return ux_debug_sections_promise(object);
	if (ux_go_image_has_table(object))
		return UX_QUALITY_GOPCLNTAB;
	if (has & (UX_OBJECT_HAS_SYMTAB | UX_OBJECT_HAS_INNER))
		return UX_QUALITY_SYMTAB;
	return has & UX_OBJECT_HAS_DYNSYM ? UX_QUALITY_DYNSYM : UX_QUALITY_NONE;
}

/* With -lineinfo a cubin has lines and inlined calls but no DWARF entries. */
static enum ux_quality cubin_claim(const struct ux_elf *elf)
{
	for (size_t i = 1; i < elf->n_sections; i++)
		if (ux_cubin_section_name(&elf->sections[i]) && elf->sections[i].size > 0)
			return ux_elf_section_stored(elf, ".debug_line") ? UX_QUALITY_INLINES
									 : UX_QUALITY_SYMTAB;
	return UX_QUALITY_NONE;
}

static enum ux_code facts_read_ids(const struct ux_object *object, bool debug_only,
				   struct ux_id_set *ret, struct ux_error *err)
{
	UX_TRY(object->format->ids(object, ret, err));
	if (debug_only && ret->size > 0)
		return UX_OK;
	struct ux_id id = ux_file_id(object->file);
	return ux_id_set_add(ret, &id, err);
}

/*
 * Returns the ID of the supplementary file that the DWARF refers to. A damaged link counts as none.
 */
static struct ux_id facts_needs(const struct ux_object *object)
{
	struct ux_supplementary_link link;
	const struct ux_elf *elf = ux_elf_of(object);
	if (elf && ux_elf_has_dwarf(elf) && ux_supplementary_link(elf, &link, NULL) == UX_OK)
		return link.id;
	return (struct ux_id){0};
}

/* Reads the link to a debug file. A damaged link counts as none. */
static bool facts_link(const struct ux_object *object, uint32_t *ret_crc)
{
	struct ux_debuglink link;
	const struct ux_elf *elf = ux_elf_of(object);
	if (!elf || ux_debuglink_read(elf, &link, NULL) != UX_OK || !link.name)
		return false;
	*ret_crc = link.crc;
	return true;
}

/* Fills *f from a slice of a file, or from a cubin. */
static enum ux_code facts_read_slice(const struct ux_object_slice *slice, struct ux_module_facts *f,
				     struct ux_error *err)
{
	ux_cleanup(ux_object_closep) struct ux_object *object = NULL;
	bool cubin = ux_cubin_is(slice->bytes);
	UX_TRY(ux_object_open_headers(slice->bytes, &object, err));
	UX_TRY(object->format->check_loadable(object, err));
	f->macho = object->format == &ux_object_macho;
	f->claim = cubin ? cubin_claim(ux_elf_of(object)) : ux_module_claim(object);
	unsigned has = object->format->contents(object);
	f->supplementary = (has & UX_OBJECT_SUPPLEMENTARY) != 0;
	f->debug_only = f->supplementary || (has & UX_OBJECT_CODE_ELSEWHERE) != 0;
	f->strippable = !f->debug_only && !cubin &&
			(has & (UX_OBJECT_HAS_DWARF | UX_OBJECT_HAS_SYMTAB)) != 0;
	if (!f->macho && !f->supplementary) {
		f->needs = facts_needs(object);
		f->linked = facts_link(object, &f->link_crc);
	}
	memcpy(f->arch, slice->arch, sizeof(f->arch));
	UX_TRY(facts_read_ids(object, f->debug_only, &f->ids, err));
	if (cubin)
		f->alias = ux_id_of_cubin_crc(ux_cubin_crc(slice->bytes));
	return UX_OK;
}

static enum ux_code facts_read_uuid(struct ux_bytes uuid, struct ux_id_set *ret,
				    struct ux_error *err)
{
	struct ux_id id;
	if (uuid.size == 0)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the GSYM has no UUID, so its module is unknown");
	UX_TRY(ux_id_make(UX_ID_GNU, uuid, &id, err));
	UX_TRY(ux_id_set_add(ret, &id, err));
	if (uuid.size != UX_ID_FILE_SIZE)
		return UX_OK;
	UX_TRY(ux_id_make(UX_ID_UUID, uuid, &id, err));
	return ux_id_set_add(ret, &id, err);
}

static enum ux_code facts_read_gsym(struct ux_bytes file, struct ux_module_facts_vec *ret,
				    struct ux_error *err)
{
	struct ux_module_facts f = {.gsym = true};
	struct ux_gsym g;
	struct ux_counts counts;
	UX_TRY(ux_gsym_open(&g, file, err));
	UX_TRY(ux_gsym_verify(&g, /* ret= */ NULL, err));
	UX_TRY(ux_gsym_measure(&g, &counts, err));
	UX_TRY(facts_read_uuid(g.uuid, &f.ids, err));
	f.claim = counts.inlines > 0      ? UX_QUALITY_INLINES
		  : counts.line_bytes > 0 ? UX_QUALITY_LINES
		  : counts.functions > 0  ? UX_QUALITY_SYMTAB
					  : UX_QUALITY_NONE;
	return ux_module_facts_vec_append(ret, f) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_module_facts_read(struct ux_bytes file, struct ux_module_facts_vec *ret,
				  struct ux_error *err)
{
	ux_cleanup(ux_object_slices_deinit) struct ux_object_slices slices = {0};
	if (ux_gsym_is(file))
		return facts_read_gsym(file, ret, err);
	UX_TRY(ux_object_slices(file, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		struct ux_module_facts f = {0};
		UX_TRY(facts_read_slice(&slices.data[i], &f, err));
		if (!ux_module_facts_vec_append(ret, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Appends the facts of a cubin, unless it has no functions. */
static enum ux_code facts_add_cubin(unsigned number, struct ux_bytes cubin,
				    struct ux_module_facts_vec *ret, struct ux_error *err)
{
	struct ux_module_facts f = {.gpu = number};
	struct ux_error why = UX_ERROR_INIT;
	const struct ux_object_slice whole = {.bytes = cubin};
	enum ux_code code = facts_read_slice(&whole, &f, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK || f.claim == UX_QUALITY_NONE)
		return UX_OK;
	return ux_module_facts_vec_append(ret, f) ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_module_facts_read_gpu(struct ux_bytes file, struct ux_spill *spill,
				      struct ux_module_facts_vec *ret, struct ux_error *err)
{
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	UX_TRY(ux_fatbin_list_read(file, &list, err));
	for (size_t i = 0; i < list.entries.size; i++) {
		ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
		struct ux_error why = UX_ERROR_INIT;
		if (list.entries.data[i].kind != UX_FATBIN_CUBIN)
			continue;
		enum ux_code code = ux_fatbin_unpack(&list.entries.data[i], spill, &content, &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code == UX_OK)
			UX_TRY(facts_add_cubin((unsigned)i + 1, content.bytes, ret, err));
	}
	return UX_OK;
}
