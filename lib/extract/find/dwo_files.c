/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of a module's split units, and skeletons that refer to the same split unit. */
#include "dwo_files.h"

#include "vec.h"

#include <sys/stat.h>
#include <unistd.h>

/* --- finding the files ------------------------------------------------------------------------ */

enum {
	/* bytes of an inflated index, which is enough for 32 million units */
	INDEX_MAX = 1u << 30,
};

static enum ux_code split_package_open(struct ux_dwo_files *f, struct ux_bytes file,
				       struct ux_error *err)
{
	const struct ux_object_choice any = {0};
	struct ux_section s;
	UX_TRY(ux_object_elf.open(file, &any, &f->object, err));
	if (!ux_object_section_find(f->object, ".debug_cu_index", &s))
		return ux_error_set(err, UX_EUNSUPPORTED, "has no .debug_cu_index");
	s.relocated = false;
	UX_TRY(ux_section_load(f->object, &s, INDEX_MAX, f->spill, &f->index, NULL, err));
	UX_TRY(ux_debug_sections_load_split(f->object, f->spill, &f->sections, err));
	return ux_dwarf_package_open(&f->package, f->index.bytes, &f->sections.dwarf, err);
}

static void split_package_close(struct ux_dwo_files *f)
{
	ux_content_free(&f->index);
	ux_debug_sections_free(&f->sections);
	f->object = ux_object_close(f->object);
	ux_file_unmap(&f->file);
	f->has_package = false;
}

/* Sets ret to "path[0, size).dwp", and returns true when that file can be read. */
static bool split_package_at(const char *path, size_t size, char ret[PATH_MAX])
{
	struct stat st;
	return size < PATH_MAX && snprintf(ret, PATH_MAX, "%.*s.dwp", (int)size, path) < PATH_MAX &&
	       stat(ret, &st) == 0 && S_ISREG(st.st_mode) && access(ret, R_OK) == 0;
}

bool ux_split_package_path(const char *debug_path, const char *module_path, char ret[PATH_MAX])
{
	const char *paths[] = {debug_path, module_path};
	struct ux_bytes debug = UX_STR(".debug");
	for (unsigned i = 0; i < ux_countof(paths); i++) {
		size_t n = paths[i] ? strlen(paths[i]) : 0;
		if (n == 0)
			continue;
		if (split_package_at(paths[i], n, ret))
			return true;
		if (n > debug.size &&
		    memcmp(paths[i] + n - debug.size, debug.data, debug.size) == 0 &&
		    split_package_at(paths[i], n - debug.size, ret))
			return true;
	}
	return false;
}

static bool split_package_find(struct ux_dwo_files *f)
{
	char path[PATH_MAX];
	return ux_split_package_path(f->paths[0], f->paths[1], path) &&
	       ux_file_map(path, &f->file, NULL) == UX_OK;
}

enum ux_code ux_dwo_files_open(struct ux_dwo_files *files, const struct ux_dwarf_sections *linked,
			       struct ux_bytes given, const char *debug_path,
			       const char *module_path, struct ux_spill *spill,
			       struct ux_error *err)
{
	*files = (struct ux_dwo_files){
		.linked = linked,
		.paths = {debug_path, module_path},
		.spill = spill,
		.cache = ux_split_cache_create(linked, spill),
		.reason = UX_ERROR_INIT,
	};
	if (!files->cache)
		return ux_error_nomem(err);
	if (given.size > 0)
		UX_TRY(ux_split_given_open(&files->given, given, linked, spill, &files->reason,
					   err));
	struct ux_bytes package = files->given.package;
	if (package.size == 0 && split_package_find(files))
		package = files->file.bytes;
	if (package.size == 0)
		return UX_OK;
	enum ux_code code = split_package_open(files, package, &files->reason);
	files->has_package = code == UX_OK;
	if (code != UX_OK)
		split_package_close(files);
	return code == UX_ENOMEM ? ux_error_nomem(err) : UX_OK;
}

