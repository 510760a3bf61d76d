/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the mapped files of running processes. */
#include "push_work.h"

#include "file.h"
#include "proc_files.h"
#include "proc_maps.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum {
	VDSO_MAX = 1 << 20 /* bytes; it has a few pages */
};

struct process_walk {
	struct ux_push_work *p;
	struct ux_proc proc;
	struct ux_push_modules *ret;
	struct ux_scan_inodes seen;
};

static void process_walk_deinit(struct process_walk *w)
{
	ux_proc_close(&w->proc);
	ux_scan_inodes_deinit(&w->seen);
}

/* Keeps a descriptor open as long as its parts are used. */
static enum ux_code process_keep(struct process_walk *w, int *fd, struct ux_error *err)
{
	if (!ux_push_packs_append(&w->p->packs, *fd))
		return ux_error_nomem(err);
	*fd = -1;
	return UX_OK;
}

/* Reads an open file, or a copy of memory, under a name. */
static enum ux_code process_add_open(struct process_walk *w, const char *name, int *fd,
				     struct ux_error *err)
{
	struct stat st;
	struct ux_error why = UX_ERROR_INIT;
	if (fstat(*fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return UX_OK;
	const struct ux_sandbox_part part = {*fd, 0, (uint64_t)st.st_size};
	UX_TRY(process_keep(w, fd, err));
	enum ux_code code = ux_push_part_read(w->p, name, &part, /* packed= */ false, w->ret, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		ux_push_report_left_out(w->p, name, /* named= */ false, &why);
	return UX_OK;
}

static enum ux_code process_add_vdso(struct process_walk *w, const struct ux_proc_map *map,
				     struct ux_error *err)
{
	UX_FD(fd);
	ux_cleanup(ux_read_deinit) struct ux_read image = {0};
	if (map->end - map->start > VDSO_MAX ||
	    ux_proc_read_memory(&w->proc, map->start, map->end, &image, NULL) != UX_OK)
		return UX_OK;
	UX_TRY(ux_file_temporary(&fd, err));
	UX_TRY(ux_file_write(fd, image.bytes, err));
	return process_add_open(w, "[vdso]", &fd, err);
}

/* Returns whether the mapped file is at its path on this machine. */
static bool process_file_is_here(const struct ux_proc_map *map)
{
	struct stat st;
	return !map->deleted && map->kind == UX_PROC_MAP_FILE && stat(map->path, &st) == 0 &&
	       st.st_ino == map->ino &&
	       (uint64_t)makedev(major(st.st_dev), minor(st.st_dev)) == map->dev;
}

static enum ux_code process_add_mapping(struct process_walk *w, const struct ux_proc_map *map,
					struct ux_error *err)
{
	UX_FD(fd);
	bool fresh = false;
	struct ux_error why = UX_ERROR_INIT;
	struct ux_scan_inode inode = {map->dev, map->ino};
	if (!map->exec || (map->kind != UX_PROC_MAP_FILE && map->kind != UX_PROC_MAP_MEMORY &&
			   map->kind != UX_PROC_MAP_VDSO))
		return UX_OK;
	if (!ux_scan_inodes_insert(&w->seen, inode, &fresh))
		return ux_error_nomem(err);
	if (!fresh)
		return UX_OK;
	if (map->kind == UX_PROC_MAP_VDSO)
		return process_add_vdso(w, map, err);
	if (process_file_is_here(map))
		return ux_scan_found(&w->p->scan, map->path, err);
	enum ux_code code = ux_proc_open_mapped(&w->proc, map, &fd, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK) {
		ux_push_report_left_out(w->p, map->path, /* named= */ true, &why);
		return UX_OK;
	}
	return process_add_open(w, map->path, &fd, err);
}

enum ux_code ux_push_process_read(struct ux_push_work *p, pid_t pid, struct ux_push_modules *ret,
				  struct ux_error *err)
{
	ux_cleanup(process_walk_deinit) struct process_walk w = {
		.p = p, .ret = ret, .proc = {.dir = -1, .stat = -1}};
	ux_cleanup(ux_read_deinit) struct ux_read text = {0};
	ux_cleanup(ux_proc_maps_deinit) struct ux_proc_maps maps = {0};
	UX_TRY(ux_proc_open(&w.proc, pid, err));
	UX_TRY(ux_proc_read(w.proc.dir, "maps", UX_PROC_MAPS_MAX, &text, err));
	UX_TRY(ux_proc_maps_parse(text.bytes, &maps, err));
	if (maps.list.size == 0)
		return ux_error_set(err, UX_EINVAL,
				    "has no memory: it is a kernel thread or has ended");
	for (size_t i = 0; i < maps.list.size; i++)
		UX_TRY(process_add_mapping(&w, &maps.list.data[i], err));
	return UX_OK;
}
