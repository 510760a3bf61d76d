/* SPDX-License-Identifier: Apache-2.0 */
/* Reading modules from ELF files and from the GPU code in them. */
#include "push_module.h"

#include "cubin.h"
#include "cubin_crc.h"
#include "extract.h"
#include "fatbin_list.h"
#include "fatbin_unpack.h"
#include "id.h"

void ux_push_module_deinit(struct ux_push_module *m)
{
	free(m->path);
	free(m->debug);
	*m = (struct ux_push_module){0};
}

void ux_push_modules_free(struct ux_push_modules *v)
{
	for (size_t i = 0; i < v->size; i++)
		ux_push_module_deinit(&v->data[i]);
	ux_push_modules_deinit(v);
}

static bool elf_has_content(const struct ux_elf *elf, const char *name)
{
	const struct ux_elf_section *s = ux_elf_section_find(elf, name);
	return s && s->type != SHT_NOBITS && s->size > 0;
}

static enum ux_quality elf_claim(const struct ux_elf *elf)
{
	if (ux_elf_has_dwarf(elf))
		return UX_QUALITY_INLINES;
	if (elf_has_content(elf, ".symtab") || elf_has_content(elf, ".gnu_debugdata"))
		return UX_QUALITY_SYMTAB;
	return elf_has_content(elf, ".dynsym") ? UX_QUALITY_DYNSYM : UX_QUALITY_NONE;
}

/* With -lineinfo a cubin has lines and inlined calls but no DWARF entries. */
static enum ux_quality cubin_claim(const struct ux_elf *elf)
{
	for (size_t i = 1; i < elf->n_sections; i++)
		if (ux_cubin_section_name(&elf->sections[i]) && elf->sections[i].size > 0)
			return elf_has_content(elf, ".debug_line") ? UX_QUALITY_INLINES
								   : UX_QUALITY_SYMTAB;
	return UX_QUALITY_NONE;
}

/* True when there are sections of code and this file has the contents of none of them. */
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

static enum ux_code elf_check_type(const struct ux_elf *elf, struct ux_error *err)
{
	if (elf->type == ET_EXEC || elf->type == ET_DYN)
		return UX_OK;
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "ELF file of type %u%s; expected an executable or a shared object",
			    elf->type,
			    elf->type == ET_REL    ? " (object file)"
			    : elf->type == ET_CORE ? " (core dump)"
						   : "");
}

static enum ux_code elf_read_ids(const struct ux_elf *elf, bool debug_only, struct ux_id_set *ret,
				 struct ux_error *err)
{
	UX_TRY(ux_elf_ids(elf, ret, err));
	if (debug_only && ret->size > 0)
		return UX_OK;
	struct ux_id id = ux_file_id(elf->file);
	return ux_id_set_add(ret, &id, err);
}

enum ux_code ux_push_module_read_elf(struct ux_push_module *m, const char *path,
				     struct ux_bytes file, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	UX_TRY(ux_extract_check(file, err));
	UX_TRY(ux_elf_open(&elf, file, err));
	UX_TRY(elf_check_type(&elf, err));
	m->claim = elf.machine == EM_CUDA ? cubin_claim(&elf) : elf_claim(&elf);
	m->debug_only = elf_code_is_elsewhere(&elf);
	UX_TRY(elf_read_ids(&elf, m->debug_only, &m->ids, err));
	if (elf.machine == EM_CUDA)
		m->alias = ux_id_of_cubin_crc(ux_cubin_crc(file));
	m->path = strdup(path);
	return m->path ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_push_modules_read(struct ux_push_modules *v, const char *path, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_push_module_deinit) struct ux_push_module m = {0};
	UX_TRY(ux_file_map(path, &file, err));
	if (ux_macho_any(file.bytes))
		return ux_push_macho_read(v, path, file.bytes, err);
	UX_TRY(ux_push_module_read_elf(&m, path, file.bytes, err));
	if (!ux_push_modules_append(v, m))
		return ux_error_nomem(err);
	m = (struct ux_push_module){0};
	return UX_OK;
}

/*
 * Accepts files without a GNU build ID or with a damaged one, since nothing proves that they
 * differ.
 */
