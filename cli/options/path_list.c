/* SPDX-License-Identifier: Apache-2.0 */
/* --files-from: operands that are listed in a file. */
#include "path_list.h"

#include "dash_file.h"
#include "file.h"

static enum ux_code path_list_add(struct ux_path_list *list, struct ux_bytes path,
				  struct ux_arena *arena, struct ux_error *err)
{
	if (path.size == 0)
		return UX_OK;
	char *text = ux_arena_strndup(arena, path.data, path.size);
	if (!text)
		return ux_arena_fail(arena, err);
	return ux_path_list_append(list, text) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code path_list_split(struct ux_path_list *list, struct ux_bytes text,
				    struct ux_arena *arena, struct ux_error *err)
{
	bool nul = text.size > 0 && memchr(text.data, '\0', text.size) != NULL;
	if (nul && text.data[text.size - 1] != '\0')
		return ux_error_set(err, UX_EINVAL, "list ends in the middle of a path");
	while (text.size > 0) {
		const uint8_t *end = memchr(text.data, nul ? '\0' : '\n', text.size);
		size_t n = end ? (size_t)(end - text.data) : text.size;
		UX_TRY(path_list_add(list, ux_bytes(text.data, n), arena, err));
		n += end != NULL;
		text = ux_bytes(text.data + n, text.size - n);
	}
	return UX_OK;
}

enum ux_code ux_path_list_read(struct ux_path_list *list, const char *file, struct ux_arena *arena,
			       struct ux_error *err)
{
	ux_cleanup(ux_dash_file_close) struct ux_dash_file dash = UX_DASH_FILE_INIT;
	ux_cleanup(ux_file_unmap) struct ux_mapping map = {0};
	const char *path = NULL;
	UX_TRY(ux_dash_file_read(&dash, file, UX_BYTES_NONE, &path, err));
	UX_TRY(ux_file_map(path, &map, err));
	if (map.bytes.size > UX_PATH_LIST_BYTES_MAX)
		return ux_error_set(err, UX_ELIMIT, "list is larger than %d bytes",
				    UX_PATH_LIST_BYTES_MAX);
	return path_list_split(list, map.bytes, arena, err);
}
