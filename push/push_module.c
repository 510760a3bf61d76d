/* SPDX-License-Identifier: Apache-2.0 */
/* Reading modules from object files and from the GPU code in them. */
#include "push_module.h"

#include "id.h"
#include "packed_file.h"

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

enum ux_code ux_push_map(const char *path, struct ux_mapping *ret, struct ux_error *err)
{
	struct ux_mapping file = {0};
	UX_TRY(ux_file_map(path, &file, err));
	enum ux_code code = ux_packed_open(&file, err);
	if (code != UX_OK)
		ux_file_unmap(&file);
	*ret = file;
	return code;
}

enum ux_code ux_push_map_part(const char *path, const struct ux_sandbox_part *part,
			      struct ux_mapping *file, struct ux_bytes *ret, struct ux_error *err)
{
	UX_TRY(part->size > 0 ? ux_file_map_fd(part->fd, file, err) : ux_push_map(path, file, err));
	*ret = file->bytes;
	if (part->size > 0 && !ux_bytes_sub(file->bytes, part->off, part->size, ret))
		return ux_error_set(err, UX_ECORRUPT, "the member is not in its archive");
	return UX_OK;
}

void ux_push_origin_describe(const struct ux_push_origin *o, struct ux_push_origin_text *text,
			     struct ux_provenance *ret)
{
	if (o->trust == UX_TRUST_NONE)
		return;
	int n = snprintf(text->owner, sizeof(text->owner), "%" PRIu32, o->file_owner);
	if (o->process_owner != UINT32_MAX)
		snprintf(text->owner + n, sizeof(text->owner) - (size_t)n, ", run by %" PRIu32,
			 o->process_owner);
	snprintf(text->mount_namespace, sizeof(text->mount_namespace), "mnt:[%" PRIu64 "]",
		 o->mount_namespace);
	ret->facts[UX_OWNER] = text->owner;
	ret->facts[UX_MOUNT_NAMESPACE] = o->mount_namespace != 0 ? text->mount_namespace : NULL;
}

/* Fills *m with the facts of one module of the file at path. */
static enum ux_code module_init(struct ux_push_module *m, const char *path,
				const struct ux_module_facts *f, struct ux_error *err)
{
	*m = (struct ux_push_module){
		.ids = f->ids,
		.format = f->macho ? &ux_object_macho : &ux_object_elf,
		.alias = f->alias,
		.needs = f->needs,
		.gpu = f->gpu,
		.claim = f->claim,
		.debug_only = f->debug_only,
		.supplementary = f->supplementary,
		.gsym = f->gsym,
		.strippable = f->strippable,
		.linked = f->linked,
		.link_crc = f->link_crc,
	};
	memcpy(m->arch, f->arch, sizeof(m->arch));
	m->path = strdup(path);
	return m->path ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_push_modules_add(struct ux_push_modules *v, const char *path,
				 const struct ux_module_facts_vec *facts, struct ux_error *err)
{
	for (size_t i = 0; i < facts->size; i++) {
		ux_cleanup(ux_push_module_deinit) struct ux_push_module m = {0};
		UX_TRY(module_init(&m, path, &facts->data[i], err));
		if (!ux_push_modules_append(v, m))
			return ux_error_nomem(err);
		m = (struct ux_push_module){0};
	}
	return UX_OK;
}

enum ux_code ux_push_modules_read(struct ux_push_modules *v, const char *path, bool named,
				  struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_module_facts_vec_deinit) struct ux_module_facts_vec facts = {0};
	UX_TRY(named || ux_member_name_is_packed(path) ? ux_push_map(path, &file, err)
						       : ux_file_map(path, &file, err));
	UX_TRY(ux_module_facts_read(file.bytes, &facts, err));
	return ux_push_modules_add(v, path, &facts, err);
}

/* Accepts files without an identity or with a damaged one, since nothing proves a difference. */
static enum ux_code module_check_pair(const struct ux_push_module *m, const struct ux_object *debug,
				      struct ux_error *err)
{
	char have[UX_ID_TEXT], want[UX_ID_TEXT];
	struct ux_id its = debug->format->id(debug);
	const struct ux_id *ours = ux_id_set_find(&m->ids, (enum ux_id_type)its.type);
	if (its.size == 0 || !ours || ux_id_eq(ours, &its))
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT, "%s differ: debug file %.48s, expected %.48s",
			    its.type == UX_ID_UUID ? "UUIDs" : "build IDs",
			    ux_id_format(&its, have), ux_id_format(ours, want));
}

