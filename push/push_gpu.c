/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU code in a file as modules to push. */
#include "push_gpu.h"

#include "fatbin_list.h"
#include "fatbin_unpack.h"

/* Appends the cubin as a module, unless it has nothing to push. */
static enum ux_code add_cubin(const char *path, unsigned number, struct ux_bytes cubin,
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
			UX_TRY(add_cubin(path, (unsigned)i + 1, content.bytes, ret, err));
	}
	return UX_OK;
}
