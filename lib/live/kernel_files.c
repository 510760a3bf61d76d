/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the files of the running kernel and of its modules. */
#include "kernel_files.h"

#include "debug_paths.h"
#include "dsym.h"
#include "elf_ids.h"
#include "kernel.h"
#include "search_path.h"

enum {
	PATH_TAIL = 48, /* bytes of the end of a path that a message shows */
};

const struct ux_kernel_place ux_kernel_places[UX_KERNEL_PLACE_COUNT] = {
	{"/boot/vmlinux-@", /* is_debug= */ true},
	{"/lib/modules/@/vmlinux", /* is_debug= */ true},
	{"/usr/lib/modules/@/vmlinux", /* is_debug= */ true},
	{"/vmlinux-@", /* is_debug= */ true},
	{"/lib/modules/@/vmlinux", /* is_debug= */ false},
	{"/lib/modules/@/build/vmlinux", /* is_debug= */ false},
	{"/boot/vmlinux-@", /* is_debug= */ false},
};
static const char *const module_folders[] = {"/lib/modules/@/", "/usr/lib/modules/@/"};

/* State of one search. */
struct kernel_search {
	const struct ux_kernel_dirs *dirs;
	const char *build_id;
	struct ux_id id;
	struct ux_kernel_files *ret;
	bool done; /* found a file with DWARF, or out of memory */
	bool no_memory;
};

void ux_kernel_files_close(struct ux_kernel_files *f)
{
	ux_file_unmap(&f->file);
	ux_file_unmap(&f->debug);
	free(f->path);
	free(f->debug_path);
	*f = (struct ux_kernel_files){0};
}

bool ux_kernel_path(struct ux_bytes base, const char *name, struct ux_bytes release,
		    struct ux_bytes tail, char ret[PATH_MAX])
{
	const char *at = strchr(name, '@');
	int before = at ? (int)(at - name) : (int)strlen(name);
	if (base.size >= PATH_MAX || release.size >= PATH_MAX || tail.size >= PATH_MAX)
		return false;
	int n = snprintf(ret, PATH_MAX, "%.*s%.*s%.*s%s%.*s", (int)base.size,
			 (const char *)base.data, before, name, at ? (int)release.size : 0,
			 (const char *)release.data, at ? at + 1 : "", (int)tail.size,
			 (const char *)tail.data);
	return n < PATH_MAX;
}

/* Stores a file with the right build ID. */
static void kernel_search_accept(struct kernel_search *h, const char *path, struct ux_mapping *file,
				 bool has_dwarf)
{
	struct ux_kernel_files *to = h->ret;
	bool first = !to->path;
	if (!first && !has_dwarf)
		return;
	char **name = first ? &to->path : &to->debug_path;
	*name = strdup(path);
	*(first ? &to->file : &to->debug) = *file;
	*file = (struct ux_mapping){0};
	h->no_memory = !*name;
	h->done = has_dwarf || h->no_memory;
}

static void kernel_search_try(struct kernel_search *h, struct ux_bytes base, const char *name,
			      struct ux_bytes tail)
{
	char path[PATH_MAX], text[UX_ID_TEXT] = "none";
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	struct ux_id_set ids = {0};
	if (h->done || !ux_kernel_path(base, name, ux_bytes_cstr(h->dirs->release), tail, path))
		return;
	enum ux_code code = ux_dsym_map(path, UX_BYTES_NONE, &file, NULL);
	if (code == UX_OK)
		code = ux_elf_open(&elf, file.bytes, NULL);
	if (code == UX_OK)
		code = ux_elf_ids(&elf, &ids, NULL);
	h->done = h->no_memory = code == UX_ENOMEM;
	if (code != UX_OK)
		return;
	const struct ux_id *id = ux_id_set_find(&ids, UX_ID_GNU);
	if (id)
		ux_id_format(id, text);
	if (id && ux_id_eq(id, &h->id))
		kernel_search_accept(h, path, &file, ux_elf_has_dwarf(&elf));
	else
		ux_error_set(&h->ret->lost, UX_ECONFLICT,
			     "%s has build ID %.46s; the loaded one has %.46s",
			     path + strlen(path) - ux_min(strlen(path), (size_t)PATH_TAIL), text,
			     h->build_id);
}

/* Calls kernel_search_try() for each directory of debug files. */
static void kernel_search_try_dirs(struct kernel_search *h, const char *name, struct ux_bytes tail)
{
	const char *dir = NULL;
	size_t n = 0;
	for (const char *rest = h->dirs->debug; ux_search_path_take(&rest, &dir, &n);) {
		kernel_search_try(h, ux_bytes(dir, n), name, tail);
	}
}

