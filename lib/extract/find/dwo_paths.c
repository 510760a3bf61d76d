/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the skeletons of a file and finds the .dwo file of each. */
#include "dwo_files.h"

/* A file, identified independently of its path. */
struct split_inode {
	uint64_t dev, ino;
};

static inline uint64_t split_inode_hash(struct split_inode key)
{
	return ux_hash_mix(key.dev ^ 0x9e3779b97f4a7c15u, key.ino ^ 0xd6e8feb86659fd93u);
}

static inline bool split_inode_eq(struct split_inode a, struct split_inode b)
{
	return a.dev == b.dev && a.ino == b.ino;
}

UX_MAP(split_inodes, struct split_inode, bool, split_inode_hash, split_inode_eq);

/* The open files of a walk. A zeroed struct is empty. */
struct split_walk {
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_dwarf_units units;
	struct ux_dwarf_abbrev_buffers abbrevs;
	struct ux_dwo_files files;
	struct ux_split_unit unit;
	struct split_inodes seen;
	bool *repeated; /* see ux_split_duplicates_find() */
};

static void split_walk_deinit(struct split_walk *w)
{
	ux_split_unit_close(&w->unit);
	ux_dwo_files_close(&w->files);
	split_inodes_deinit(&w->seen);
	free(w->repeated);
	ux_dwarf_abbrev_buffers_deinit(&w->abbrevs);
	ux_dwarf_units_free(&w->units);
	ux_debug_sections_free(&w->sections);
	ux_object_close(w->object);
}

void ux_dwo_paths_deinit(struct ux_dwo_paths *p)
{
	ux_dwo_path_vec_deinit(&p->list);
	ux_arena_deinit(&p->arena);
}

static enum ux_code dwo_paths_add(struct split_walk *w, const char *path, struct ux_dwo_paths *ret,
				  struct ux_error *err)
{
	const struct ux_mapping *file = &w->unit.shared->file;
	bool fresh = false;
	if (!split_inodes_insert(&w->seen, (struct split_inode){file->dev, file->ino}, &fresh))
		return ux_error_nomem(err);
	if (!fresh)
		return UX_OK;
	if (ret->list.size == UX_DWO_PATHS_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d .dwo files", UX_DWO_PATHS_MAX);
	const char *copy = ux_arena_strndup(&ret->arena, path, strlen(path));
	if (!copy)
		return ux_arena_fail(&ret->arena, err);
	return ux_dwo_path_vec_append(&ret->list, copy) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code dwo_paths_of_unit(struct split_walk *w, size_t number, struct ux_dwo_paths *ret,
				      struct ux_error *err)
{
	struct ux_dwarf_context skeleton;
	char path[PATH_MAX];
	bool found = false;
	if (w->repeated[number])
		return UX_OK;
	enum ux_code code = ux_dwarf_context_open(&w->sections.dwarf, &w->units.list[number],
						  &w->abbrevs, &skeleton, NULL);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK || !ux_dwarf_is_skeleton(&skeleton))
		return UX_OK; /* a damaged unit costs only itself */
	UX_TRY(ux_split_unit_path(&w->unit, &w->files, &skeleton, path, &found, err));
	return found ? dwo_paths_add(w, path, ret, err) : UX_OK;
}

/* Split units have their addresses in .debug_addr, and few other files have it. */
static bool dwo_paths_possible(const struct ux_object *object)
{
	struct ux_section s;
	return ux_object_section_find(object, ".debug_addr", &s);
}

enum ux_code ux_dwo_paths_find(struct ux_bytes file, const char *debug_path,
			       const char *module_path, struct ux_dwo_paths *ret,
			       struct ux_error *err)
{
	/* for inflated sections, which are read once */
	struct ux_spill spill = {.folder = UX_SPILL_FOLDER};
	ux_cleanup(split_walk_deinit) struct split_walk w = {0};
	*ret = (struct ux_dwo_paths){0};
	ux_arena_init(&ret->arena, UX_DWO_PATHS_BYTES_MAX);
	if (ux_object_format(file) != &ux_object_elf)
		return UX_OK;
	UX_TRY(ux_object_open(file, &w.object, err));
	if (!ux_debug_sections_exist(w.object) || !dwo_paths_possible(w.object))
		return UX_OK;
	UX_TRY(ux_debug_sections_load(w.object, 1, &spill, &w.sections, err));
	UX_TRY(ux_dwarf_units_parse(&w.sections.dwarf, &w.units, err));
	UX_TRY(ux_split_duplicates_find(&w.sections.dwarf, &w.units, &w.repeated, err));
	UX_TRY(ux_dwo_files_open(&w.files, &w.sections.dwarf, UX_BYTES_NONE, debug_path,
				 module_path, &spill, err));
	for (size_t i = 0; i < w.units.count; i++)
		UX_TRY(dwo_paths_of_unit(&w, i, ret, err));
	return UX_OK;
}