void ux_dwo_files_close(struct ux_dwo_files *files)
{
	split_package_close(files);
	ux_split_given_close(&files->given);
	ux_split_cache_destroy(files->cache);
	*files = (struct ux_dwo_files){0};
}

/* Releases the unit's file, regardless of its origin. The copies of names stay. */
static void split_unit_release(struct ux_split_unit *u)
{
	if (u->ready)
		ux_dwarf_names_deinit(&u->names);
	u->ready = false;
	if (u->shared)
		ux_split_cache_release(u->cache, u->shared);
	u->shared = NULL;
	u->given = NULL;
	ux_dwo_file_close(&u->part);
}

void ux_split_unit_close(struct ux_split_unit *unit)
{
	split_unit_release(unit);
	ux_split_texts_deinit(&unit->texts);
}

/* Initializes the names of the file's units. */
static void split_unit_begin_names(struct ux_split_unit *u, const struct ux_dwo_file *file)
{
	ux_dwarf_names_init(&u->names, &file->sections, &file->units);
	u->ready = true;
}

static enum ux_code split_unit_from_package(struct ux_split_unit *u, const struct ux_dwo_files *f,
					    const struct ux_dwarf_context *skeleton,
					    struct ux_dwarf_context *ret, struct ux_error *err)
{
	struct ux_dwarf_sections dwo;
	struct ux_dwo_file *part = &u->part;
	if (!f->has_package)
		return UX_ENOTFOUND;
	UX_TRY(ux_dwarf_package_find(&f->package, skeleton->dwo_id, &dwo, err));
	split_unit_release(u);
	UX_TRY(ux_dwo_file_prepare(part, f->linked, &dwo, err));
	split_unit_begin_names(u, part);
	return ux_dwarf_split_open(&part->sections, &part->units, &part->ids, skeleton, ret, err);
}

static enum ux_code split_unit_from_given(struct ux_split_unit *u, const struct ux_dwo_files *f,
					  const struct ux_dwarf_context *skeleton,
					  struct ux_dwarf_context *ret, struct ux_error *err)
{
	const struct ux_dwo_file *file = ux_split_given_find(&f->given, skeleton->dwo_id);
	if (!file)
		return UX_ENOTFOUND;
	if (file != u->given) {
		split_unit_release(u);
		u->given = file;
		split_unit_begin_names(u, file);
	}
	return ux_dwarf_split_open(&file->sections, &file->units, &file->ids, skeleton, ret, err);
}

/* Opens the .dwo file at path, unless the unit has it already. UX_ENOTFOUND: no such file. */
static enum ux_code split_unit_from_file(struct ux_split_unit *u, const struct ux_dwo_files *f,
					 const char *path, struct ux_error *err)
{
	struct ux_dwo_file *file = NULL;
	UX_TRY(ux_split_cache_get(f->cache, path, &file, err));
	if (file == u->shared) {
		ux_split_cache_release(f->cache, file);
	} else {
		split_unit_release(u);
		u->cache = f->cache;
		u->shared = file;
		split_unit_begin_names(u, file);
	}
	if (err && err->code == UX_OK)
		*err = file->outcome;
	return file->outcome.code;
}

/* A search for a unit's file, with its results so far. */
struct search {
	struct ux_split_unit *unit;
	const struct ux_dwo_files *files;
	const struct ux_dwarf_context *skeleton;
	struct ux_dwarf_context *ret;
	enum ux_split_outcome outcome;
	struct ux_error *reason;
	char *path; /* PATH_MAX bytes for the path that was found; NULL: not needed */
};

