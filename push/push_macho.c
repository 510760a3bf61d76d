/* SPDX-License-Identifier: Apache-2.0 */
/* The debug information of Mach-O modules: dSYM bundles and debug maps. */
#include "push_module.h"

#include "debug_map.h"
#include "dsym.h"
#include "macho_fat.h"
#include "macho_file.h"

/* Opens the slice of m in file. */
static enum ux_code macho_open_slice(const struct ux_push_module *m, struct ux_bytes file,
				     struct ux_macho *ret, struct ux_error *err)
{
	struct ux_macho_slice slice;
	UX_TRY(ux_macho_slice_choose(file, m->arch, /* id= */ NULL, &slice, err));
	return ux_macho_open(ret, slice.bytes, err);
}

enum ux_code ux_push_macho_map_debug(const struct ux_push_module *m, const char *path,
				     struct ux_mapping *ret, struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping exe = {0};
	UX_TRY(ux_file_map(m->path, &exe, err));
	return ux_dsym_map(path, exe.bytes, ret, err);
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
	if (m->debug || m->claim >= UX_QUALITY_LINES)
		return UX_OK;
	if (id)
		UX_TRY(ux_dsym_find(id, m->path, &found, err));
	if (!found.bytes.data)
		UX_TRY(macho_has_objects(m, &objects, err));
	if (found.bytes.data || objects)
		m->claim = UX_QUALITY_INLINES;
	return UX_OK;
}
