/* SPDX-License-Identifier: Apache-2.0 */
/* The build-id folders of gdb's convention. */
#include "debug_file.h"

#include "elf_ids.h"
#include "hex.h"
#include "out.h"

bool ux_elf_has_dwarf(const struct ux_elf *elf)
{
	static const char *const names[] = {".debug_info", ".zdebug_info"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		const struct ux_elf_section *s = ux_elf_section_find(elf, names[i]);
		if (s && s->type != SHT_NOBITS && s->size > 0)
			return true;
	}
	return false;
}

/* DIR/.build-id/xx/yyyy.debug with a NUL, malloc'ed; NULL when memory is short. */
static char *path_in(struct ux_bytes dir, const struct ux_id *id)
{
	char hex[2 * UX_ID_BYTES_MOST + 1];
	ux_hex_encode(ux_bytes(id->bytes, id->size), hex);
	struct ux_out path = {0};
	ux_out_put(&path, dir.data, dir.size);
	ux_out_fmt(&path, "/.build-id/%.2s/%s.debug", hex, hex + 2);
	ux_out_u8(&path, 0);
	if (path.failed)
		ux_out_deinit(&path);
	return (char *)path.data;
}

static enum ux_code try_dirs(struct ux_debug_file *ret, const struct ux_id *id, const char *dirs,
			     struct ux_error *err)
{
	for (const char *dir = dirs; *dir && !ret->path;) {
		size_t n = strcspn(dir, ":");
		ux_cleanup(ux_free_ptr) char *path = path_in(ux_bytes(dir, n), id);
		if (!path)
			return ux_error_nomem(err);
		if (n > 0 && ux_file_map(path, &ret->file, NULL) == UX_OK)
			ret->path = ux_take(&path);
		dir += n + (dir[n] == ':');
	}
	return UX_OK;
}

enum ux_code ux_debug_file_find(struct ux_debug_file *ret, struct ux_bytes exe, const char *dirs,
				struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	if (ux_elf_open(&elf, exe, NULL) != UX_OK || ux_elf_has_dwarf(&elf) ||
	    ux_elf_ids(&elf, &ids, NULL) != UX_OK)
		return UX_OK;
	const struct ux_id *gnu = ux_id_set_find(&ids, UX_ID_GNU);
	if (!gnu || gnu->size < 2)
		return UX_OK;
	return try_dirs(ret, gnu, dirs ? dirs : UX_DEBUG_DIRS_DEFAULT, err);
}

void ux_debug_file_close(struct ux_debug_file *f)
{
	ux_file_unmap(&f->file);
	free(f->path);
	f->path = NULL;
}
