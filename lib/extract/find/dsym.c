/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the DWARF in dSYM bundles. */
#include "dsym.h"

#include "macho_fat.h"
#include "packed_file.h"
#include "vec.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>

enum {
	FOLDERS_UP = 5, /* X.framework/Versions/A/X, X.app/Contents/MacOS/X and one more */
};

UX_VEC(name_vec, char *);

static void dsym_names_deinit(struct name_vec *v)
{
	for (size_t i = 0; i < v->size; i++)
		free(v->data[i]);
	name_vec_deinit(v);
}

static int dsym_name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void dsym_closedir(DIR **d)
{
	if (*d)
		closedir(*d);
}

/* Lists the files of the bundle at path, sorted by name. */
static enum ux_code dsym_list(const char *path, struct name_vec *ret, struct ux_error *err)
{
	char folder[PATH_MAX], name[PATH_MAX];
	if (snprintf(folder, sizeof(folder), "%s/Contents/Resources/DWARF", path) >= PATH_MAX)
		return ux_error_set(err, UX_ENOTFOUND, "path is too long");
	ux_cleanup(dsym_closedir) DIR *dir = opendir(folder);
	if (!dir)
		return ux_error_set(err, UX_ENOTFOUND, "has no folder Contents/Resources/DWARF");
	for (const struct dirent *e; (e = readdir(dir)) && ret->size < UX_DSYM_FILES_MAX;) {
		struct stat st;
		if (e->d_name[0] == '.' ||
		    snprintf(name, sizeof(name), "%s/%s", folder, e->d_name) >= PATH_MAX ||
		    stat(name, &st) != 0 || !S_ISREG(st.st_mode))
			continue;
		char *copy = strdup(name);
		if (!copy || !name_vec_append(ret, copy)) {
			free(copy);
			return ux_error_nomem(err);
		}
	}
	if (ret->size > 1)
		qsort(ret->data, ret->size, sizeof(*ret->data), dsym_name_compare);
	return UX_OK;
}

/* Returns true when a slice of file has the UUID. */
static bool dsym_has_id(struct ux_bytes file, const struct ux_id *id)
{
	struct ux_macho_slices slices;
	if (id->size == 0 || ux_macho_slices(file, &slices, NULL) != UX_OK)
		return false;
	for (size_t i = 0; i < slices.size; i++) {
		ux_cleanup(ux_macho_close) struct ux_macho m = {0};
		if (ux_macho_open(&m, slices.list[i].bytes, NULL) == UX_OK && ux_id_eq(&m.id, id))
			return true;
	}
	return false;
}

/* Returns true when the two files have a UUID in common. */
static bool dsym_matches(struct ux_bytes exe, struct ux_bytes file)
{
	struct ux_macho_slices slices;
	if (exe.size == 0 || ux_macho_slices(exe, &slices, NULL) != UX_OK)
		return false;
	for (size_t i = 0; i < slices.size; i++) {
		ux_cleanup(ux_macho_close) struct ux_macho m = {0};
		if (ux_macho_open(&m, slices.list[i].bytes, NULL) == UX_OK &&
		    dsym_has_id(file, &m.id))
			return true;
	}
	return false;
}

static enum ux_code dsym_map_bundle(const char *path, struct ux_bytes exe, struct ux_mapping *ret,
				    struct ux_error *err)
{
	ux_cleanup(dsym_names_deinit) struct name_vec names = {0};
	enum ux_code code = dsym_list(path, &names, NULL);
	if (code != UX_OK) /* it is not a bundle, and ux_file_map() refuses folders */
		return code == UX_ENOMEM ? ux_error_nomem(err) : ux_file_map(path, ret, err);
	for (size_t i = 0; i < names.size && names.size > 1; i++) {
		struct ux_mapping file = {0};
		if (ux_file_map(names.data[i], &file, NULL) != UX_OK)
			continue;
		if (dsym_matches(exe, file.bytes)) {
			*ret = file;
			return UX_OK;
		}
		ux_file_unmap(&file);
	}
	if (names.size == 1)
		return ux_file_map(names.data[0], ret, err);
	return ux_error_set(err, names.size == 0 ? UX_ENOTFOUND : UX_EINVAL,
			    names.size == 0 ? "the bundle has no files"
					    : "no file of the bundle has this UUID");
}

enum ux_code ux_dsym_map(const char *path, struct ux_bytes exe, struct ux_mapping *ret,
			 struct ux_error *err)
{
	struct ux_mapping file = {0};
	struct stat st;
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return dsym_map_bundle(path, exe, ret, err);
	UX_TRY(ux_file_map(path, &file, err));
	enum ux_code code = ux_packed_open(&file, err);
	if (code != UX_OK) {
		ux_file_unmap(&file);
		return code;
	}
	*ret = file;
	return UX_OK;
}

/* --- beside a binary -------------------------------------------------------------------------- */

/* Maps the file with this UUID in the bundle "path[0, size).dSYM". */
static enum ux_code dsym_try_bundle(const struct ux_id *id, const char *path, size_t size,
				    struct ux_mapping *ret, struct ux_error *err)
{
	char name[PATH_MAX];
	ux_cleanup(dsym_names_deinit) struct name_vec names = {0};
	if (snprintf(name, sizeof(name), "%.*s.dSYM", (int)ux_min(size, (size_t)PATH_MAX), path) >=
	    PATH_MAX)
		return UX_OK;
	if (dsym_list(name, &names, NULL) == UX_ENOMEM)
		return ux_error_nomem(err);
	for (size_t i = 0; i < names.size; i++) {
		struct ux_mapping file = {0};
		if (ux_file_map(names.data[i], &file, NULL) != UX_OK)
			continue;
		if (dsym_has_id(file.bytes, id)) {
			*ret = file;
			return UX_OK;
		}
		ux_file_unmap(&file);
	}
	return UX_OK;
}

/* Searches beside the binary, and then, from the innermost one outwards, beside each enclosing
 * folder with a dot in its name. */
static enum ux_code dsym_try_path(const struct ux_id *id, const char *path, struct ux_mapping *ret,
				  struct ux_error *err)
{
	size_t size = strlen(path);
	UX_TRY(dsym_try_bundle(id, path, size, ret, err));
	for (unsigned up = 0; up < FOLDERS_UP && !ret->bytes.data; up++) {
		const char *slash = memrchr(path, '/', size);
		if (!slash || slash == path)
			return UX_OK;
		size = (size_t)(slash - path);
		const char *before = memrchr(path, '/', size);
		const char *name = before ? before + 1 : path;
		if (memchr(name + 1, '.', size - (size_t)(name - path) - 1))
			UX_TRY(dsym_try_bundle(id, path, size, ret, err));
	}
	return UX_OK;
}

enum ux_code ux_dsym_find(const struct ux_id *id, const char *path, struct ux_mapping *ret,
			  struct ux_error *err)
{
	*ret = (struct ux_mapping){0};
	if (id->size == 0)
		return UX_OK;
	UX_TRY(dsym_try_path(id, path, ret, err));
	ux_cleanup(ux_free_ptr) char *real = ret->bytes.data ? NULL : realpath(path, NULL);
	return real && strcmp(real, path) != 0 ? dsym_try_path(id, real, ret, err) : UX_OK;
}