static enum ux_code elf_check_pair(const struct ux_push_module *m, const struct ux_elf *debug,
				   struct ux_error *err)
{
	char have[UX_ID_TEXT], want[UX_ID_TEXT];
	struct ux_id_set set = {0};
	const struct ux_id *ours = ux_id_set_find(&m->ids, UX_ID_GNU);
	const struct ux_id *its =
		ux_elf_ids(debug, &set, NULL) == UX_OK ? ux_id_set_find(&set, UX_ID_GNU) : NULL;
	if (!ours || !its || ux_id_eq(ours, its))
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT, "build IDs differ: debug file %.48s, expected %.48s",
			    ux_id_format(its, have), ux_id_format(ours, want));
}

enum ux_code ux_push_module_debug(struct ux_push_module *m, const char *path,
				  enum ux_debug_origin origin, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	if (m->arch[0] != '\0')
		return ux_push_macho_debug(m, path, origin, err);
	UX_TRY(ux_file_map(path, &file, err));
	UX_TRY(ux_elf_open(&elf, file.bytes, err));
	if (origin == UX_DEBUG_GIVEN)
		UX_TRY(elf_check_pair(m, &elf, err));
	ux_cleanup(ux_free_ptr) char *copy = strdup(path);
	if (!copy)
		return ux_error_nomem(err);
	enum ux_quality claim = elf_claim(&elf);
	m->claim = ux_max(m->claim, claim);
	free(m->debug);
	m->debug = ux_take(&copy);
	m->debug_found = origin == UX_DEBUG_FOUND;
	return UX_OK;
}

enum ux_code ux_push_module_find_debug(struct ux_push_module *m, const char *dirs,
				       struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_debug_file_close) struct ux_debug_file found = {0};
	if (m->arch[0] != '\0')
		return ux_push_macho_find_debug(m, err);
	struct ux_debug_search search = {.dirs = dirs};
	if (m->debug || m->claim == UX_QUALITY_INLINES || m->alias.size > 0)
		return UX_OK;
	UX_TRY(ux_file_map(m->path, &file, err));
	UX_TRY(ux_debug_file_find(&found, file.bytes, m->path, &search, err));
	if (!found.path)
		return UX_OK;
	/* A debug file that cannot be read counts as none. */
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_push_module_debug(m, found.path, UX_DEBUG_FOUND, &why);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

/* Adds the IDs for which there is room. A module with too many aliases is still pushed. */
static void module_add_ids(struct ux_push_module *m, const struct ux_id_set *ids)
{
	for (size_t i = 0; i < ids->size; i++)
		if (ux_id_set_add(&m->ids, &ids->ids[i], NULL) != UX_OK)
			return;
}

bool ux_push_module_join(struct ux_push_module *m, struct ux_push_module *other)
{
	if (m->debug_only && !other->debug_only) {
		struct ux_push_module swapped = *m;
		*m = *other;
		*other = swapped;
	}
	size_t aliases = m->ids.size;
	module_add_ids(m, &other->ids);
	m->named = m->named || other->named;
	if (other->claim <= m->claim || m->debug)
		return m->ids.size > aliases;
	m->debug = ux_take(&other->path);
	m->debug_found = true;
	m->claim = other->claim;
	return true;
}

/* Appends the cubin as a module, unless it has no functions. */
static enum ux_code module_add_cubin(const char *path, unsigned number, struct ux_bytes cubin,
				     struct ux_push_modules *ret, struct ux_error *err)
{
	ux_cleanup(ux_push_module_deinit) struct ux_push_module m = {.gpu = number};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_push_module_read_elf(&m, path, cubin, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK || m.claim == UX_QUALITY_NONE)
		return UX_OK;
	if (!ux_push_modules_append(ret, m))
		return ux_error_nomem(err);
	m = (struct ux_push_module){0};
	return UX_OK;
}

enum ux_code ux_push_gpu_read(const char *path, struct ux_push_modules *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	UX_TRY(ux_file_map(path, &file, err));
	UX_TRY(ux_fatbin_list_read(file.bytes, &list, err));
	for (size_t i = 0; i < list.entries.size; i++) {
		ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
		struct ux_error why = UX_ERROR_INIT;
		if (list.entries.data[i].kind != UX_FATBIN_CUBIN)
			continue;
		enum ux_code code = ux_fatbin_unpack(&list.entries.data[i], &content, &why);
		if (code == UX_ENOMEM)
			return ux_error_nomem(err);
		if (code == UX_OK)
			UX_TRY(module_add_cubin(path, (unsigned)i + 1, content.bytes, ret, err));
	}
	return UX_OK;
}
