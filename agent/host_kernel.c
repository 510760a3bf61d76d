/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of the running kernel and its modules. */
#include "host_kernel.h"

#include "clock.h"
#include "debug_paths.h"
#include "file.h"
#include "kernel.h"
#include "kernel_files.h"
#include "kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

static enum ux_code host_kernel_sink(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	return ux_file_write(*(const int *)ctx, bytes, err);
}

/* Adds the symbols that kallsyms has for a part of the kernel. */
static enum ux_code host_kernel_add_symbols(struct ux_host_kernel *h, const struct ux_kernel *k,
					    const struct ux_kernel_part *part,
					    struct ux_file_table *t, struct ux_error *err)
{
	UX_FD(fd);
	struct ux_error why = UX_ERROR_INIT;
	UX_TRY(ux_file_temporary(&fd, err));
	enum ux_code code = ux_kernel_gsym_write(k, part, host_kernel_sink, &fd, &why);
	if (code == UX_OK)
		return ux_file_table_add_kernel(t, part->label, &fd, err);
	h->nameless++;
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

static enum ux_code host_kernel_add_part(struct ux_host_kernel *h, const struct ux_kernel *k,
					 const struct ux_kernel_part *part, const char *debug_dirs,
					 struct ux_file_table *t, struct ux_error *err)
{
	const struct ux_kernel_dirs dirs = {.root = "", .release = k->release, .debug = debug_dirs};
	UX_FD(fd);
	char path[PATH_MAX];
	struct ux_opened file;
	int64_t again_ms = 0;
	if (!part->is_file)
		return UX_OK;
	enum ux_code code = ux_open_helper_kernel(t->opener, &dirs, part->name, part->build_id,
						  path, &file, &again_ms, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK) {
		fd = file.fd;
		return ux_file_table_add_kernel(t, path, &fd, err);
	}
	if (code == UX_EUNAVAILABLE)
		h->again_ms = again_ms;
	/* Names are better than nothing until the file can be read. */
	return host_kernel_add_symbols(h, k, part, t, err);
}

static void host_kernel_drop(struct ux_kernel **k)
{
	ux_kernel_drop(*k);
}

enum ux_code ux_host_kernel_look(struct ux_host_kernel *h, const char *debug_dirs,
				 struct ux_file_table *t, struct ux_error *err)
{
	enum {
		MODULES_MAX = 64 << 20,
	};
	ux_cleanup(ux_read_deinit) struct ux_read list = {0};
	uint64_t modules = 0;
	/* A kernel without loadable modules has no /proc/modules. */
	if (ux_proc_read(AT_FDCWD, "/proc/modules", MODULES_MAX, &list, NULL) == UX_OK)
		modules = ux_hash_bytes(list.bytes);
	if (h->looked && modules == h->modules && (h->again_ms == 0 || h->again_ms > ux_clock_ms()))
		return UX_OK;
	h->looked = true;
	h->again_ms = 0;
	h->modules = modules;
	ux_cleanup(host_kernel_drop) struct ux_kernel *k = ux_kernel_read("", 0);
	if (!k)
		return ux_error_nomem(err);
	h->why = k->why;
	h->nameless = 0;
	for (size_t i = 0; i < k->parts.size; i++)
		UX_TRY(host_kernel_add_part(h, k, &k->parts.data[i], ux_debug_dirs(debug_dirs), t,
					    err));
	return UX_OK;
}