/* Records `code`, the result of one candidate. Returns true when the search should stop. */
static bool split_search_outcome(struct search *s, enum ux_code code, const struct ux_error *why)
{
	if (code == UX_OK) {
		s->outcome = UX_SPLIT_READ;
	} else if (code == UX_ENOTFOUND) {
		if (s->outcome == UX_SPLIT_MISSING)
			s->outcome = UX_SPLIT_MISMATCH;
	} else {
		s->outcome = UX_SPLIT_DAMAGED;
		*s->reason = *why;
	}
	return code == UX_OK || code == UX_ENOMEM;
}

/* Tries one path. Returns true when the search should stop. */
static bool split_search_path(struct search *s, const char *path)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = split_unit_from_file(s->unit, s->files, path, &why);
	const struct ux_dwo_file *file = s->unit->shared;
	if (code == UX_ENOTFOUND)
		return false;
	if (code == UX_OK)
		code = ux_dwarf_split_open(&file->sections, &file->units, &file->ids, s->skeleton,
					   s->ret, &why);
	if (code == UX_OK && s->path)
		snprintf(s->path, PATH_MAX, "%s", path);
	return split_search_outcome(s, code, &why);
}

/* Tries "folder/middle/name"; middle may be NULL. Returns true when the search should stop. */
static bool split_search_folder(struct search *s, struct ux_bytes folder, const char *middle,
				const char *name)
{
	char path[PATH_MAX];
	int n = folder.size < PATH_MAX ? snprintf(path, sizeof(path), "%.*s/%s%s%s",
						  (int)folder.size, (const char *)folder.data,
						  middle ? middle : "", middle ? "/" : "", name)
				       : PATH_MAX;
	return n < PATH_MAX && split_search_path(s, path);
}

static struct ux_bytes split_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? ux_bytes(path, (size_t)(slash - path)) : UX_STR(".");
}

/* Tries the paths where the compiler put the unit's file, and paths beside the module. */
static bool split_search_paths(struct search *s)
{
	const char *name = s->skeleton->dwo_name, *dir = s->skeleton->comp_dir;
	const char *slash = strrchr(name, '/');
	bool absolute = dir && dir[0] == '/';
	if (name[0] == '/' && split_search_path(s, name))
		return true;
	if (name[0] != '/' && absolute && split_search_folder(s, ux_bytes_cstr(dir), NULL, name))
		return true;
	for (unsigned i = 0; i < ux_countof(s->files->paths); i++) {
		if (!s->files->paths[i])
			continue;
		struct ux_bytes folder = split_folder_of(s->files->paths[i]);
		if (name[0] != '/' &&
		    ((dir && !absolute && split_search_folder(s, folder, dir, name)) ||
		     split_search_folder(s, folder, NULL, name)))
			return true;
		if (slash && split_search_folder(s, folder, NULL, slash + 1))
			return true;
	}
	return false;
}

/* Tries everything, in order. */
static enum ux_code split_search_unit(struct search *s, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = split_unit_from_package(s->unit, s->files, s->skeleton, s->ret, &why);
	bool found = code != UX_ENOTFOUND && split_search_outcome(s, code, &why);
	if (!found) {
		why = (struct ux_error)UX_ERROR_INIT;
		code = split_unit_from_given(s->unit, s->files, s->skeleton, s->ret, &why);
		found = code != UX_ENOTFOUND && split_search_outcome(s, code, &why);
	}
	if (!found && (s->files->paths[0] || s->files->paths[1]))
		(void)split_search_paths(s);
	return s->outcome == UX_SPLIT_DAMAGED && s->reason->code == UX_ENOMEM ? ux_error_nomem(err)
									      : UX_OK;
}

enum ux_code ux_split_unit_open(struct ux_split_unit *unit, const struct ux_dwo_files *files,
				const struct ux_dwarf_context *skeleton,
				struct ux_dwarf_context *ret, enum ux_split_outcome *ret_outcome,
				struct ux_error *reason, struct ux_error *err)
{
	struct search s = {unit, files, skeleton, ret, UX_SPLIT_MISSING, reason, NULL};
	UX_TRY(split_search_unit(&s, err));
	*ret_outcome = s.outcome;
	return UX_OK;
}

