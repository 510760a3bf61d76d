/* SPDX-License-Identifier: Apache-2.0 */
/* Reading modules from Mach-O files. */
#include "push_module.h"

#include "debug_map.h"
#include "dsym.h"
#include "macho_fat.h"
#include "macho_file.h"

static enum ux_quality macho_claim(const struct ux_macho *macho)
{
	if (ux_macho_has_dwarf(macho))
		return UX_QUALITY_INLINES;
	return macho->symbols.count > 0 ? UX_QUALITY_SYMTAB : UX_QUALITY_NONE;
}

static enum ux_code macho_check_type(const struct ux_macho *macho, struct ux_error *err)
{
	if (macho->type != MH_OBJECT && macho->type != MH_CORE)
		return UX_OK;
	return ux_error_set(err, UX_EUNSUPPORTED,
			    "Mach-O %s; expected an executable, a dylib or a bundle",
			    ux_macho_type_name(macho->type));
}

static enum ux_code macho_read_ids(const struct ux_macho *macho, bool debug_only,
				   struct ux_id_set *ret, struct ux_error *err)
{
	if (debug_only && macho->id.size > 0)
		return ux_id_set_add(ret, &macho->id, err);
	struct ux_id content = ux_file_id(macho->file);
	UX_TRY(ux_macho_ids(macho, ret, err));
	return ux_id_set_add(ret, &content, err);
}

static enum ux_code macho_read_slice(const struct ux_macho_slice *slice, const char *path,
				     struct ux_push_module *m, struct ux_error *err)
{
	ux_cleanup(ux_macho_close) struct ux_macho macho = {0};
	UX_TRY(ux_macho_open(&macho, slice->bytes, err));
	UX_TRY(macho_check_type(&macho, err));
	m->claim = macho_claim(&macho);
	m->debug_only = macho.type == MH_DSYM;
	ux_macho_arch_name(slice->cpu, slice->subtype, m->arch);
	UX_TRY(macho_read_ids(&macho, m->debug_only, &m->ids, err));
	m->path = strdup(path);
	return m->path ? UX_OK : ux_error_nomem(err);
}

enum ux_code ux_push_macho_read(struct ux_push_modules *v, const char *path, struct ux_bytes file,
				struct ux_error *err)
{
	struct ux_macho_slices slices;
	UX_TRY(ux_macho_slices(file, &slices, err));
	for (size_t i = 0; i < slices.size; i++) {
		ux_cleanup(ux_push_module_deinit) struct ux_push_module m = {0};
		UX_TRY(macho_read_slice(&slices.list[i], path, &m, err));
		if (!ux_push_modules_append(v, m))
			return ux_error_nomem(err);
		m = (struct ux_push_module){0};
	}
	return UX_OK;
}

/* Opens the slice of m in file. */
static enum ux_code macho_open_slice(const struct ux_push_module *m, struct ux_bytes file,
				     struct ux_macho *ret, struct ux_error *err)
{
	struct ux_macho_slice slice;
	UX_TRY(ux_macho_slice_choose(file, m->arch, /* id= */ NULL, &slice, err));
	return ux_macho_open(ret, slice.bytes, err);
}

static enum ux_code macho_check_pair(const struct ux_push_module *m, const struct ux_macho *debug,
				     struct ux_error *err)
{
	char have[UX_ID_TEXT], want[UX_ID_TEXT];
	const struct ux_id *ours = ux_id_set_find(&m->ids, UX_ID_UUID);
	if (!ours || debug->id.size == 0 || ux_id_eq(ours, &debug->id))
		return UX_OK;
	return ux_error_set(err, UX_ECONFLICT, "UUIDs differ: debug file %.48s, expected %.48s",
			    ux_id_format(&debug->id, have), ux_id_format(ours, want));
}

enum ux_code ux_push_macho_debug(struct ux_push_module *m, const char *path,
				 enum ux_debug_origin origin, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping exe = {0};
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_macho_close) struct ux_macho debug = {0};
	UX_TRY(ux_file_map(m->path, &exe, err));
	UX_TRY(ux_dsym_map(path, exe.bytes, &file, err));
	UX_TRY(macho_open_slice(m, file.bytes, &debug, err));
	if (origin == UX_DEBUG_GIVEN)
		UX_TRY(macho_check_pair(m, &debug, err));
	ux_cleanup(ux_free_ptr) char *copy = strdup(path);
	if (!copy)
		return ux_error_nomem(err);
	enum ux_quality claim = macho_claim(&debug);
	m->claim = ux_max(m->claim, claim);
	free(m->debug);
	m->debug = ux_take(&copy);
	m->debug_found = origin == UX_DEBUG_FOUND;
	return UX_OK;
}

static enum ux_code macho_has_objects(const struct ux_push_module *m, bool *ret,
				      struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_macho_close) struct ux_macho macho = {0};
	ux_cleanup(ux_debug_map_close) struct ux_debug_map map = {0};
	UX_TRY(ux_file_map(m->path, &file, err));
	UX_TRY(macho_open_slice(m, file.bytes, &macho, err));
	UX_TRY(ux_debug_map_open(&map, &macho, err));
	*ret = ux_debug_map_there(&map);
	return UX_OK;
}

enum ux_code ux_push_macho_find_debug(struct ux_push_module *m, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping found = {0};
	const struct ux_id *id = ux_id_set_find(&m->ids, UX_ID_UUID);
	bool objects = false;
	if (m->debug || m->claim == UX_QUALITY_INLINES)
		return UX_OK;
	if (id)
		UX_TRY(ux_dsym_find(id, m->path, &found, err));
	if (!found.bytes.data)
		UX_TRY(macho_has_objects(m, &objects, err));
	if (found.bytes.data || objects)
		m->claim = UX_QUALITY_INLINES;
	return UX_OK;
}