static void kernel_search_try_id_trees(struct kernel_search *h)
{
	struct ux_debug_paths paths = {h->dirs->debug, &h->id};
	char path[PATH_MAX];
	while (ux_debug_paths_next(&paths, path))
		kernel_search_try(h, ux_bytes_cstr(path), "", UX_STR(""));
}

static void kernel_search_vmlinux(struct kernel_search *h)
{
	static const char *const packed[] = {"", ".xz", ".zst", ".gz"};
	struct ux_bytes root = ux_bytes_cstr(h->dirs->root);
	for (size_t i = 0; i < UX_KERNEL_PLACE_COUNT; i++)
		for (size_t k = 0; k < ux_countof(packed) && !ux_kernel_places[i].is_debug; k++)
			kernel_search_try(h, root, ux_kernel_places[i].name,
					  ux_bytes_cstr(packed[k]));
	for (size_t i = 0; i < UX_KERNEL_PLACE_COUNT; i++) {
		if (!ux_kernel_places[i].is_debug)
			continue;
		kernel_search_try_dirs(h, ux_kernel_places[i].name, UX_STR(""));
		kernel_search_try_dirs(h, ux_kernel_places[i].name, UX_STR(".debug"));
	}
}

/* Tries the path that modules.dep has for a module, below the root and in the directories of
 * debug files. If the path is NAME.ko.xz, NAME.ko and NAME.ko.debug are tried in the directories of
 * debug files, too. */
static void kernel_search_module_path(struct kernel_search *h, struct ux_bytes path)
{
	char debug[PATH_MAX];
	struct ux_bytes plain = ux_module_path_plain(path);
	bool absolute = path.data[0] == '/';
	const char *const whole[] = {""};
	const char *const *folders = absolute ? whole : module_folders;
	size_t n = absolute ? 1 : ux_countof(module_folders);
	if (plain.size >= PATH_MAX - 16)
		return;
	snprintf(debug, sizeof(debug), "%.*s.debug", (int)plain.size, (const char *)plain.data);
	for (size_t i = 0; i < n; i++)
		kernel_search_try(h, ux_bytes_cstr(h->dirs->root), folders[i], path);
	for (size_t i = 0; i < n; i++) {
		kernel_search_try_dirs(h, folders[i], plain);
		kernel_search_try_dirs(h, folders[i], ux_bytes_cstr(debug));
		if (plain.size < path.size)
			kernel_search_try_dirs(h, folders[i], path);
	}
}

static void kernel_search_module(struct kernel_search *h, const char *module)
{
	char path[PATH_MAX];
	for (size_t i = 0; i < ux_countof(module_folders); i++) {
		ux_cleanup(ux_file_unmap) struct ux_mapping list = {0};
		if (!ux_kernel_path(ux_bytes_cstr(h->dirs->root), module_folders[i],
				    ux_bytes_cstr(h->dirs->release), UX_STR("modules.dep"), path) ||
		    ux_file_map(path, &list, NULL) != UX_OK)
			continue;
		struct ux_bytes found = ux_modules_dep_find(list.bytes, module);
		if (found.size > 0)
			kernel_search_module_path(h, found);
		return;
	}
}

enum ux_code ux_kernel_files_find(const struct ux_kernel_dirs *dirs, const char *module,
				  const char *build_id, struct ux_kernel_files *ret,
				  struct ux_error *err)
{
	struct kernel_search h = {.dirs = dirs, .build_id = build_id, .ret = ret};
	*ret = (struct ux_kernel_files){.lost = UX_ERROR_INIT};
	if (*build_id == 0 || ux_id_parse(ux_bytes_cstr(build_id), &h.id, NULL) != UX_OK) {
		ux_error_set(&ret->lost, UX_ENOTFOUND, "the kernel reports no build ID for it");
		return UX_OK;
	}
	if (*module)
		kernel_search_module(&h, module);
	else
		kernel_search_vmlinux(&h);
	kernel_search_try_id_trees(&h);
	if (h.no_memory)
		return ux_error_nomem(err);
	if (h.done)
		ret->lost = (struct ux_error)UX_ERROR_INIT;
	else if (ret->path)
		ux_error_set(&ret->lost, UX_ENOTFOUND, "no debug file of %.50s in %.70s", build_id,
			     dirs->debug);
	else
		ux_error_set(&ret->lost, UX_ENOTFOUND,
			     "no file of %.50s in %.30s/lib/modules/%.40s", build_id, dirs->root,
			     dirs->release);
	return UX_OK;
}