enum ux_code ux_push_module_debug(struct ux_push_module *m, const char *path,
				  enum ux_debug_origin origin, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_object_closep) struct ux_object *debug = NULL;
	bool macho = m->arch[0] != '\0';
	const struct ux_object_choice choice = {.arch = macho ? m->arch : NULL,
						.headers_only = true};
	UX_TRY(macho ? ux_push_macho_map_debug(m, path, &file, err)
		     : ux_push_map(path, &file, err));
	UX_TRY(m->format->open(file.bytes, &choice, &debug, err));
	if (origin == UX_DEBUG_GIVEN)
		UX_TRY(module_check_pair(m, debug, err));
	ux_cleanup(ux_free_ptr) char *copy = strdup(path);
	if (!copy)
		return ux_error_nomem(err);
	enum ux_quality claim = ux_module_claim(debug);
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
	/* debug files of members are members, with the same build ID */
	if (m->part.size > 0 || m->gsym)
		return UX_OK;
	if (m->arch[0] != '\0')
		return ux_push_macho_find_debug(m, err);
	struct ux_debug_search search = {.dirs = dirs};
	if (m->debug || m->claim >= UX_QUALITY_LINES || m->alias.size > 0 || m->supplementary)
		return UX_OK;
	UX_TRY(ux_push_map(m->path, &file, err));
	UX_TRY(ux_debug_file_find(&found, file.bytes, m->path, &search, err));
	if (!found.path)
		return UX_OK;
	/* An unreadable debug file counts as none. */
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_push_module_debug(m, found.path, UX_DEBUG_FOUND, &why);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

enum ux_code ux_push_module_supplementary(const struct ux_push_module *m, const char *dirs,
					  struct ux_push_modules *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping debug = {0}, file = {0};
	const char *from = m->debug ? m->debug : m->path;
	char path[PATH_MAX];
	if (m->format != &ux_object_elf || m->claim < UX_QUALITY_LINES || m->gpu != 0 || m->gsym ||
	    (m->debug ? m->debug_part : m->part).size > 0)
		return UX_OK;
	UX_TRY(ux_push_map(from, &debug, err));
	UX_TRY(ux_supplementary_find_path(debug.bytes, from, dirs, path, &file, err));
	return path[0] == '\0' ? UX_OK : ux_push_modules_read(ret, path, /* named= */ true, err);
}

const char *ux_push_module_warning(const struct ux_push_module *m)
{
	bool file_id_only = m->ids.size == 1 && m->ids.ids[0].type == UX_ID_FILE;
	return file_id_only && m->strippable
		       ? "it has no build ID, and stripping changes its File ID; link with "
			 "-Wl,--build-id, or strip it first and push both with -e and -d"
		       : NULL;
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
	bool gsym = m->gsym || other->gsym; /* if one is a GSYM, only the better one is pushed */
	if (gsym ? other->claim > m->claim : m->debug_only && !other->debug_only) {
		struct ux_push_module swapped = *m;
		*m = *other;
		*other = swapped;
	}
	size_t aliases = m->ids.size;
	module_add_ids(m, &other->ids);
	m->named = m->named || other->named;
	if (m->split.size == 0)
		m->split = other->split;
	if (gsym || other->claim <= m->claim || m->debug)
		return m->ids.size > aliases;
	m->debug = ux_take(&other->path);
	m->debug_part = other->part;
	m->debug_found = true;
	m->claim = other->claim;
	return true;
}

enum ux_code ux_push_gpu_read(const char *path, struct ux_push_modules *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_module_facts_vec_deinit) struct ux_module_facts_vec facts = {0};
	UX_TRY(ux_file_map(path, &file, err));
	UX_TRY(ux_module_facts_read_gpu(file.bytes, /* spill= */ NULL, &facts, err));
	return ux_push_modules_add(ret, path, &facts, err);
}
