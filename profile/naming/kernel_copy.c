/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of kernels that perf keeps. */
#include "kernel_copy.h"

#include "debug_paths.h"
#include "file.h"

void ux_kernel_copy_deinit(struct ux_kernel_copy *c)
{
	ux_kallsyms_deinit(&c->symbols);
	free(ux_take(&c->path));
}

enum ux_code ux_kernel_copy_read(const struct ux_id *id, struct ux_kernel_copy *ret,
				 struct ux_error *err)
{
	char path[PATH_MAX];
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_kernel_copy_deinit) struct ux_kernel_copy c = {0};
	*ret = (struct ux_kernel_copy){0};
	if (!ux_perf_cache_path(id, "kallsyms", path))
		return ux_error_set(err, UX_ENOTFOUND, "perf keeps kernels by their build IDs");
	c.path = strdup(path);
	if (!c.path)
		return ux_error_nomem(err);
	UX_TRY(ux_file_map(c.path, &file, err));
	if (file.bytes.size > UX_KALLSYMS_MAX)
		return ux_error_set(err, UX_ELIMIT, "%s exceeds %d bytes", c.path, UX_KALLSYMS_MAX);
	UX_TRY(ux_kallsyms_parse(file.bytes, /* modules= */ NULL, &c.symbols, err));
	*ret = c;
	c = (struct ux_kernel_copy){0};
	return UX_OK;
}

bool ux_kernel_copy_find(const struct ux_kernel_copy *c, uint64_t text, uint64_t address,
			 struct ux_kernel_symbol *ret)
{
	const uint64_t own = c->symbols.text ? c->symbols.text : c->symbols.stext;
	const uint64_t moved = text - own;
	if (own == 0 || text == 0)
		return false;
	const struct ux_kernel_symbol *s = ux_kallsyms_find(&c->symbols, address - moved);
	if (!s || *s->module)
		return false;
	*ret = *s;
	ret->start += moved;
	ret->end += moved;
	return true;
}