enum ux_code ux_split_unit_path(struct ux_split_unit *unit, const struct ux_dwo_files *files,
				const struct ux_dwarf_context *skeleton, char ret[PATH_MAX],
				bool *ret_found, struct ux_error *err)
{
	struct ux_dwarf_context ctx;
	struct ux_error reason = UX_ERROR_INIT;
	struct search s = {unit, files, skeleton, &ctx, UX_SPLIT_MISSING, &reason, ret};
	ret[0] = '\0';
	UX_TRY(split_search_unit(&s, err));
	*ret_found = s.outcome == UX_SPLIT_READ && ret[0] != '\0';
	return UX_OK;
}

enum ux_code ux_split_unit_copy_names(struct ux_split_unit *unit, struct ux_arena *arena,
				      struct ux_error *err)
{
	struct ux_dwarf_text_vec *list = &unit->names.list;
	if (!unit->shared)
		return UX_OK; /* the package and the supplied files stay open */
	for (size_t i = 0; i < list->size; i++) {
		if (!list->data[i])
			continue;
		struct ux_bytes text = ux_bytes_cstr(list->data[i]);
		const char **known = ux_split_texts_find(&unit->texts, text);
		if (known) {
			list->data[i] = *known;
			continue;
		}
		const char *copy = ux_arena_strndup(arena, text.data, text.size);
		if (!copy)
			return ux_arena_fail(arena, err);
		bool fresh = false;
		known = ux_split_texts_insert(&unit->texts, ux_bytes(copy, text.size), &fresh);
		if (!known)
			return ux_error_nomem(err);
		list->data[i] = *known = copy;
	}
	return UX_OK;
}

/* --- skeletons that refer to the same split unit ---------------------------------------------- */

struct skeleton {
	uint64_t id;
	size_t unit;
};

UX_VEC(skeleton_vec, struct skeleton);

static int skeleton_compare(const void *x, const void *y)
{
	const struct skeleton *a = x, *b = y;
	if (a->id != b->id)
		return a->id < b->id ? -1 : 1;
	return (a->unit > b->unit) - (a->unit < b->unit);
}

static bool skeleton_id(const struct ux_dwarf_sections *sections, const struct ux_dwarf_unit *unit,
			uint64_t *ret)
{
	struct ux_dwarf_context ctx;
	if (unit->version >= 5) {
		*ret = unit->dwo_id;
		return unit->type == DW_UT_skeleton;
	}
	if (unit->end - unit->off > UX_SKELETON_MAX ||
	    ux_dwarf_context_open(sections, unit, NULL, &ctx, NULL) != UX_OK)
		return false;
	*ret = ctx.dwo_id;
	return ux_dwarf_is_skeleton(&ctx);
}

enum ux_code ux_split_duplicates_find(const struct ux_dwarf_sections *sections,
				      const struct ux_dwarf_units *units, bool **ret,
				      struct ux_error *err)
{
	ux_cleanup(skeleton_vec_deinit) struct skeleton_vec list = {0};
	ux_cleanup(ux_free_ptr) bool *duplicates = calloc(units->count + 1, sizeof(*duplicates));
	if (!duplicates)
		return ux_error_nomem(err);
	for (size_t i = 0; i < units->count; i++) {
		struct skeleton s = {.unit = i};
		if (skeleton_id(sections, &units->list[i], &s.id) && !skeleton_vec_append(&list, s))
			return ux_error_nomem(err);
	}
	if (list.size > 1)
		qsort(list.data, list.size, sizeof(*list.data), skeleton_compare);
	for (size_t i = UX_SPLIT_DUPLICATES_MAX; i < list.size; i++)
		if (list.data[i].id == list.data[i - UX_SPLIT_DUPLICATES_MAX].id)
			duplicates[list.data[i].unit] = true;
	*ret = ux_take(&duplicates);
	return UX_OK;
}
