/* SPDX-License-Identifier: Apache-2.0 */
/* Finds debug files and their supplementary files. */
#include "symbol_files.h"

#include "debug_file.h"
#include "elf_ids.h"

/* Requests the debug file with that ID from the servers and maps it. Returns UX_OK also when no
 * server has it; *ret_path then stays unset. */
static enum ux_code symbol_file_request(struct ux_symbol_files *files,
					const struct ux_finder *finder, const struct ux_id *id,
					char **ret_path, struct ux_mapping *ret,
					struct ux_error *err)
{
	ux_cleanup(ux_free_ptr) char *path = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ux_debuginfod_find(finder->server, id, UX_DEBUGINFOD_DEBUGINFO, &path, &why);
	if (code == UX_OK)
		code = ux_file_map(path, ret, &why);
	if (finder->search.tried && finder->server)
		finder->search.tried(finder->search.ctx, path ? path : "debuginfod",
				     code == UX_OK ? NULL : why.text);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK && code != UX_ENOTFOUND && files->lost.code == UX_OK)
		files->lost = why;
	if (code == UX_OK)
		*ret_path = ux_take(&path);
	return UX_OK;
}

static enum ux_code symbol_file_request_debug(struct ux_symbol_files *files,
					      const struct ux_finder *finder, struct ux_bytes exe,
					      struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	if (ux_elf_open(&elf, exe, NULL) != UX_OK || ux_elf_has_dwarf(&elf) ||
	    ux_elf_ids(&elf, &ids, NULL) != UX_OK)
		return UX_OK;
	const struct ux_id *id = ux_id_set_find(&ids, UX_ID_GNU);
	if (!id)
		return UX_OK;
	UX_TRY(symbol_file_request(files, finder, id, &files->debug.path, &files->debug.file, err));
	if (files->debug.path)
		files->debug.how = UX_DEBUG_BY_SERVER;
	return UX_OK;
}

enum ux_code ux_symbol_files_supplement(struct ux_symbol_files *files,
					const struct ux_finder *finder, struct ux_bytes debug,
					const char *path, struct ux_error *err)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	ux_cleanup(ux_free_ptr) char *fetched = NULL;
	struct ux_supplementary_link link;
	struct ux_error why = UX_ERROR_INIT;
	/*
	 * A stripped file still has the link, but no DWARF that refers to the supplementary file.
	 */
	if (!ux_elf_is(debug) || ux_elf_open(&elf, debug, NULL) != UX_OK ||
	    !ux_elf_has_dwarf(&elf) || ux_supplementary_link(&elf, &link, &why) != UX_OK ||
	    link.path[0] == '\0')
		return UX_OK;
	enum ux_code code = ux_supplementary_find(debug, path ? path : "", finder->search.dirs,
						  &files->supplementary, &why);
	if (code == UX_ENOTFOUND && finder->server)
		UX_TRY(symbol_file_request(files, finder, &link.id, &fetched, &files->supplementary,
					   err));
	if (code != UX_OK && !fetched && files->lost.code == UX_OK)
		files->lost = why;
	return UX_OK;
}

enum ux_code ux_symbol_files_find(struct ux_symbol_files *files, const struct ux_finder *finder,
				  struct ux_bytes exe, const char *path, struct ux_error *err)
{
	*files = (struct ux_symbol_files){.lost = UX_ERROR_INIT};
	if (!ux_elf_is(exe))
		return UX_OK;
	UX_TRY(ux_debug_file_find(&files->debug, exe, path, &finder->search, err));
	if (!files->debug.path && finder->server)
		UX_TRY(symbol_file_request_debug(files, finder, exe, err));
	bool separate = files->debug.path != NULL;
	return ux_symbol_files_supplement(files, finder, separate ? files->debug.file.bytes : exe,
					  separate ? files->debug.path : path, err);
}

void ux_symbol_files_close(struct ux_symbol_files *files)
{
	ux_debug_file_close(&files->debug);
	ux_file_unmap(&files->supplementary);
	*files = (struct ux_symbol_files){.lost = UX_ERROR_INIT};
}
